/* view.c: a run opened for reading, and what can be asked of it. */
#include "run/view.h"

#include "base/fs.h"
#include "base/mem.h"
#include "run/rows.h"
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

static void begin(struct store *s, const char *dir, struct run_view *v)
{
    *v = (struct run_view){.store = s};
    arena_init(&v->memory);
    map_init(&v->facts);
    map_init(&v->errors);
    map_init(&v->kinds);
    v->dir = arena_strdup(&v->memory, dir);
    v->pid = lock_owner(dir); /* before its last rows are read */
    v->workers_at = run_view_workers_at(dir);
}

static int read_all(struct run_rows *g, struct err *e)
{
    struct store *s = g->v->store;

    if (store_last_change(s, &g->v->seen, e) < 0 ||
        store_each_shown(s, run_rows_shown, g, e) < 0 ||
        store_each_verdict(s, run_rows_verdict, g, e) < 0 ||
        store_each_attempt(s, run_rows_attempt, g, e) < 0 ||
        store_each_call(s, run_rows_call, g, e) < 0 ||
        store_each_event(s, run_rows_event, g, e) < 0 ||
        store_each_entry(s, run_rows_entry, g, e) < 0 ||
        store_each_recheck(s, run_rows_recheck, g, e) < 0 ||
        store_each_task(s, run_rows_task, g, e) < 0)
        return -1;
    return 0;
}

int run_view_read(struct store *s, const char *dir, struct run_view *v,
                  struct err *e)
{
    struct run_rows g = {.v = v};
    int rc = -1;

    begin(s, dir, v);
    v->version = 1;
    if (store_data_version(s, &v->data_version, e) == 0 &&
        store_hold(s, e) == 0) {
        rc = read_all(&g, e);
        store_let_go(s);
    }
    if (rc == 0) {
        run_rows_sort_calls(v, 0);
        rc = run_rows_join(v, e);
    }
    if (rc < 0)
        run_view_close(v);
    else
        v->state = run_rows_state(v);
    return rc;
}

static int read_tasks(struct store *s, const char *dir, struct run_view *v,
                      struct err *e)
{
    struct run_rows g = {.v = v};

    begin(s, dir, v);
    v->state = v->pid ? RUN_RUNNING : RUN_UNKNOWN;
    if (store_each_task(s, run_rows_task, &g, e) == 0)
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
static int load_entries(struct run_rows *g, struct err *e)
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
        if (store_each_entry_of(v->store, number, run_rows_entry, g, e) < 0)
            return -1;
    }
    v->entries = (size_t)most;
    return 0;
}

int run_view_load(struct run_view *v, struct run_task *t, struct err *e)
{
    struct run_rows g = {.v = v};
    int64_t ord = t->row.ord;

    if (v->attempts || v->call || v->entry)
        BUG("%s: a second task is read into a view", t->row.id);
    if (store_each_shown_of(v->store, ord, run_rows_shown, &g, e) < 0 ||
        store_each_verdict_of(v->store, ord, run_rows_verdict, &g, e) < 0 ||
        store_each_attempt_of(v->store, ord, run_rows_attempt, &g, e) < 0 ||
        store_each_call_of(v->store, ord, run_rows_call, &g, e) < 0 ||
        load_entries(&g, e) < 0)
        return -1;
    run_rows_sort_calls(v, 0);
    return run_rows_join(v, e);
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

int64_t run_view_rules(struct run_view *v)
{
    int64_t rules = VERDICT_RULES_FIRST;

    str_to_i64(str_of(run_view_fact(v, "rules")), 1, INT64_MAX, &rules);
    return rules;
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
