/* view.c: the rows of a run, put together. */
#include "run/view.h"

#include "base/fs.h"
#include "base/mem.h"
#include "store/lock.h"

#include <stdlib.h>
#include <string.h>

const char *const run_states[RUN_STATES] = {
    [RUN_RUNNING] = "running", [RUN_FINISHED] = "finished",
    [RUN_WAITING] = "waiting", [RUN_NO_BUDGET] = "out of budget",
    [RUN_STOPPED] = "stopped", [RUN_STUCK] = "stuck",
    [RUN_FAILED] = "failed",   [RUN_KILLED] = "killed",
    [RUN_UNKNOWN] = "unknown",
};

/* ---- rows ---- */

/* The rows as they come; lists that still grow. */
struct reading {
    struct run_view *v;
    size_t task_cap, entry_cap, event_cap, call_cap;
    size_t attempt_cap, verdict_cap, shown_cap, recheck_cap;
};

static void keep(struct reading *g, const char **s)
{
    *s = *s ? arena_strdup(&g->v->memory, *s) : NULL;
}

#define KEEP_ALL(g, ...)                                        \
    do {                                                        \
        const char **all[] = {__VA_ARGS__};                     \
        for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) \
            keep(g, all[k]);                                    \
    } while (0)

static int on_task(const struct row_task *r, void *arg)
{
    struct reading *g = arg;
    struct run_view *v = g->v;
    struct run_task *t;

    v->task = xgrow(v->task, &g->task_cap, v->tasks, sizeof(*v->task));
    t = &v->task[v->tasks++];
    *t = (struct run_task){.row = *r};
    KEEP_ALL(g, &t->row.id, &t->row.hash, &t->row.source, &t->row.path,
             &t->row.ops, &t->row.skipped);
    return 0;
}

static int on_call(const struct row_call *r, void *arg)
{
    struct reading *g = arg;
    struct run_view *v = g->v;
    struct row_call *c;

    v->call = xgrow(v->call, &g->call_cap, v->calls, sizeof(*v->call));
    c = &v->call[v->calls++];
    *c = *r;
    KEEP_ALL(g, &c->purpose, &c->asked, &c->state, &c->prompt, &c->prompt_hash,
             &c->reply, &c->thought, &c->finish, &c->model, &c->error);
    return 0;
}

static int on_attempt(const struct row_attempt *r, void *arg)
{
    struct reading *g = arg;
    struct run_view *v = g->v;
    struct run_attempt *a;

    v->attempts = xgrow(v->attempts, &g->attempt_cap, v->attempt_len,
                        sizeof(*v->attempts));
    a = &v->attempts[v->attempt_len++];
    *a = (struct run_attempt){.row = *r};
    KEEP_ALL(g, &a->row.method, &a->row.retrieval, &a->row.plan, &a->row.code,
             &a->row.code_hash, &a->row.stage, &a->row.verdict, &a->row.rule);
    return 0;
}

static int on_verdict(const struct row_verdict *r, void *arg)
{
    struct reading *g = arg;
    struct run_view *v = g->v;
    struct row_verdict *x;

    v->verdicts = xgrow(v->verdicts, &g->verdict_cap, v->verdict_len,
                        sizeof(*v->verdicts));
    x = &v->verdicts[v->verdict_len++];
    *x = *r;
    KEEP_ALL(g, &x->verdict, &x->stage, &x->evidence, &x->feedback, &x->record,
             &x->times);
    return 0;
}

static int on_shown(const struct row_shown *r, void *arg)
{
    struct reading *g = arg;
    struct run_view *v = g->v;

    v->shown = xgrow(v->shown, &g->shown_cap, v->shown_len, sizeof(*v->shown));
    v->shown[v->shown_len++] = *r;
    return 0;
}

