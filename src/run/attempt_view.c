/* attempt_view.c: an attempt put together from rows and texts. */
#include "run/attempt_view.h"

#include "base/udiff.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- texts ---- */

static struct str attempt_keep(struct arena *a, const char *p, size_t n)
{
    char *copy = arena_alloc_raw(a, n + 1);

    memcpy(copy, p, n);
    copy[n] = '\0';
    return (struct str){copy, n};
}

/* p NULL: there is none. */
static int attempt_read_text(struct run_view *v, const char *hash,
                             struct arena *a, struct str *out, struct err *e)
{
    *out = (struct str){NULL, 0};
    return store_text(v->store, hash, a, out, e);
}

/* ---- a line ---- */

static const char *entry_name(const struct run_view *v, int64_t entry)
{
    const struct row_entry *x = run_view_entry(v, entry);

    return x ? x->name : "?";
}

static void make_line(const struct run_view *v, const struct run_attempt *a,
                      const json_t *record, struct arena *m,
                      struct attempt_line *out)
{
    struct str error =
        a->row.solved ? (struct str){"", 0} : verdict_error(record);

    *out = (struct attempt_line){
        .number = a->row.attempt,
        .same_as = a->row.same_as,
        .verdict = a->row.verdict,
        .stage = a->row.stage,
        .evidence = a->verdict ? a->verdict->evidence : NULL,
        .rule = a->row.rule,
        .error = error.n ? arena_strndup(m, error.p, error.n) : NULL,
        .speedup = verdict_speedup(record, "reference_ms"),
        .implausible = a->row.solved ? plausible_doubt(record, m) : NULL,
        .shown = run_view_shown(v, a, m),
        .shown_len = a->shown_len,
        .solved = a->row.solved};
    for (size_t i = 0; i < a->calls; i++) {
        const struct row_call *c = &a->call[i];

        out->tokens_in += c->input;
        out->tokens_out += c->output;
        out->usd_micro += c->cost_usd_micro;
        out->estimated |= c->estimated;
    }
}

/* ---- a task ---- */

int run_attempt_list_make(struct run_view *v, const struct run_task *t,
                          struct attempt_list *out, struct err *e)
{
    *out = (struct attempt_list){.id = t->row.id, .skipped = t->row.skipped};
    arena_init(&out->memory);
    out->line =
        arena_alloc(&out->memory, (t->attempts + 1) * sizeof(*out->line));
    if (attempt_read_text(v, t->row.source, &out->memory, &out->reference, e) <
        0)
        goto failed;
    for (size_t i = 0; i < t->attempts; i++) {
        json_t *record = run_view_record(v, &t->attempt[i], e);

        if (!record && e->kind != ERR_NONE)
            goto failed;
        make_line(v, &t->attempt[i], record, &out->memory,
                  &out->line[out->lines++]);
        json_decref(record);
    }
    return 0;
failed:
    run_attempt_list_release(out);
    return -1;
}

void run_attempt_list_release(struct attempt_list *t)
{
    arena_release(&t->memory);
    *t = (struct attempt_list){0};
}

/* ---- the whole ---- */

static int add_message(struct run_view *v, const json_t *said,
                       struct attempt_view *out, struct attempt_message *to,
                       struct err *e)
{
    const json_t *parts = json_object_get(said, "parts");
    const char *role = jsn_str(said, "role");
    struct buf b;
    int rc = 0;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; rc == 0 && i < json_array_size(parts); i++) {
        rc = run_view_text(v, json_string_value(json_array_get(parts, i)), &b,
                           e);
        if (i == 0)
            to->first = b.len;
    }
    to->role = arena_strdup(&out->memory, role);
    if (rc == 0)
        to->text = attempt_keep(&out->memory, buf_str(&b), b.len);
    buf_release(&b);
    return rc;
}

/* A prompt is stored as a list of messages, and those as lists of parts. */
static int attempt_add_prompt(struct run_view *v, struct attempt_view *out,
                              struct attempt_call *c, struct err *e)
{
    struct str text;
    json_t *list;
    int rc = 0;

    if (attempt_read_text(v, c->row.prompt, &out->memory, &text, e) < 0)
        return -1;
    if (!text.p)
        return 0;
    list = jsn_parse("a stored prompt", text.p, text.n, e);
    if (!list)
        return -1;
    c->message = arena_alloc(&out->memory,
                             (json_array_size(list) + 1) * sizeof(*c->message));
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
        rc = add_message(v, json_array_get(list, i), out,
                         &c->message[c->messages++], e);
    json_decref(list);
    return rc;
}

