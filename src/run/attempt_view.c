/* attempt_view.c: an attempt put together from rows and texts. */
#include "run/attempt_view.h"

#include "base/json.h"

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

static const char *entry_name(const struct run_view *v, int64_t entry)
{
    const struct row_entry *x = run_view_entry(v, entry);

    return x ? x->name : "?";
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

    *out = (struct attempt_view){.line = {a->row.verdict}, .row = a->row};
    arena_init(m);
    out->call = arena_alloc(m, (a->calls + 1) * sizeof(*out->call));
    out->example = arena_alloc(m, (a->shown_len + 1) * sizeof(*out->example));
    if (attempt_read_text(v, a->row.plan, m, &out->plan, e) < 0 ||
        attempt_read_text(v, a->row.code, m, &out->code, e) < 0 ||
        attempt_read_text(v, feedback, m, &out->feedback, e) < 0)
        goto failed;
    for (size_t i = 0; i < a->calls; i++)
        if (attempt_add_call(v, out, &a->call[i], e) < 0)
            goto failed;
    for (size_t i = 0; i < a->shown_len; i++)
        add_example(v, out, &a->shown[i]);
    return 0;
failed:
    run_attempt_view_release(out);
    return -1;
}

void run_attempt_view_release(struct attempt_view *a)
{
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
