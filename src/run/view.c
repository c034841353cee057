/* view.c: a run opened for reading, what can be asked of it, and how it is followed.
 *
 * Rows are read as a whole, in the order of their keys, and joined in one walk: 50,000
 * attempts take a third of a second. A page that follows the run must not do that each
 * second, so the store keeps a log of what changed, and only the tasks that it names are
 * read again, each into memory of its own that the next reading replaces. A file of an
 * older program has no such log; then all is read again. */
#include "run/view.h"

#include "base/fs.h"
#include "base/mem.h"
#include "run/query.h"
#include "store/lock.h"
#include "verify/roster.h"
#include "verify/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const run_states[RUN_STATES] = {
    [RUN_RUNNING] = "running", [RUN_FINISHED] = "finished",
    [RUN_WAITING] = "waiting", [RUN_NO_BUDGET] = "out of budget",
    [RUN_STOPPED] = "stopped", [RUN_STUCK] = "stuck",
    [RUN_FAILED] = "failed",   [RUN_KILLED] = "killed",
    [RUN_UNKNOWN] = "unknown",
};

/* ---- the rows of tasks ---- */

static int by_asking(const void *a, const void *b)
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

/* Whether a row belongs to an attempt: 0; or to one before (-1) or after it (1). */
static int compare_attempt(int64_t task, int64_t attempt,
                           const struct run_attempt *a)
{
    if (task != a->row.task)
        return task < a->row.task ? -1 : 1;
    return (attempt > a->row.attempt) - (attempt < a->row.attempt);
}

/* Rows come in the order of task and attempt, so those of one attempt stand
 * together. */
static int join_attempts(struct run_view *v, struct run_rows *g, struct err *e)
{
    struct run_attempt *a = g->attempt.row, *end = a + g->attempt.len;
    struct row_verdict *x = g->verdict.row, *last = x + g->verdict.len;
    struct row_shown *y = g->shown.row, *shown = y + g->shown.len;

    for (; a < end; a++) {
        struct run_task *t;

        if (a->row.task < 0 || (size_t)a->row.task >= v->all)
            return unknown_task(v, "an attempt", a->row.task, e);
        t = &v->task[a->row.task];
        t->attempt = t->attempts++ ? t->attempt : a;
        while (x < last && compare_attempt(x->task, x->attempt, a) < 0)
            x++;
        if (x < last && compare_attempt(x->task, x->attempt, a) == 0)
            a->verdict = x;
        while (y < shown && compare_attempt(y->task, y->attempt, a) < 0)
            y++;
        a->shown = y;
        for (; y < shown && compare_attempt(y->task, y->attempt, a) == 0; y++)
            a->shown_len++;
    }
    return 0;
}