static int attempt_add_call(struct run_view *v, struct attempt_view *out,
                            const struct row_call *row, struct err *e)
{
    struct attempt_call *c = &out->call[out->calls++];

    c->row = *row;
    if (attempt_add_prompt(v, out, c, e) < 0 ||
        attempt_read_text(v, row->reply, &out->memory, &c->reply, e) < 0)
        return -1;
    return attempt_read_text(v, row->thought, &out->memory, &c->thought, e);
}

static void add_example(const struct run_view *v, struct attempt_view *out,
                        const struct row_shown *s)
{
    const struct row_entry *x = run_view_entry(v, s->entry);

    out->example[out->examples++] =
        (struct attempt_example){.rank = s->rank,
                                 .entry = s->entry,
                                 .name = entry_name(v, s->entry),
                                 .origin = x ? x->origin : NULL,
                                 .cosine = s->cosine,
                                 .reason = s->reason};
}

int run_attempt_view_make(struct run_view *v, const struct run_attempt *a,
                          struct attempt_view *out, struct err *e)
{
    const char *feedback = a->verdict ? a->verdict->feedback : NULL;
    struct arena *m = &out->memory;

    *out = (struct attempt_view){.row = a->row};
    arena_init(m);
    out->call = arena_alloc(m, (a->calls + 1) * sizeof(*out->call));
    out->example = arena_alloc(m, (a->shown_len + 1) * sizeof(*out->example));
    out->record = run_view_record(v, a, e);
    if ((!out->record && e->kind != ERR_NONE) ||
        attempt_read_text(v, a->row.plan, m, &out->plan, e) < 0 ||
        attempt_read_text(v, a->row.code, m, &out->code, e) < 0 ||
        attempt_read_text(v, feedback, m, &out->feedback, e) < 0)
        goto failed;
    for (size_t i = 0; i < a->calls; i++)
        if (attempt_add_call(v, out, &a->call[i], e) < 0)
            goto failed;
    for (size_t i = 0; i < a->shown_len; i++)
        add_example(v, out, &a->shown[i]);
    make_line(v, a, out->record, m, &out->line);
    return 0;
failed:
    run_attempt_view_release(out);
    return -1;
}

void run_attempt_view_release(struct attempt_view *a)
{
    json_decref(a->record);
    arena_release(&a->memory);
    *a = (struct attempt_view){0};
}

/* What a reviewer was asked is not how the attempt came to be. */
static bool writes(const struct attempt_call *c)
{
    static const char *const purposes[] = {"plan", "code", "evolve"};

    for (size_t i = 0; i < sizeof(purposes) / sizeof(purposes[0]); i++)
        if (strcmp(c->row.purpose, purposes[i]) == 0)
            return true;
    return false;
}

const struct attempt_call *run_attempt_view_call(const struct attempt_view *a,
                                                 const char *purpose)
{
    for (size_t i = a->calls; i-- > 0;)
        if (purpose ? strcmp(a->call[i].row.purpose, purpose) == 0
                    : writes(&a->call[i]))
            return &a->call[i];
    return NULL;
}

const struct run_attempt *run_attempt_view_before(const struct run_task *t,
                                                  const struct attempt_view *a)
{
    const struct run_attempt *before = NULL;

    for (size_t i = 0; i < t->attempts; i++)
        if (t->attempt[i].row.attempt < a->line.number &&
            t->attempt[i].row.code)
            before = &t->attempt[i];
    return before;
}

int run_attempt_view_diff(struct run_view *v, const struct run_attempt *before,
                          const struct attempt_view *a, struct buf *out,
                          struct err *e)
{
    char names[2][64];
    struct buf old;
    int rc;

    buf_init(&old, BUF_UNLIMITED);
    rc = run_view_text(v, before->row.code, &old, e);
    snprintf(names[0], sizeof(names[0]), "attempt %lld",
             (long long)before->row.attempt);
    snprintf(names[1], sizeof(names[1]), "attempt %lld",
             (long long)a->line.number);
    if (rc == 0)
        udiff_put((struct str){buf_str(&old), old.len}, names[0], a->code,
                  names[1], out);
    buf_release(&old);
    return rc;
}

/* ---- as JSON ---- */

static json_t *attempt_text_json(struct str s)
{
    return s.p ? jsn_text(s.p, s.n) : json_null();
}

