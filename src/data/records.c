/* records.c: solved tasks of runs, without those of a benchmark; conversations put together
 * from the calls of their attempts; and the questions for plans that are missing. */
#include "data/records.h"

#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "prompt/ask.h"
#include "prompt/extract.h"
#include "prompt/files.h"
#include "run/query.h"
#include "source/py_normal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMED 20 /* overlaps that are logged */

struct choice {
    struct samples *s;
    const struct samples_how *how;
    struct overlap_scratch *scratch;
    struct map checked;  /* blob of a program: CLEAN, or why not */
    struct map seen;     /* hash of a program */
    char *first;         /* the first overlap */
    struct arena memory; /* of one text */
};

static char clean[] = "";

/* ---- is it of the benchmark? ---- */

static char *explain(const struct overlap *o, const struct overlap_result *r)
{
    struct buf gram = BUF_INIT;
    char *quoted, *text;
    json_t *v;

    if (r->fuzzy)
        return xasprintf("is %.1f %% similar to %s",
                         200.0 * (double)r->near.lcs /
                             (double)(r->near.length + r->near.other),
                         overlap_path(o, r->near.index));
    overlap_put_ngram(o, &r->gram, &gram);
    v = jsn_text(buf_str(&gram), gram.len);
    quoted = json_dumps(v, JSON_ENCODE_ANY);
    text = xasprintf("has %d tokens in a row of %s: %.300s", NGRAM_TOKENS,
                     overlap_path(o, r->gram.index), quoted);
    free(quoted);
    json_decref(v);
    buf_release(&gram);
    return text;
}

/* Why the program is of the benchmark, or `clean`; NULL: an error. */
static const char *check_program(struct choice *c, struct store *s,
                                 const char *blob, struct err *e)
{
    struct overlap_result r;
    struct str text = {0};
    char *why = map_get(&c->checked, str_of(blob));

    if (why)
        return why;
    arena_reset(&c->memory);
    if (store_text(s, blob, &c->memory, &text, e) < 0)
        return NULL;
    overlap_check(c->how->against, c->scratch, text, &r);
    why = r.fuzzy || r.ngram ? explain(c->how->against, &r) : clean;
    map_set(&c->checked, str_of(blob), why);
    return why;
}

static void note_overlap(struct choice *c, const struct sample *x,
                         const char *example, const char *why)
{
    char *line =
        xasprintf("%s: %s: %s%s%s%s", x->dir, jsn_str(x->row, "id"),
                  example ? "its prompt shows " : "", example ? example : "",
                  example ? ", which " : "", why);

    if (c->s->count.overlaps++ < MAX_NAMED)
        log_warn("overlap with the benchmark: %s", line);
    if (c->first)
        free(line);
    else
        c->first = line;
}

/* 1: it is of the benchmark; `example` is NULL for the task itself. */
static int is_overlap(struct choice *c, const struct sample *x,
                      const char *example, const char *blob, struct err *e)
{
    const char *why = check_program(c, x->store, blob, e);

    if (!why)
        return -1;
    if (why != clean)
        note_overlap(c, x, example, why);
    return why != clean;
}

/* 1: it is of the benchmark, or shows something of it: in any attempt, as a record may have
 * the prompt of any. */
static int is_tainted(struct choice *c, const struct sample *x, struct err *e)
{
    int rc = is_overlap(c, x, NULL, jsn_str(x->row, "source"), e);
    json_t *shown = NULL, *s;
    size_t i;

    if (rc == 0) {
        shown = query_list(x->store, "data/shown",
                           json_incref((json_t *)x->row), e);
        rc = shown ? 0 : -1;
    }
    json_array_foreach(shown, i, s) if (rc == 0) rc =
        is_overlap(c, x, jsn_str(s, "name"), jsn_str(s, "problem"), e);
    json_decref(shown);
    return rc;
}

/* ---- which tasks ---- */

