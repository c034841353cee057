/* rows.c: the rows of a run, kept in a view and put together. */
#include "run/rows.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- as they come ---- */

static bool is_known(const struct run_rows *g, int64_t attempt)
{
    for (size_t i = 0; i < g->knowns; i++)
        if (g->known[i].row.attempt == attempt)
            return true;
    return false;
}

static void keep(struct run_rows *g, const char **s)
{
    *s = *s ? arena_strdup(&g->v->memory, *s) : NULL;
}

/* The same for one of few words, such as a verdict: equal ones are one, which is
 * faster to read for who walks over all rows. */
static void keep_word(struct run_rows *g, const char **s)
{
    size_t n = g->words < RUN_ROWS_WORDS ? g->words : RUN_ROWS_WORDS;

    for (size_t i = 0; *s && i < n; i++)
        if (strcmp(g->word[i], *s) == 0) {
            *s = g->word[i];
            return;
        }
    keep(g, s);
    if (*s)
        g->word[g->words++ % RUN_ROWS_WORDS] = *s;
}

#define KEEP_ALL(g, ...)                                        \
    do {                                                        \
        const char **all[] = {__VA_ARGS__};                     \
        for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) \
            keep(g, all[k]);                                    \
    } while (0)

#define KEEP_WORDS(g, ...)                                      \
    do {                                                        \
        const char **all[] = {__VA_ARGS__};                     \
        for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) \
            keep_word(g, all[k]);                               \
    } while (0)

int run_rows_task(const struct row_task *r, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;
    struct run_task *t;

    v->task = xgrow(v->task, &g->task_cap, v->all, sizeof(*v->task));
    t = &v->task[v->all++];
    if (!r->kind)
        v->tasks = v->all;
    *t = (struct run_task){.row = *r, .version = 1};
    KEEP_ALL(g, &t->row.id, &t->row.hash, &t->row.source, &t->row.path,
             &t->row.ops, &t->row.skipped, &t->row.kind, &t->row.level,
             &t->row.title, &t->row.needs, &t->row.parents);
    return 0;
}

void run_rows_call_key(struct buf *b, const struct row_call *r)
{
    buf_reset(b);
    buf_printf(b, "%s %s %lld", r->purpose, r->asked, (long long)r->try);
}

/* The same call, as it was when it was read before; NULL: it is new. */
static struct row_call *known_call(struct run_rows *g, const struct row_call *r)
{
    const size_t *at;
    struct buf key;

    if (!g->known_calls)
        return NULL;
    buf_init(&key, BUF_UNLIMITED);
    run_rows_call_key(&key, r);
    at = map_get(g->known_calls, (struct str){key.data, key.len});
    buf_release(&key);
    return at ? &g->v->call[*at] : NULL;
}

/* A call changes until it is answered. */
static bool is_same_call(const struct row_call *a, const struct row_call *b)
{
    return strcmp(a->state, b->state) == 0 &&
           a->reserved_usd_micro == b->reserved_usd_micro &&
           a->reserved_tokens == b->reserved_tokens &&
           a->cost_usd_micro == b->cost_usd_micro &&
           a->cost_tokens == b->cost_tokens && a->requests == b->requests &&
           a->asked_at == b->asked_at && a->answered_at == b->answered_at;
}

int run_rows_call(const struct row_call *r, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;
    struct row_call *c = known_call(g, r);

    if (c && is_same_call(c, r))
        return 0;
    if (c) {
        g->disordered |= c->asked_at != r->asked_at;
    } else {
        v->call = xgrow(v->call, &g->call_cap, v->calls, sizeof(*v->call));
        c = &v->call[v->calls++];
    }
    *c = *r;
    KEEP_WORDS(g, &c->purpose, &c->state, &c->finish, &c->model);
    KEEP_ALL(g, &c->asked, &c->prompt, &c->prompt_hash, &c->reply, &c->thought,
             &c->error);
    return 0;
}

int run_rows_attempt(const struct row_attempt *r, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;
    struct run_attempt *a;

    if (is_known(g, r->attempt))
        return 0;
    v->attempts = xgrow(v->attempts, &g->attempt_cap, v->attempt_len,
                        sizeof(*v->attempts));
    a = &v->attempts[v->attempt_len++];
    *a = (struct run_attempt){.row = *r};
    KEEP_WORDS(g, &a->row.method, &a->row.retrieval, &a->row.stage,
               &a->row.verdict, &a->row.rule);
    KEEP_ALL(g, &a->row.plan, &a->row.code, &a->row.code_hash);
    return 0;
}

int run_rows_verdict(const struct row_verdict *r, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;
    struct row_verdict *x;

    if (is_known(g, r->attempt))
        return 0;
    v->verdicts = xgrow(v->verdicts, &g->verdict_cap, v->verdict_len,
                        sizeof(*v->verdicts));
    x = &v->verdicts[v->verdict_len++];
    *x = *r;
    KEEP_WORDS(g, &x->verdict, &x->stage, &x->evidence);
    KEEP_ALL(g, &x->feedback, &x->record, &x->times);
    return 0;
}

int run_rows_shown(const struct row_shown *r, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;

    if (is_known(g, r->attempt))
        return 0;
    v->shown = xgrow(v->shown, &g->shown_cap, v->shown_len, sizeof(*v->shown));
    v->shown[v->shown_len] = *r;
    KEEP_WORDS(g, &v->shown[v->shown_len].reason);
    v->shown_len++;
    return 0;
}