static int on_entry(const struct row_entry *r, int64_t left, void *arg)
{
    struct reading *g = arg;
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

static int on_recheck(const struct row_recheck *r, void *arg)
{
    struct reading *g = arg;
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

static int on_event(const char *kind, int64_t task, int64_t attempt,
                    const char *text, int64_t at, void *arg)
{
    struct reading *g = arg;
    struct run_view *v = g->v;
    struct run_event *x;

    v->event = xgrow(v->event, &g->event_cap, v->events, sizeof(*v->event));
    x = &v->event[v->events++];
    *x = (struct run_event){kind, text, task, attempt, at};
    KEEP_ALL(g, &x->kind, &x->text);
    return 0;
}

/* ---- together ---- */

static int by_attempt(const void *a, const void *b)
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

static int unknown_task(int64_t ord, size_t tasks, struct err *e)
{
    return err_set(e, ERR_INPUT, "a row names task %lld of %zu", (long long)ord,
                   tasks);
}

/* Rows come in the order of task and attempt, so those of one attempt stand
 * together. */
static int join_attempts(struct run_view *v, struct err *e)
{
    size_t verdict = 0, shown = 0;

    for (size_t i = 0; i < v->attempt_len; i++) {
        struct run_attempt *a = &v->attempts[i];
        struct run_task *t;

        if (a->row.task < 0 || (size_t)a->row.task >= v->tasks)
            return unknown_task(a->row.task, v->tasks, e);
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
    if (v->calls)
        qsort(v->call, v->calls, sizeof(*v->call), by_attempt);
    for (size_t i = 0; i < v->calls; i++) {
        struct row_call *c = &v->call[i];
        struct run_attempt *a;
        struct run_task *t;

        if (c->task < 0)
            continue;
        if ((size_t)c->task >= v->tasks)
            return unknown_task(c->task, v->tasks, e);
        t = &v->task[c->task];
        t->call = t->calls++ ? t->call : c;
        a = run_view_attempt(t, c->attempt);
        if (a)
            a->call = a->calls++ ? a->call : c;
    }
    return 0;
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

static void begin(struct store *s, const char *dir, struct run_view *v)
{
    *v = (struct run_view){.store = s};
    arena_init(&v->memory);
    v->dir = arena_strdup(&v->memory, dir);
    v->pid = lock_owner(dir); /* before its last rows are read */
}

int run_view_read(struct store *s, const char *dir, struct run_view *v,
                  struct err *e)
{
    struct reading g = {.v = v};

    begin(s, dir, v);
    /* What a row refers to is read after it: a run may be writing. */
    if (store_each_shown(s, on_shown, &g, e) == 0 &&
        store_each_verdict(s, on_verdict, &g, e) == 0 &&
        store_each_attempt(s, on_attempt, &g, e) == 0 &&
        store_each_call(s, on_call, &g, e) == 0 &&
        store_each_event(s, on_event, &g, e) == 0 &&
        store_each_entry(s, on_entry, &g, e) == 0 &&
        store_each_recheck(s, on_recheck, &g, e) == 0 &&
        store_each_task(s, on_task, &g, e) == 0 && join_attempts(v, e) == 0 &&
        join_calls(v, e) == 0) {
        v->state = v->pid ? RUN_RUNNING : last_state(v);
        return 0;
    }
    run_view_close(v);
    return -1;
}

static int read_tasks(struct store *s, const char *dir, struct run_view *v,
                      struct err *e)
{
    struct reading g = {.v = v};

    begin(s, dir, v);
    v->state = v->pid ? RUN_RUNNING : RUN_UNKNOWN;
    if (store_each_task(s, on_task, &g, e) == 0)
        return 0;
    run_view_close(v);
    return -1;
}

static int open_with(int (*read)(struct store *, const char *,
                                 struct run_view *, struct err *),
                     const char *dir, struct run_view *v, struct err *e)
{
    char *file = fs_join(dir, "run.db");
    struct store *s = store_open(file, STORE_READ, NULL, e);
    struct err late = ERR_INIT;

    free(file);
    if (!s)
        return -1;
    if (read(s, dir, v, e) < 0) {
        store_close(s, &late);
        return -1;
    }
    v->owns_store = true;
    return 0;
}

int run_view_open(const char *dir, struct run_view *v, struct err *e)
{
    return open_with(run_view_read, dir, v, e);
}

int run_view_open_tasks(const char *dir, struct run_view *v, struct err *e)
{
    return open_with(read_tasks, dir, v, e);
}

/* Entries keep their places: those between stay empty. */
static int load_entries(struct reading *g, struct err *e)
{
    struct run_view *v = g->v;
    int64_t most = 0;

    for (size_t i = 0; i < v->shown_len; i++)
        if (v->shown[i].entry > most)
            most = v->shown[i].entry;
    v->entry = xcalloc((size_t)most + 1, sizeof(*v->entry));
    for (size_t i = 0; i < v->shown_len; i++) {
        int64_t number = v->shown[i].entry;

        if (number < 1 || v->entry[number - 1].row.name)
            continue;
        g->entry_cap = (size_t)most + 1;
        v->entries = (size_t)number - 1;
        if (store_each_entry_of(v->store, number, on_entry, g, e) < 0)
            return -1;
    }
    v->entries = (size_t)most;
    return 0;
}

int run_view_load(struct run_view *v, struct run_task *t, struct err *e)
{
    struct reading g = {.v = v};
    int64_t ord = t->row.ord;

    if (v->attempts || v->call || v->entry)
        BUG("%s: a second task is read into a view", t->row.id);
    if (store_each_shown_of(v->store, ord, on_shown, &g, e) < 0 ||
        store_each_verdict_of(v->store, ord, on_verdict, &g, e) < 0 ||
        store_each_attempt_of(v->store, ord, on_attempt, &g, e) < 0 ||
        store_each_call_of(v->store, ord, on_call, &g, e) < 0 ||
        load_entries(&g, e) < 0)
        return -1;
    return join_attempts(v, e) < 0 ? -1 : join_calls(v, e);
}

void run_view_close(struct run_view *v)
{
    struct err late = ERR_INIT;

    free(v->task);
    free(v->entry);
    free(v->recheck);
    free(v->event);
    free(v->call);
    free(v->attempts);
    free(v->verdicts);
    free(v->shown);
    arena_release(&v->memory);
    if (v->owns_store)
        store_close(v->store, &late);
    *v = (struct run_view){0};
}

/* ---- looking ---- */

const char *run_view_fact(struct run_view *v, const char *name)
{
    struct err e = ERR_INIT;
    const char *text = "";
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (store_get(v->store, name, &b, &e) == 1)
        text = arena_strdup(&v->memory, buf_str(&b));
    buf_release(&b);
    return text;
}

struct run_task *run_view_task(struct run_view *v, const char *id)
{
    for (size_t i = 0; i < v->tasks; i++)
        if (strcmp(v->task[i].row.id, id) == 0)
            return &v->task[i];
    return NULL;
}

struct run_attempt *run_view_attempt(struct run_task *t, int64_t number)
{
    for (size_t i = 0; i < t->attempts; i++)
        if (t->attempt[i].row.attempt == number)
            return &t->attempt[i];
    return NULL;
}

const struct run_entry *run_view_entry(const struct run_view *v, int64_t number)
{
    const struct run_entry *x = number >= 1 && (uint64_t)number <= v->entries
                                    ? &v->entry[number - 1]
                                    : NULL;

    return x && x->row.name ? x : NULL;
}

struct run_attempt *run_task_best(const struct run_task *t)
{
    struct run_attempt *best = NULL;

    for (size_t i = 0; i < t->attempts; i++) {
        struct run_attempt *a = &t->attempt[i];

        if (a->row.solved && (!best || a->row.fitness > best->row.fitness))
            best = a;
    }
    return best || !t->attempts ? best : &t->attempt[t->attempts - 1];
}

int run_view_text(struct run_view *v, const char *hash, struct buf *out,
                  struct err *e)
{
    return hash ? store_read_blob(v->store, hash, out, e) : 0;
}

json_t *run_view_record(struct run_view *v, const struct run_attempt *a,
                        struct err *e)
{
    const struct row_verdict *x = a->verdict;
    json_t *record = NULL, *times;
    struct buf b;

    if (!x || !x->record)
        return NULL;
    buf_init(&b, BUF_UNLIMITED);
    if (store_read_blob(v->store, x->record, &b, e) == 0)
        record = jsn_parse("a stored record", buf_str(&b), b.len, e);
    buf_release(&b);
    times = record && x->times ? json_loads(x->times, 0, NULL) : NULL;
    if (times)
        json_object_update(record, times);
    json_decref(times);
    return record;
}

struct task *run_view_program(struct run_view *v, const struct run_task *t,
                              struct err *e)
{
    struct task *program = NULL;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (run_view_text(v, t->row.source, &b, e) == 0)
        program = task_from(t->row.path, (struct str){buf_str(&b), b.len}, e);
    buf_release(&b);
    if (program) { /* a path may be seen from elsewhere */
        free(program->id);
        program->id = xstrdup(t->row.id);
    }
    return program;
}

const struct row_recheck *run_view_recheck(const struct run_view *v,
                                           const char *problem,
                                           const char *solution)
{
    for (size_t i = v->rechecks; i-- > 0;)
        if (strcmp(v->recheck[i].problem, problem) == 0 &&
            strcmp(v->recheck[i].solution, solution) == 0)
            return &v->recheck[i];
    return NULL;
}