static int identify(struct choice *c, struct sample *x, struct err *e)
{
    const struct samples_how *how = c->how;
    struct str text = {0};
    struct rng r;

    arena_reset(&c->memory);
    if (store_text(x->store, jsn_str(x->row, "source"), &c->memory, &text, e) <
        0)
        return -1;
    py_normal_hash_renamed(text, x->hash);
    rng_init(&r, "%" PRId64 "/%s/split", how->seed, x->hash);
    x->test = (int64_t)rng_below(&r, 100) < how->test_percent;
    rng_init(&r, "%" PRId64 "/%s/problem", how->seed, x->hash);
    x->rank = rng_next(&r);
    return 0;
}

static int add_task(struct choice *c, struct sample x, struct err *e)
{
    struct samples *s = c->s;
    bool solved = jsn_int(x.row, "attempt") > 0;
    int rc;

    if (jsn_maybe(x.row, "kind")) {
        s->count.pieces += solved;
        return 0;
    }
    s->count.tasks++;
    if (!solved) {
        s->count.unsolved++;
        return 0;
    }
    if (jsn_maybe(x.row, "retired_on")) {
        s->count.retired++;
        return 0;
    }
    if (identify(c, &x, e) < 0)
        return -1;
    if (map_get(&c->seen, str_of(x.hash))) {
        s->count.duplicates++;
        return 0;
    }
    rc = is_tainted(c, &x, e);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    map_set(&c->seen, str_of(x.hash), s);
    s->item = xgrow(s->item, &s->cap, s->len, sizeof(*s->item));
    s->item[s->len++] = x;
    return 0;
}

static int refuse(const struct choice *c, struct err *e)
{
    return err_set(
        e, ERR_INPUT,
        "%zu solved task%s overlap%s with the benchmark, so nothing was "
        "written: %.600s; --drop-overlap leaves such tasks out",
        c->s->count.overlaps, c->s->count.overlaps == 1 ? "" : "s",
        c->s->count.overlaps == 1 ? "s" : "", c->first);
}

static int choose(struct choice *c, struct err *e)
{
    struct samples *s = c->s;
    const json_t *row;
    size_t k;

    s->run = xcalloc(c->how->runs, sizeof(*s->run));
    for (size_t i = 0; i < c->how->runs; i++) {
        const char *dir = c->how->run[i];
        struct store *store = query_open(dir, e);
        json_t *rows = store ? query_list(store, "run/kernels", NULL, e) : NULL;

        s->run[s->runs++] = (struct samples_run){store, rows};
        if (!rows)
            return -1;
        json_array_foreach(
            rows, k,
            row) if (add_task(c,
                              (struct sample){
                                  .store = store, .dir = dir, .row = row},
                              e) < 0) return err_wrap(e, "%s: %s", dir,
                                                      jsn_str(row, "id"));
    }
    return s->count.overlaps && !c->how->drop_overlap ? refuse(c, e) : 0;
}

int samples_open(struct samples *s, const struct samples_how *how,
                 struct err *e)
{
    struct choice c = {
        .s = s, .how = how, .scratch = overlap_scratch_new(how->against)};
    int rc;

    *s = (struct samples){0};
    rc = choose(&c, e);
    for (size_t i = 0; i < c.checked.len; i++)
        if (c.checked.items[i].value != clean)
            free(c.checked.items[i].value);
    map_release(&c.checked);
    map_release(&c.seen);
    overlap_scratch_free(c.scratch);
    arena_release(&c.memory);
    free(c.first);
    return rc;
}

void samples_close(struct samples *s)
{
    for (size_t i = 0; i < s->runs; i++) {
        json_decref(s->run[i].rows);
        query_close(s->run[i].store);
    }
    free(s->run);
    free(s->item);
    *s = (struct samples){0};
}

/* ---- attempts ---- */

/* An attempt that is read: its row (data/attempt.sql) and its texts. */
struct tried {
    struct store *store;
    json_t *row;
    struct str plan, code, feedback; /* p NULL: there is none */
    struct arena memory;
};