int run_rows_entry(const struct row_entry *r, int64_t left, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;
    struct run_entry *x;

    v->entry = xgrow(v->entry, &g->entry_cap, v->entries, sizeof(*v->entry));
    x = &v->entry[v->entries++];
    *x = (struct run_entry){*r, left};
    KEEP_ALL(g, &x->row.origin, &x->row.name, &x->row.task_hash,
             &x->row.problem, &x->row.plan, &x->row.solution, &x->row.evidence,
             &x->row.ported);
    return 0;
}

int run_rows_recheck(const struct row_recheck *r, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;
    struct row_recheck *x;

    v->recheck =
        xgrow(v->recheck, &g->recheck_cap, v->rechecks, sizeof(*v->recheck));
    x = &v->recheck[v->rechecks++];
    *x = *r;
    KEEP_ALL(g, &x->problem, &x->solution, &x->under, &x->verdict, &x->evidence,
             &x->why);
    return 0;
}

int run_rows_event(const char *kind, int64_t task, int64_t attempt,
                   const char *text, int64_t at, void *arg)
{
    struct run_rows *g = arg;
    struct run_view *v = g->v;
    struct run_event *x;

    v->event = xgrow(v->event, &g->event_cap, v->events, sizeof(*v->event));
    x = &v->event[v->events++];
    *x = (struct run_event){kind, text, task, attempt, at};
    KEEP_ALL(g, &x->kind, &x->text);
    return 0;
}

/* ---- together ---- */

int run_rows_call_order(const void *a, const void *b)
{
    const struct row_call *x = a, *y = b;

    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    if (x->asked_at != y->asked_at)
        return x->asked_at < y->asked_at ? -1 : 1;
    return (x->try > y->try) - (x->try < y->try);
}

static int unknown_task(const struct run_view *v, const char *what, int64_t ord,
                        struct err *e)
{
    return err_set(e, ERR_INPUT,
                   "%s/run.db: damaged: %s belongs to task %lld, but the run "
                   "has only %zu tasks; restore the file from a copy",
                   v->dir, what, (long long)ord + 1, v->all);
}

/* Rows come in the order of task and attempt, so those of one attempt stand
 * together. */
static int join_attempts(struct run_view *v, struct err *e)
{
    size_t verdict = 0, shown = 0;

    for (size_t i = 0; i < v->all; i++)
        v->task[i].attempts = 0;
    for (size_t i = 0; i < v->attempt_len; i++) {
        struct run_attempt *a = &v->attempts[i];
        struct run_task *t;

        *a = (struct run_attempt){.row = a->row,
                                  .error = a->error,
                                  .kind = a->kind,
                                  .doubt = a->doubt};
        if (a->row.task < 0 || (size_t)a->row.task >= v->all)
            return unknown_task(v, "an attempt", a->row.task, e);
        t = &v->task[a->row.task];
        t->attempt = t->attempts++ ? t->attempt : a;
        while (verdict < v->verdict_len &&
               (v->verdicts[verdict].task < a->row.task ||
                (v->verdicts[verdict].task == a->row.task &&
                 v->verdicts[verdict].attempt < a->row.attempt)))
            verdict++;
        if (verdict < v->verdict_len &&
            v->verdicts[verdict].task == a->row.task &&
            v->verdicts[verdict].attempt == a->row.attempt)
            a->verdict = &v->verdicts[verdict];
        while (shown < v->shown_len &&
               (v->shown[shown].task < a->row.task ||
                (v->shown[shown].task == a->row.task &&
                 v->shown[shown].attempt < a->row.attempt)))
            shown++;
        a->shown = v->shown + shown;
        for (; shown < v->shown_len && v->shown[shown].task == a->row.task &&
               v->shown[shown].attempt == a->row.attempt;
             shown++)
            a->shown_len++;
    }
    return 0;
}

static int join_calls(struct run_view *v, struct err *e)
{
    for (size_t i = 0; i < v->all; i++)
        v->task[i].calls = 0;
    for (size_t i = 0; i < v->calls; i++) {
        struct row_call *c = &v->call[i];
        struct run_attempt *a;
        struct run_task *t;

        if (c->task < 0)
            continue;
        if ((size_t)c->task >= v->all)
            return unknown_task(v, "a call", c->task, e);
        t = &v->task[c->task];
        t->call = t->calls++ ? t->call : c;
        a = run_view_attempt(t, c->attempt);
        if (a)
            a->call = a->calls++ ? a->call : c;
    }
    return 0;
}

/* Joins rows that are in order. */
int run_rows_join(struct run_view *v, struct err *e)
{
    return join_attempts(v, e) < 0 ? -1 : join_calls(v, e);
}

void run_rows_sort_calls(struct run_view *v, size_t from)
{
    if (v->calls > from)
        qsort(v->call + from, v->calls - from, sizeof(*v->call),
              run_rows_call_order);
}

/* A run stores when it begins and how it ends. Without an end it was killed. */
static enum run_state last_state(const struct run_view *v)
{
    for (size_t i = v->events; i-- > 0;) {
        const struct run_event *x = &v->event[i];

        if (strcmp(x->kind, "begun") == 0)
            return RUN_KILLED;
        if (strcmp(x->kind, "ended") != 0)
            continue;
        for (int k = 0; k < RUN_STATES; k++)
            if (x->text && strcmp(x->text, run_states[k]) == 0)
                return (enum run_state)k;
    }
    return RUN_UNKNOWN;
}

enum run_state run_rows_state(const struct run_view *v)
{
    return v->pid ? RUN_RUNNING : last_state(v);
}