static int join_calls(struct run_view *v, struct run_rows *g, struct err *e)
{
    struct row_call *c = g->call.row, *end = c + g->call.len;

    if (g->call.len)
        qsort(c, g->call.len, sizeof(*c), by_asking);
    for (; c < end; c++) {
        struct run_attempt *a;
        struct run_task *t;

        if (c->task < 0) {
            v->call = v->calls++ ? v->call : c;
            continue;
        }
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

/* Of all tasks, or of one. */
static int view_read_rows(struct run_view *v, int64_t of, struct run_rows *g,
                          struct err *e)
{
    struct store *s = v->store;

    g->attempt.size = sizeof(struct run_attempt);
    if (store_list(s, STORE_SHOWN, of, &g->shown, &g->memory, e) < 0 ||
        store_list(s, STORE_VERDICTS, of, &g->verdict, &g->memory, e) < 0 ||
        store_list(s, STORE_ATTEMPTS, of, &g->attempt, &g->memory, e) < 0 ||
        store_list(s, STORE_CALLS, of, &g->call, &g->memory, e) < 0)
        return -1;
    return 0;
}

static int join_rows(struct run_view *v, struct run_rows *g, struct err *e)
{
    return join_attempts(v, g, e) < 0 ? -1 : join_calls(v, g, e);
}

static void release_rows(struct run_rows *g)
{
    free(g->attempt.row);
    free(g->verdict.row);
    free(g->shown.row);
    free(g->call.row);
    arena_release(&g->memory);
}

static void free_rows(struct run_rows *g)
{
    if (g)
        release_rows(g);
    free(g);
}

/* ---- the rows of the run ---- */

/* The members that others read. */
static void show_lists(struct run_view *v)
{
    v->task = v->list[STORE_TASKS].row;
    v->all = v->list[STORE_TASKS].len;
    v->entry = v->list[STORE_ENTRIES].row;
    v->entries = v->list[STORE_ENTRIES].len;
    v->event = v->list[STORE_EVENTS].row;
    v->events = v->list[STORE_EVENTS].len;
}

static int read_list(struct run_view *v, enum store_what what, int64_t of,
                     struct err *e)
{
    size_t had = v->all;

    if (store_list(v->store, what, of, &v->list[what], &v->memory, e) < 0)
        return -1;
    show_lists(v);
    for (size_t i = had; i < v->all; i++) { /* tasks before pieces */
        v->task[i].version = 1;
        v->tasks += v->task[i].row.kind == NULL;
    }
    return 0;
}

/* One that is new, or has left the archive. */
static int view_read_entry(struct run_view *v, int64_t number, struct err *e)
{
    struct store_list *all = &v->list[STORE_ENTRIES], one = {0};
    int rc = store_list(v->store, STORE_ENTRIES, number, &one, &v->memory, e);

    if (rc == 0 && one.len) {
        if (all->len < (size_t)number)
            all->row = xgrow(all->row, &all->cap, all->len++, all->size);
        show_lists(v);
        v->entry[number - 1] = *(struct row_entry *)one.row;
    }
    free(one.row);
    return rc;
}

static void view_begin(struct store *s, const char *dir, struct run_view *v)
{
    *v = (struct run_view){.store = s};
    arena_init(&v->memory);
    arena_init(&v->rows.memory);
    map_init(&v->facts);
    map_init(&v->errors);
    map_init(&v->kinds);
    v->list[STORE_TASKS].size = sizeof(struct run_task);
    v->dir = arena_strdup(&v->memory, dir);
    v->pid = lock_owner(dir); /* before its last rows are read */
    v->workers_at = run_view_workers_at(dir);
}

/* A run stores when it begins and how it ends. Without an end it was killed. */
static enum run_state last_state(const struct run_view *v)
{
    for (size_t i = v->events; i-- > 0;) {
        const struct row_event *x = &v->event[i];

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

static enum run_state view_state(const struct run_view *v)
{
    return v->pid ? RUN_RUNNING : last_state(v);
}

static int view_read_all(struct run_view *v, struct err *e)
{
    if (store_last_change(v->store, &v->seen, e) < 0 ||
        view_read_rows(v, STORE_ALL, &v->rows, e) < 0 ||
        read_list(v, STORE_EVENTS, STORE_ALL, e) < 0 ||
        read_list(v, STORE_ENTRIES, STORE_ALL, e) < 0)
        return -1;
    return read_list(v, STORE_TASKS, STORE_ALL, e);
}

int run_view_read(struct store *s, const char *dir, struct run_view *v,
                  struct err *e)
{
    int rc = -1;

    view_begin(s, dir, v);
    v->version = 1;
    if (store_data_version(s, &v->data_version, e) == 0 &&
        store_hold(s, e) == 0) {
        rc = view_read_all(v, e);
        store_let_go(s);
    }
    if (rc == 0)
        rc = join_rows(v, &v->rows, e);
    if (rc < 0)
        run_view_close(v);
    else
        v->state = view_state(v);
    return rc;
}

int run_view_open(const char *dir, struct run_view *v, struct err *e)
{
    struct store *s = query_open(dir, e);

    if (!s)
        return -1;
    if (run_view_read(s, dir, v, e) < 0) {
        query_close(s);
        return -1;
    }
    v->owns_store = true;
    return 0;
}

void run_view_close(struct run_view *v)
{
    for (size_t i = 0; i < v->all; i++)
        free_rows(v->task[i].own);
    free_rows(v->loose);
    release_rows(&v->rows);
    for (size_t i = 0; i < STORE_WHATS; i++)
        free(v->list[i].row);
    map_release(&v->facts);
    map_release(&v->errors);
    map_release(&v->kinds);
    arena_release(&v->memory);
    if (v->owns_store)
        query_close(v->store);
    *v = (struct run_view){0};
}

/* ---- following ---- */

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

/* What was found out about an attempt holds on: it does not change. */
static void keep_findings(const struct run_attempt *old, size_t n,
                          struct run_task *t)
{
    for (size_t i = 0; i < n; i++) {
        struct run_attempt *a = run_view_attempt(t, old[i].row.attempt);

        if (!a)
            continue;
        a->error = old[i].error;
        a->kind = old[i].kind;
        a->doubt = old[i].doubt;
    }
}

/* Reads a task again; -1: the calls of none. */
static int read_again(struct run_view *v, int64_t ord, struct err *e)
{
    struct run_rows *g = xcalloc(1, sizeof(*g)), **own = &v->loose;
    struct run_task *t = NULL, old = {0};
    int rc = 0;

    arena_init(&g->memory);
    if (ord >= (int64_t)v->all)
        rc = read_list(v, STORE_TASKS, ord, e);
    if (rc == 0 && ord >= (int64_t)v->all)
        rc = unknown_task(v, "a row", ord, e);
    if (rc == 0)
        rc = view_read_rows(v, ord, g, e);
    if (rc < 0) {
        free_rows(g);
        return -1;
    }
    if (ord >= 0) {
        t = &v->task[ord];
        old = *t;
        own = &t->own;
        t->attempts = t->calls = 0;
        t->version = v->version + 1;
    } else {
        v->calls = 0;
    }
    rc = join_rows(v, g, e);
    if (rc == 0 && t)
        keep_findings(old.attempt, old.attempts, t);
    free_rows(*own);
    *own = g;
    return rc;
}

/* The tasks and entries that rows were stored of, in order, each once. */
struct news {
    int64_t *task, *entry;
    size_t tasks, entries;
};

static void sort_news(const struct store_list *changes, struct news *n)
{
    const struct row_change *x = changes->row;

    n->task = xcalloc(changes->len + 1, sizeof(*n->task));
    n->entry = xcalloc(changes->len + 1, sizeof(*n->entry));
    for (size_t i = 0; i < changes->len; i++)
        if (strncmp(x[i].name, "entry", 5) == 0)
            n->entry[n->entries++] = x[i].number;
        else if (strcmp(x[i].name, "recheck") != 0)
            n->task[n->tasks++] = x[i].number;
    n->tasks = sort_unique(n->task, n->tasks);
    n->entries = sort_unique(n->entry, n->entries);
}

static int view_read_news(struct run_view *v, const struct news *n,
                          struct err *e)
{
    for (size_t i = 0; i < n->tasks; i++)
        if (read_again(v, n->task[i], e) < 0)
            return -1;
    for (size_t i = 0; i < n->entries; i++) {
        if (n->entry[i] < 1 || (size_t)n->entry[i] > v->entries + 1)
            return err_set(e, ERR_INPUT, "entry %lld follows entry %zu",
                           (long long)n->entry[i], v->entries);
        if (view_read_entry(v, n->entry[i], e) < 0)
            return -1;
    }
    return 0;
}

/* 1: there were some. */
static int add_news(struct run_view *v, struct err *e)
{
    struct store_list changes = {0};
    struct arena memory;
    struct news n = {0};
    size_t events = v->events;
    int rc = -1;

    arena_init(&memory);
    if (store_hold(v->store, e) == 0) {
        if (store_list(v->store, STORE_CHANGES, v->seen, &changes, &memory,
                       e) == 0 &&
            read_list(v, STORE_EVENTS, (int64_t)events, e) == 0) {
            sort_news(&changes, &n);
            rc = view_read_news(v, &n, e);
        }
        store_let_go(v->store);
    }
    if (rc == 0 && changes.len)
        v->seen = ((struct row_change *)changes.row)[changes.len - 1].seq;
    if (rc == 0)
        rc = changes.len || v->events > events;
    free(n.task);
    free(n.entry);
    free(changes.row);
    arena_release(&memory);
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
    v->state = view_state(v);
    return 1;
}

/* ---- workers ---- */

int64_t run_view_workers_at(const char *dir)
{
    char *path = fs_join(dir, ROSTER_FILE);
    struct stat st;
    int64_t at = 0;

    if (stat(path, &st) == 0)
        at = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    free(path);
    return at;
}

/* Nobody is left who could have said so after a run was killed. */
static void let_go(json_t *workers)
{
    json_t *w;
    size_t i;

    json_array_foreach(workers, i, w)
    {
        const char *state = jsn_str(w, "state");

        if (strcmp(state, roster_states[ROSTER_IDLE]) != 0 &&
            strcmp(state, roster_states[ROSTER_BUSY]) != 0)
            continue;
        json_object_set_new(w, "state",
                            json_string(roster_states[ROSTER_LEFT]));
        json_object_set_new(w, "tasks", json_null());
    }
}

json_t *run_view_workers(const struct run_view *v, struct err *e)
{
    json_t *all = roster_read(v->dir, e);

    if (all && v->pid == 0)
        let_go(json_object_get(all, "workers"));
    return all;
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

struct row_call *run_view_calls(const struct run_view *v, size_t list,
                                size_t *n)
{
    *n = list ? v->task[list - 1].calls : v->calls;
    return list ? v->task[list - 1].call : v->call;
}

const struct row_entry *run_view_entry(const struct run_view *v, int64_t number)
{
    return number >= 1 && (uint64_t)number <= v->entries ? &v->entry[number - 1]
                                                         : NULL;
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

json_t *run_view_record(struct run_view *v, const struct run_attempt *a,
                        struct err *e)
{
    const struct row_verdict *x = a->verdict;

    return x && x->record ? store_record(v->store, x->record, x->times, e)
                          : NULL;
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