/* Of its task, the attempt of this number. */
static json_t *records_given(const struct sample *x, int64_t attempt)
{
    return json_pack("{s:O, s:I}", "task", json_object_get(x->row, "task"),
                     "attempt", (json_int_t)attempt);
}

static void tried_release(struct tried *t)
{
    json_decref(t->row);
    arena_release(&t->memory);
}

static int tried_text(struct tried *t, const char *name, struct str *out,
                      struct err *e)
{
    return store_text(t->store, jsn_str(t->row, name), &t->memory, out, e);
}

static int tried_read(const struct sample *x, int64_t attempt,
                      struct tried *out, struct err *e)
{
    *out = (struct tried){.store = x->store};
    out->row =
        query_row(x->store, "data/attempt", records_given(x, attempt), e);
    if (out->row && tried_text(out, "plan", &out->plan, e) == 0 &&
        tried_text(out, "code", &out->code, e) == 0 &&
        tried_text(out, "feedback", &out->feedback, e) == 0)
        return 0;
    tried_release(out);
    return -1;
}

static int tried_kernel(const struct sample *x, struct tried *out,
                        struct err *e)
{
    return tried_read(x, jsn_int(x->row, "attempt"), out, e);
}

/* The last call for this purpose, or NULL. */
static const json_t *tried_call(const struct tried *t, const char *purpose)
{
    const json_t *calls = json_object_get(t->row, "calls");

    for (size_t i = json_array_size(calls); i-- > 0;) {
        const json_t *c = json_array_get(calls, i);

        if (strcmp(jsn_str(c, "purpose"), purpose) == 0)
            return c;
    }
    return NULL;
}

/* The call that wrote the code. */
static const json_t *tried_writer(const struct tried *t)
{
    const json_t *c = tried_call(t, "code");

    return c ? c : tried_call(t, "evolve");
}

/* The prompt of a call. */
struct asked {
    struct chat_message message[2];
    size_t messages, first; /* first: see query_messages() */
    struct arena *memory;
};

static void asked_add(const char *role, struct str text, size_t first,
                      void *arg)
{
    struct asked *a = arg;

    if (a->messages == 0)
        a->first = first;
    if (a->messages < 2)
        a->message[a->messages] = (struct chat_message){
            str_of(arena_strdup(a->memory, role)), arena_str(a->memory, text)};
    a->messages++;
}

static int asked_read(struct tried *t, const json_t *call, struct asked *out,
                      struct err *e)
{
    *out = (struct asked){.memory = &t->memory};
    return query_messages(t->store, jsn_str(call, "prompt"), asked_add, out, e);
}

/* ---- plans ---- */

struct backfill {
    struct backfill_parts part;
    struct ask_all ask;
    const struct sample *first; /* of the samples */
    size_t *todo;               /* samples whose plan is asked for */
    size_t items, cap;
    char **plan; /* of each sample; NULL: there is none */
    size_t plans;
    struct map packs; /* by id */
};

struct backfill *backfill_new(const struct backfill_parts *p)
{
    struct backfill *b = xcalloc(1, sizeof(*b));

    b->part = *p;
    return b;
}

void backfill_free(struct backfill *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->plans; i++)
        free(b->plan[i]);
    for (size_t i = 0; i < b->packs.len; i++)
        pack_free(b->packs.items[i].value);
    map_release(&b->packs);
    free(b->plan);
    free(b->todo);
    free(b);
}

size_t backfill_items(const struct backfill *b)
{
    return b->items;
}

/* The plan that was asked for; p NULL: there is none. */
static struct str plan_of(const struct backfill *b, const struct sample *x)
{
    const char *plan = b && b->plan ? b->plan[x - b->first] : NULL;

    return plan ? str_of(plan) : (struct str){NULL, 0};
}

static struct pack *find_pack(struct backfill *b, const struct sample *x,
                              struct err *e)
{
    const char *id = jsn_str(x->row, "dsl");
    struct pack *p = map_get(&b->packs, str_of(id));

    if (!p && (p = packs_load(b->part.packs, id, e)))
        map_set(&b->packs, str_of(id), p);
    return p;
}