static json_t *word_json(const char *s)
{
    return s ? jsn_text(s, strlen(s)) : json_null();
}

static json_t *attempt_line_json(const struct attempt_line *l)
{
    json_t *shown = json_array();

    for (size_t i = 0; i < l->shown_len; i++)
        json_array_append_new(shown, word_json(l->shown[i]));
    return json_pack(
        "{s:I, s:s, s:s?, s:s?, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:b, s:b, "
        "s:I, s:o}",
        "attempt", (json_int_t)l->number, "verdict", l->verdict, "stage",
        l->stage, "evidence", l->evidence, "rule", word_json(l->rule), "error",
        word_json(l->error), "speedup",
        isnan(l->speedup) ? json_null() : json_real(l->speedup), "shown", shown,
        "tokens_in", (json_int_t)l->tokens_in, "tokens_out",
        (json_int_t)l->tokens_out, "usd_micro", (json_int_t)l->usd_micro,
        "estimated", l->estimated, "solved", l->solved, "same_as",
        (json_int_t)l->same_as, "implausible", word_json(l->implausible));
}

static json_t *call_json(const struct attempt_call *c)
{
    json_t *messages = json_array();
    const struct row_call *r = &c->row;

    for (size_t i = 0; i < c->messages; i++)
        json_array_append_new(messages,
                              json_pack("{s:o, s:o}", "role",
                                        word_json(c->message[i].role), "text",
                                        attempt_text_json(c->message[i].text)));
    return json_pack(
        "{s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, "
        "s:b, s:I, s:I, s:I, s:I}",
        "purpose", r->purpose, "try", (json_int_t)r->try, "state", r->state,
        "prompt", messages, "reply", attempt_text_json(c->reply), "thought",
        attempt_text_json(c->thought), "finish", word_json(r->finish), "model",
        word_json(r->model), "error", word_json(r->error), "tokens_in",
        (json_int_t)r->input, "tokens_cached", (json_int_t)r->cached,
        "tokens_out", (json_int_t)r->output, "tokens_reasoning",
        (json_int_t)r->reasoning, "estimated", r->estimated, "usd_micro",
        (json_int_t)r->cost_usd_micro, "assumed_usd_micro",
        (json_int_t)r->assumed_usd_micro, "requests", (json_int_t)r->requests,
        "wall_us", (json_int_t)r->wall_us);
}

static json_t *whole_json(const struct attempt_view *a)
{
    json_t *whole = attempt_line_json(&a->line), *examples = json_array(),
           *calls = json_array();

    for (size_t i = 0; i < a->examples; i++) {
        const struct attempt_example *x = &a->example[i];

        json_array_append_new(
            examples,
            json_pack("{s:I, s:I, s:o, s:s?, s:o, s:s*}", "rank",
                      (json_int_t)x->rank, "entry", (json_int_t)x->entry,
                      "name", word_json(x->name), "origin", x->origin, "cosine",
                      x->cosine < -1.5 ? json_null() : json_real(x->cosine),
                      "reason", x->reason));
    }
    for (size_t i = 0; i < a->calls; i++)
        json_array_append_new(calls, call_json(&a->call[i]));
    json_object_update_new(
        whole,
        json_pack("{s:s, s:I, s:I, s:I, s:s?, s:I, s:I, s:o, s:o, s:o, s:o, "
                  "s:o, s:o}",
                  "method", a->row.method, "iteration",
                  (json_int_t)a->row.iteration, "batch",
                  (json_int_t)a->row.batch, "archive_version",
                  (json_int_t)a->row.archive_version, "retrieval",
                  a->row.retrieval, "parent", (json_int_t)a->row.parent,
                  "island", (json_int_t)a->row.island, "examples", examples,
                  "calls", calls, "plan", attempt_text_json(a->plan), "code",
                  attempt_text_json(a->code), "feedback",
                  attempt_text_json(a->feedback), "record",
                  a->record ? json_incref(a->record) : json_null()));
    return whole;
}

json_t *run_attempt_view_json(const struct attempt_list *t,
                              const struct attempt_view *a)
{
    json_t *lines = json_array();

    for (size_t i = 0; i < t->lines; i++)
        json_array_append_new(lines, attempt_line_json(&t->line[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "task", word_json(t->id),
                     "skipped", word_json(t->skipped), "reference",
                     attempt_text_json(t->reference), "attempts", lines,
                     "attempt", a ? whole_json(a) : json_null());
}
