/* view_follow.c: a view that follows its run: what was stored since is read, and put
 * in its place. */
#include "base/mem.h"
#include "run/rows.h"
#include "store/lock.h"

#include <stdlib.h>
#include <string.h>

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
static int read_task(struct run_rows *g, const struct lengths *had, int64_t ord,
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
        run_rows_call_key(&key, &v->call[i]);
        map_set(&map, (struct str){key.data, key.len}, &place[i - call]);
    }
    g->known = known;
    g->knowns = to - from;
    g->known_calls = &map;
    if (ord >= (int64_t)v->all)
        rc = store_each_task_of(s, ord, run_rows_task, g, e);
    if (rc < 0 || store_each_shown_of(s, ord, run_rows_shown, g, e) < 0 ||
        store_each_verdict_of(s, ord, run_rows_verdict, g, e) < 0 ||
        store_each_attempt_of(s, ord, run_rows_attempt, g, e) < 0 ||
        store_each_call_of(s, ord, run_rows_call, g, e) < 0)
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
static int read_entry(struct run_rows *g, int64_t number, struct err *e)
{
    struct run_view *v = g->v;
    size_t all = v->entries;
    int rc;

    if (number < 1 || (size_t)number > all + 1)
        return err_set(e, ERR_INPUT, "entry %lld follows entry %zu",
                       (long long)number, all);
    v->entries = (size_t)number - 1;
    rc = store_each_entry_of(v->store, number, run_rows_entry, g, e);
    if (v->entries < all)
        v->entries = all;
    return rc;
}

static int read_news(struct run_rows *g, struct news *n, struct err *e)
{
    struct run_view *v = g->v;
    struct lengths had = {v->attempt_len, v->verdict_len, v->shown_len,
                          v->calls};

    if (store_each_change(v->store, v->seen, on_change, n, e) < 0 ||
        store_each_event_after(v->store, (int64_t)v->events, run_rows_event, g,
                               e) < 0)
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
        if (store_each_recheck(v->store, run_rows_recheck, g, e) < 0)
            return -1;
    }
    run_rows_sort_calls(v, had.call);
    merge(v->attempts, had.attempt, v->attempt_len, sizeof(*v->attempts),
          by_key);
    merge(v->verdicts, had.verdict, v->verdict_len, sizeof(*v->verdicts),
          by_key);
    merge(v->shown, had.shown, v->shown_len, sizeof(*v->shown), by_key);
    merge(v->call, had.call, v->calls, sizeof(*v->call), run_rows_call_order);
    if (g->disordered)
        run_rows_sort_calls(v, 0);
    return run_rows_join(v, e);
}

static int add_news(struct run_view *v, struct err *e)
{
    struct run_rows g = {.v = v,
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
    int64_t workers_at = run_view_workers_at(v->dir), now;
    int changed = pid != v->pid || workers_at != v->workers_at, rc = 0;

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
    v->workers_at = workers_at;
    if (!changed && !rc)
        return 0;
    v->version++;
    v->state = run_rows_state(v);
    return 1;
}
