/* view.c: the rows of a run, put together. */
#include "run/view.h"

#include "base/fs.h"
#include "base/mem.h"
#include "store/lock.h"
#include "verify/plausible.h"
#include "verify/verdict.h"

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

enum { WORDS = 32 };

/* The rows as they come; lists that still grow. */
struct reading {
    struct run_view *v;
    size_t task_cap, entry_cap, event_cap, call_cap;
    size_t attempt_cap, verdict_cap, shown_cap, recheck_cap;
    /* What the view has already of the task that is read again. */
    const struct run_attempt *known;
    size_t knowns;
    struct map *known_calls; /* the key to the index; NULL: none */
    bool disordered;         /* a call that it has was asked at another time */
    const char *word[WORDS]; /* that were met last */
    size_t words;
};

static bool is_known(const struct reading *g, int64_t attempt)
{
    for (size_t i = 0; i < g->knowns; i++)
        if (g->known[i].row.attempt == attempt)
            return true;
    return false;
}

static void keep(struct reading *g, const char **s)
{
    *s = *s ? arena_strdup(&g->v->memory, *s) : NULL;
}

/* The same for one of few words, such as a verdict: equal ones are one, which is
 * faster to read for who walks over all rows. */
static void keep_word(struct reading *g, const char **s)
{
    size_t n = g->words < WORDS ? g->words : WORDS;

    for (size_t i = 0; *s && i < n; i++)
        if (strcmp(g->word[i], *s) == 0) {
            *s = g->word[i];
            return;
        }
    keep(g, s);
    if (*s)
        g->word[g->words++ % WORDS] = *s;
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

static int on_task(const struct row_task *r, void *arg)
{
    struct reading *g = arg;
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

static void put_call_key(struct buf *b, const struct row_call *r)
{
    buf_reset(b);
    buf_printf(b, "%s %s %lld", r->purpose, r->asked, (long long)r->try);
}

/* The same call, as it was when it was read before; NULL: it is new. */
static struct row_call *known_call(struct reading *g, const struct row_call *r)
{
    const size_t *at;
    struct buf key;

    if (!g->known_calls)
        return NULL;
    buf_init(&key, BUF_UNLIMITED);
    put_call_key(&key, r);
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

static int on_call(const struct row_call *r, void *arg)
{
    struct reading *g = arg;
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

static int on_attempt(const struct row_attempt *r, void *arg)
{
    struct reading *g = arg;
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

static int on_verdict(const struct row_verdict *r, void *arg)
{
    struct reading *g = arg;
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

static int on_shown(const struct row_shown *r, void *arg)
{
    struct reading *g = arg;
    struct run_view *v = g->v;

    if (is_known(g, r->attempt))
        return 0;
    v->shown = xgrow(v->shown, &g->shown_cap, v->shown_len, sizeof(*v->shown));
    v->shown[v->shown_len] = *r;
    KEEP_WORDS(g, &v->shown[v->shown_len].reason);
    v->shown_len++;
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
static int join(struct run_view *v, struct err *e)
{
    return join_attempts(v, e) < 0 ? -1 : join_calls(v, e);
}

static void sort_calls(struct run_view *v, size_t from)
{
    if (v->calls > from)
        qsort(v->call + from, v->calls - from, sizeof(*v->call), by_attempt);
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
    map_init(&v->facts);
    map_init(&v->errors);
    map_init(&v->kinds);
    v->dir = arena_strdup(&v->memory, dir);
    v->pid = lock_owner(dir); /* before its last rows are read */
}

static int read_all(struct reading *g, struct err *e)
{
    struct store *s = g->v->store;

    if (store_last_change(s, &g->v->seen, e) < 0 ||
        store_each_shown(s, on_shown, g, e) < 0 ||
        store_each_verdict(s, on_verdict, g, e) < 0 ||
        store_each_attempt(s, on_attempt, g, e) < 0 ||
        store_each_call(s, on_call, g, e) < 0 ||
        store_each_event(s, on_event, g, e) < 0 ||
        store_each_entry(s, on_entry, g, e) < 0 ||
        store_each_recheck(s, on_recheck, g, e) < 0 ||
        store_each_task(s, on_task, g, e) < 0)
        return -1;
    return 0;
}

int run_view_read(struct store *s, const char *dir, struct run_view *v,
                  struct err *e)
{
    struct reading g = {.v = v};
    int rc = -1;

    begin(s, dir, v);
    v->version = 1;
    if (store_data_version(s, &v->data_version, e) == 0 &&
        store_hold(s, e) == 0) {
        rc = read_all(&g, e);
        store_let_go(s);
    }
    if (rc == 0) {
        sort_calls(v, 0);
        rc = join(v, e);
    }
    if (rc < 0)
        run_view_close(v);
    else
        v->state = v->pid ? RUN_RUNNING : last_state(v);
    return rc;
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
    sort_calls(v, 0);
    return join(v, e);
}

/* ---- news ---- */

/* The tasks and entries that rows were stored of, in order, each once. */
struct news {
    int64_t *task, *entry;
    size_t tasks, task_cap, entries, entry_cap;
    bool rechecks;
    int64_t seq; /* of the last of them in the store's log */
};

static int on_change(const struct row_change *r, void *arg)
{
    struct news *n = arg;

    n->seq = r->seq;
    if (strcmp(r->name, "recheck") == 0) {
        n->rechecks = true;
    } else if (strncmp(r->name, "entry", 5) == 0) {
        n->entry =
            xgrow(n->entry, &n->entry_cap, n->entries, sizeof(*n->entry));
        n->entry[n->entries++] = r->number;
    } else {
        n->task = xgrow(n->task, &n->task_cap, n->tasks, sizeof(*n->task));
        n->task[n->tasks++] = r->number;
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static size_t sort_unique(int64_t *list, size_t n)
{
    size_t kept = 0;

    if (n)
        qsort(list, n, sizeof(*list), by_number);
    for (size_t i = 0; i < n; i++)
        if (!kept || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

/* Rows of attempts begin with task and attempt. */
static int by_key(const void *a, const void *b)
{
    int64_t x[2], y[2];

    memcpy(x, a, sizeof(x));
    memcpy(y, b, sizeof(y));
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0])
                        : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Of `n` rows in order of their task, the first of this one or of a later one;
 * the task is `at` bytes into a row. */
static size_t first_of(const void *rows, size_t n, size_t size, size_t at,
                       int64_t task)
{
    size_t lo = 0;
    int64_t there;

    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;

        memcpy(&there, (const char *)rows + mid * size + at, sizeof(there));
        if (there < task)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* Of `n` rows in order, how many come before this one or are its equals. */
static size_t count_before(const char *rows, size_t n, size_t size,
                           const void *row,
                           int (*order)(const void *, const void *))
{
    size_t lo = 0;

    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;

        if (order(rows + mid * size, row) <= 0)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* Merges rows [old, all) into the ones before them; both parts are in order.
 * The second is short: the rows between its places move at once. */
static void merge(void *rows, size_t old, size_t all, size_t size,
                  int (*order)(const void *, const void *))
{
    char *row = rows, *tail;

    if (all == old)
        return;
    tail = xreallocarray(NULL, all - old, size);
    memcpy(tail, row + old * size, (all - old) * size);
    for (size_t j = all - old; j-- > 0;) {
        size_t at = count_before(row, old, size, tail + j * size, order);

        memmove(row + (at + j + 1) * size, row + at * size, (old - at) * size);
        memcpy(row + (at + j) * size, tail + j * size, size);
        old = at;
    }
    free(tail);
}

/* How many rows of each kind the view had. */
struct lengths {
    size_t attempt, verdict, shown, call;
};

/* Reads what the view does not have of a task; -1: of no task. */
static int read_task(struct reading *g, const struct lengths *had, int64_t ord,
                     struct err *e)
{
    struct run_view *v = g->v;
    struct store *s = v->store;
    size_t from, to, call, calls, *place;
    struct run_attempt *known;
    struct map map;
    struct buf key;
    int rc = 0;

    from = first_of(v->attempts, had->attempt, sizeof(*v->attempts), 0, ord);
    to = first_of(v->attempts, had->attempt, sizeof(*v->attempts), 0, ord + 1);
    call = first_of(v->call, had->call, sizeof(*v->call),
                    offsetof(struct row_call, task), ord);
    calls = first_of(v->call, had->call, sizeof(*v->call),
                     offsetof(struct row_call, task), ord + 1);
    known = xreallocarray(NULL, to - from + 1, sizeof(*known));
    if (to > from)
        memcpy(known, v->attempts + from, (to - from) * sizeof(*known));
    map_init(&map);
    buf_init(&key, BUF_UNLIMITED);
    place = xreallocarray(NULL, calls - call + 1, sizeof(*place));
    for (size_t i = call; i < calls; i++) {
        place[i - call] = i;
        put_call_key(&key, &v->call[i]);
        map_set(&map, (struct str){key.data, key.len}, &place[i - call]);
    }
    g->known = known;
    g->knowns = to - from;
    g->known_calls = &map;
    if (ord >= (int64_t)v->all)
        rc = store_each_task_of(s, ord, on_task, g, e);
    if (rc < 0 || store_each_shown_of(s, ord, on_shown, g, e) < 0 ||
        store_each_verdict_of(s, ord, on_verdict, g, e) < 0 ||
        store_each_attempt_of(s, ord, on_attempt, g, e) < 0 ||
        store_each_call_of(s, ord, on_call, g, e) < 0)
        rc = -1;
    if (ord >= 0 && ord < (int64_t)v->all)
        v->task[ord].version = v->version + 1;
    buf_release(&key);
    map_release(&map);
    free(place);
    free(known);
    return rc;
}

/* One that left is read again. */
static int read_entry(struct reading *g, int64_t number, struct err *e)
{
    struct run_view *v = g->v;
    size_t all = v->entries;
    int rc;

    if (number < 1 || (size_t)number > all + 1)
        return err_set(e, ERR_INPUT, "entry %lld follows entry %zu",
                       (long long)number, all);
    v->entries = (size_t)number - 1;
    rc = store_each_entry_of(v->store, number, on_entry, g, e);
    if (v->entries < all)
        v->entries = all;
    return rc;
}

static int read_news(struct reading *g, struct news *n, struct err *e)
{
    struct run_view *v = g->v;
    struct lengths had = {v->attempt_len, v->verdict_len, v->shown_len,
                          v->calls};

    if (store_each_change(v->store, v->seen, on_change, n, e) < 0 ||
        store_each_event_after(v->store, (int64_t)v->events, on_event, g, e) <
            0)
        return -1;
    n->tasks = sort_unique(n->task, n->tasks);
    n->entries = sort_unique(n->entry, n->entries);
    for (size_t i = 0; i < n->tasks; i++)
        if (read_task(g, &had, n->task[i], e) < 0)
            return -1;
    for (size_t i = 0; i < n->entries; i++)
        if (read_entry(g, n->entry[i], e) < 0)
            return -1;
    if (n->rechecks) {
        v->rechecks = 0;
        if (store_each_recheck(v->store, on_recheck, g, e) < 0)
            return -1;
    }
    sort_calls(v, had.call);
    merge(v->attempts, had.attempt, v->attempt_len, sizeof(*v->attempts),
          by_key);
    merge(v->verdicts, had.verdict, v->verdict_len, sizeof(*v->verdicts),
          by_key);
    merge(v->shown, had.shown, v->shown_len, sizeof(*v->shown), by_key);
    merge(v->call, had.call, v->calls, sizeof(*v->call), by_attempt);
    if (g->disordered)
        sort_calls(v, 0);
    return join(v, e);
}

static int add_news(struct run_view *v, struct err *e)
{
    struct reading g = {.v = v,
                        .task_cap = v->all,
                        .entry_cap = v->entries,
                        .event_cap = v->events,
                        .call_cap = v->calls,
                        .attempt_cap = v->attempt_len,
                        .verdict_cap = v->verdict_len,
                        .shown_cap = v->shown_len,
                        .recheck_cap = v->rechecks};
    struct news n = {.seq = v->seen};
    size_t events = v->events;
    int rc = -1;

    if (store_hold(v->store, e) == 0) {
        rc = read_news(&g, &n, e);
        store_let_go(v->store);
    }
    if (rc == 0)
        rc = n.seq > v->seen || v->events > events;
    v->seen = n.seq;
    free(n.task);
    free(n.entry);
    return rc;
}

/* Without a log all is read again. The store is opened again, too: it sees an
 * older file as it was when it was opened. */
static int open_again(struct run_view *v, struct err *e)
{
    char *dir = xstrdup(v->dir);
    int64_t version = v->version + 1;
    int rc;

    run_view_close(v);
    rc = run_view_open(dir, v, e);
    free(dir);
    if (rc < 0)
        return -1;
    run_view_renumber(v, version);
    return 1;
}

void run_view_renumber(struct run_view *v, int64_t version)
{
    v->version = version;
    for (size_t i = 0; i < v->all; i++)
        v->task[i].version = version;
}

int run_view_refresh(struct run_view *v, struct err *e)
{
    long pid = lock_owner(v->dir); /* before its last rows are read */
    int changed = pid != v->pid, rc = 0;
    int64_t now;

    if (!v->owns_store)
        BUG("%s: a view of somebody's store is refreshed", v->dir);
    if (store_is_replaced(v->store))
        return open_again(v, e);
    if (store_data_version(v->store, &now, e) < 0) {
        run_view_close(v);
        return -1;
    }
    if (now != v->data_version && store_has_no_log(v->store))
        return open_again(v, e);
    if (now != v->data_version)
        rc = add_news(v, e);
    if (rc < 0) {
        run_view_close(v);
        return -1;
    }
    v->data_version = now;
    v->pid = pid;
    if (!changed && !rc)
        return 0;
    v->version++;
    v->state = v->pid ? RUN_RUNNING : last_state(v);
    return 1;
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
    map_release(&v->facts);
    map_release(&v->errors);
    map_release(&v->kinds);
    arena_release(&v->memory);
    if (v->owns_store)
        store_close(v->store, &late);
    *v = (struct run_view){0};
}

/* ---- looking ---- */

const char *run_view_fact(struct run_view *v, const char *name)
{
    char *text = map_get(&v->facts, str_of(name));
    struct err e = ERR_INIT;
    struct buf b;

    if (text)
        return text;
    buf_init(&b, BUF_UNLIMITED);
    if (store_get(v->store, name, &b, &e) == 1) {
        text = arena_strdup(&v->memory, buf_str(&b));
        map_set(&v->facts, str_of(name), text);
    }
    buf_release(&b);
    return text ? text : "";
}

struct run_task *run_view_task(struct run_view *v, const char *id)
{
    for (size_t i = 0; i < v->all; i++)
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

/* Equal records are read once. */
const char *run_view_error(struct run_view *v, struct run_attempt *a,
                           struct err *e)
{
    struct str hash =
        str_of(a->verdict && a->verdict->record ? a->verdict->record : "");
    json_t *record;
    struct str text;
    char *line;

    if (!a->error)
        a->error = hash.n ? map_get(&v->errors, hash) : "";
    if (a->error)
        return a->error;
    record = run_view_record(v, a, e);
    if (!record)
        return NULL;
    text = verdict_error(record);
    line = arena_strndup(&v->memory, text.n ? text.p : "", text.n);
    map_set(&v->errors, hash, line);
    json_decref(record);
    return a->error = line;
}

const char *run_view_failure(struct run_view *v, struct run_attempt *a,
                             struct err *e)
{
    const char *error = a->kind ? "" : run_view_error(v, a, e);
    struct buf key;
    char *kind;

    if (a->kind || !error)
        return a->kind;
    buf_init(&key, BUF_UNLIMITED);
    buf_puts(&key, a->row.verdict);
    verdict_error_kind(error, &key);
    kind = map_get(&v->kinds, (struct str){key.data, key.len});
    if (!kind) {
        kind = arena_strdup(&v->memory, buf_str(&key));
        map_set(&v->kinds, (struct str){key.data, key.len}, kind);
    }
    a->kind = kind;
    buf_release(&key);
    return a->kind;
}

const char *run_view_doubt(struct run_view *v, struct run_attempt *a,
                           struct err *e)
{
    const char *times = a->verdict ? a->verdict->times : NULL, *why;
    json_t *record;

    if (!a->doubt && !(times && strstr(times, "reference_ms")))
        a->doubt = "";
    if (a->doubt)
        return a->doubt;
    record = run_view_record(v, a, e);
    if (!record && e->kind != ERR_NONE)
        return NULL;
    why = plausible_doubt(record, &v->memory);
    a->doubt = why ? why : "";
    json_decref(record);
    return a->doubt;
}

/* The sidecar that the run has kept; NULL also if there was none. */
static int recall_sidecar(struct run_view *v, struct task *t, struct err *e)
{
    char *name = xasprintf("sidecar/%s", t->id);
    const char *text = run_view_fact(v, name);

    if (text[0])
        t->sidecar = jsn_parse(name, text, strlen(text), e);
    free(name);
    return text[0] && !t->sidecar ? -1 : 0;
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
    if (program && recall_sidecar(v, program, e) < 0) {
        task_free(program);
        return NULL;
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