static int plan_prompt(struct backfill *b, const struct sample *x,
                       struct tried *v, struct prompt *out, struct err *e)
{
    struct prompt_backfill in = {.pack = find_pack(b, x, e),
                                 .solution = v->code,
                                 .precision = jsn_str(x->row, "precision"),
                                 .device = jsn_str(x->row, "device")};

    if (!in.pack || store_text(x->store, jsn_str(x->row, "source"), &v->memory,
                               &in.task, e) < 0)
        return -1;
    return prompts_backfill(b->part.prompts, &in, &v->memory, out, e);
}

/* The examples that the attempt was shown. */
static int read_examples(const struct sample *x, struct arena *a,
                         struct prompt_input *in, struct err *e)
{
    json_t *rows = query_list(x->store, "data/examples",
                              records_given(x, jsn_int(x->row, "attempt")), e),
           *row;
    size_t n = json_array_size(rows), i;
    struct prompt_example *list = arena_alloc(a, (n + 1) * sizeof(*list));
    int rc = rows ? 0 : -1;

    in->example = list;
    in->example_count = n;
    json_array_foreach(rows, i, row)
    {
        struct prompt_example *to = &list[i];

        to->name = arena_strdup(a, jsn_str(row, "name"));
        if (store_text(x->store, jsn_str(row, "problem"), a, &to->problem, e) <
                0 ||
            store_text(x->store, jsn_str(row, "solution"), a, &to->solution,
                       e) < 0 ||
            store_text(x->store, jsn_str(row, "plan"), a, &to->plan, e) < 0) {
            rc = -1;
            break;
        }
    }
    json_decref(rows);
    return rc;
}

/* What the run's prompts start with: the guide may have changed since. */
static int start_of(struct tried *v, struct str *out, struct err *e)
{
    struct asked q;
    const json_t *c = tried_writer(v);
    int rc = asked_read(v, c ? c : tried_call(v, "plan"), &q, e);

    if (rc > 0 && q.messages && str_eq(q.message[0].role, "system"))
        *out = (struct str){q.message[0].content.p, q.first};
    return rc;
}

/* The prompt of a stage for the kernel `v` with its plan. */
static int stage_prompt(struct backfill *b, const struct sample *x,
                        struct tried *v, enum prompt_stage stage,
                        struct prompt *out, struct err *e)
{
    struct arena *a = &v->memory;
    struct prompt_input in = {.stage = stage,
                              .pack = find_pack(b, x, e),
                              .task_id = jsn_str(x->row, "id"),
                              .precision = jsn_str(x->row, "precision"),
                              .device = jsn_str(x->row, "device")};
    struct str start = {0};

    if (stage == PROMPT_CODE)
        in.plan = plan_of(b, x);
    if (!in.pack || start_of(v, &start, e) < 0 ||
        store_text(x->store, jsn_str(x->row, "source"), a, &in.task, e) < 0 ||
        read_examples(x, a, &in, e) < 0 ||
        prompts_build(b->part.prompts, &in, a, out, e) < 0)
        return -1;
    if (start.p)
        out->message[0].text = start;
    return 0;
}

static int ask_plan(struct backfill *b, const struct sample *x,
                    const struct prompt *p, struct arena *memory,
                    struct ledger_answer *out)
{
    char asked[HASH_HEX];
    struct ledger_question q = {
        .purpose = "backfill", .asked = asked, .prompt_hash = p->hash};

    ledger_hash(asked, "%s", p->hash);
    q.request = (struct llm_request){
        .key = {jsn_str(x->row, "id"), jsn_str(x->row, "method"), q.purpose,
                (int)jsn_int(x->row, "attempt")},
        .message = p->message,
        .count = p->count};
    return ask_all_question(&b->ask, &q, memory, out);
}

static void take_plan(const struct sample *x, const struct ledger_answer *a,
                      char **plan)
{
    struct str text = a->end == LEDGER_ANSWERED
                          ? str_trim(extract_plan(a->text))
                          : (struct str){0};
    const char *why = a->end == LEDGER_FAILED ? a->why
                      : a->cut
                          ? "the answer was cut at its limit (--plan-tokens)"
                      : !text.n ? "the answer is empty"
                                : NULL;

    if (why)
        log_warn("%s: %s: no plan: %s", x->dir, jsn_str(x->row, "id"), why);
    else
        *plan = xstrndup(text.p, text.n);
}

static int backfill_one(struct ask_all *a, size_t item, void *arg,
                        struct err *e)
{
    struct backfill *b = arg;
    const struct sample *x = &b->first[b->todo[item]];
    struct tried v;
    struct ledger_answer answer;
    struct prompt p;
    int rc;

    (void)a;
    if (tried_kernel(x, &v, e) < 0)
        return -1;
    rc = plan_prompt(b, x, &v, &p, e);
    if (rc == 0)
        rc = ask_plan(b, x, &p, &v.memory, &answer);
    if (rc == 0)
        take_plan(x, &answer, &b->plan[b->todo[item]]);
    tried_release(&v);
    return rc;
}

enum ask_end backfill_run(struct backfill *b, const struct samples *s,
                          struct err *e)
{
    b->first = s->item;
    b->plans = s->len;
    b->plan = xcalloc(s->len + 1, sizeof(*b->plan));
    for (size_t i = 0; i < s->len; i++) {
        struct tried v;

        if (tried_kernel(&s->item[i], &v, e) < 0)
            return ASK_FAILED;
        if (!tried_call(&v, "plan")) { /* it was written in one stage */
            b->todo = xgrow(b->todo, &b->cap, b->items, sizeof(*b->todo));
            b->todo[b->items++] = i;
        }
        tried_release(&v);
    }
    b->ask = (struct ask_all){.part = b->part.ask};
    return ask_all(&b->ask, b->items, backfill_one, b, e);
}

/* ---- messages ---- */

/* The answer that the prompt asks for: the file in a fence. */
static struct str fenced(struct str code, struct arena *a)
{
    struct str mark = prompt_fence(&code, 1, a);
    bool open = code.n && code.p[code.n - 1] != '\n';
    char *text = arena_printf(a, "%.*spython\n%.*s%s%.*s", (int)mark.n, mark.p,
                              (int)code.n, code.p, open ? "\n" : "",
                              (int)mark.n, mark.p);

    return str_of(text);
}

/* What the model answered to this call, without thoughts. Evolution may have
 * answered with edits of its parent; a program is not the answer to that. */
static int answer(struct tried *v, const json_t *call, struct str *out,
                  struct err *e)
{
    struct str reply = {0};

    if (strcmp(jsn_str(call, "purpose"), "evolve") != 0) {
        *out = fenced(v->code, &v->memory);
        return 0;
    }
    if (store_text(v->store, jsn_str(call, "reply"), &v->memory, &reply, e) < 0)
        return -1;
    *out = extract_plan(reply);
    return 0;
}

static void add(struct record *r, const char *role, struct str text)
{
    r->message[r->messages++] = (struct chat_message){str_of(role), text};
}

/* The prompt, which is a system and a user message: 1; 0: it is not. */
static int ask(struct record *r, struct tried *v, const json_t *call,
               struct err *e)
{
    struct asked q;

    r->model = jsn_maybe(call, "model");
    r->messages = 0;
    if (asked_read(v, call, &q, e) < 0)
        return -1;
    if (q.messages != 2 || !str_eq(q.message[0].role, "system") ||
        !str_eq(q.message[1].role, "user"))
        return 0;
    r->message[r->messages++] = q.message[0];
    r->message[r->messages++] = q.message[1];
    return 1;
}

/* ---- plan and code ---- */

/* One of the two records of a kernel whose plan was asked for afterwards. */
static int tell_backfilled(struct record *r, struct tried *v,
                           struct backfill *b, const json_t *code,
                           struct err *e)
{
    bool plan = strcmp(r->phase, "plan") == 0;
    struct prompt p;

    if (stage_prompt(b, r->sample, v, plan ? PROMPT_PLAN : PROMPT_CODE, &p, e) <
        0)
        return -1;
    r->backfilled = true;
    r->model = !plan           ? jsn_maybe(code, "model")
               : b->part.model ? b->part.model
                               : "";
    r->messages = 0;
    add(r, "system", p.message[0].text);
    add(r, "user", p.message[1].text);
    add(r, "assistant",
        plan ? plan_of(b, r->sample) : fenced(v->code, &v->memory));
    return 0;
}

/* The prompt of a call, and the plan or (NULL) the code that was the answer. */
static int tell_asked(struct record *r, struct tried *v, const json_t *call,
                      const struct str *plan, struct err *e)
{
    int rc = ask(r, v, call, e);
    struct str text = {0};

    if (rc <= 0)
        return rc;
    if (plan)
        text = *plan;
    else if (answer(v, call, &text, e) < 0)
        return -1;
    add(r, "assistant", text);
    return 0;
}

static int each_sft(const struct sample *x, struct backfill *b, record_fn *fn,
                    void *arg, struct err *e)
{
    static const char *const phase[] = {"plan", "code"};
    struct tried v;
    struct record r = {.sample = x};
    const json_t *call[2];
    int rc = 0;

    if (tried_kernel(x, &v, e) < 0)
        return -1;
    r.attempt = v.row;
    call[0] = v.plan.p ? tried_call(&v, "plan") : NULL;
    call[1] = tried_writer(&v);
    for (size_t i = 0; rc == 0 && i < 2; i++) {
        r.phase = phase[i];
        if (plan_of(b, x).p)
            rc = tell_backfilled(&r, &v, b, call[1], e);
        else if (!call[i])
            continue;
        else
            rc = tell_asked(&r, &v, call[i], i ? NULL : &v.plan, e);
        if (rc == 0)
            rc = fn(&r, arg, e);
    }
    tried_release(&v);
    return rc;
}

/* ---- failure and fix ---- */

static int tell_fix(const struct sample *x, int64_t failed,
                    const struct tried *fix, record_fn *fn, void *arg,
                    struct err *e)
{
    struct tried v;
    struct record r = {.phase = "fix", .sample = x};
    const json_t *c;
    int rc = 0;

    if (tried_read(x, failed, &v, e) < 0)
        return -1;
    r.attempt = v.row;
    r.verdict = jsn_str(v.row, "verdict");
    c = tried_writer(&v);
    if (c && v.feedback.p) {
        rc = tell_asked(&r, &v, c, NULL, e);
        if (r.messages) {
            add(&r, "user", v.feedback);
            add(&r, "assistant", fenced(fix->code, &v.memory));
        }
        if (rc == 0)
            rc = fn(&r, arg, e);
    }
    tried_release(&v);
    return rc;
}

static int each_refine(const struct sample *x, struct backfill *b,
                       record_fn *fn, void *arg, struct err *e)
{
    json_t *failed = query_list(x->store, "data/failed",
                                json_incref((json_t *)x->row), e),
           *a;
    struct tried fix;
    int rc = 0;
    size_t i;

    (void)b;
    if (!failed || tried_kernel(x, &fix, e) < 0) {
        json_decref(failed);
        return -1;
    }
    json_array_foreach(failed, i, a) if (rc == 0) rc =
        tell_fix(x, jsn_int(a, "attempt"), &fix, fn, arg, e);
    json_decref(failed);
    tried_release(&fix);
    return rc;
}

const struct record_kind record_sft = {
    "sft",
    "Plans and kernels: each prompt as it was sent to the model, and the "
    "answer that led to a verified kernel.",
    {"system", "user", "assistant"},
    each_sft,
};
const struct record_kind record_refine = {
    "refine",
    "Failures and their fixes: each prompt as it was sent to the model, code "
    "that failed, the verifier's feedback, and a verified kernel for the same "
    "task.",
    {"system", "user", "failed", "feedback", "assistant"},
    each_refine,
};
