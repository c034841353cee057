/* archives.c: reads and copies the kernels of runs and archives. */
#include "run/archives.h"
#include "run/summary.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/tick.h"
#include "run/shared.h"
#include "store/pg.h"
#include "verify/verdict.h"

#include <stdlib.h>

typedef int kernel_fn(struct kernel *k, void *arg, struct err *e);

/* ---- a run ---- */

/* The texts of a kernel, and what the judge measured. */
static int kernel_texts(struct run_view *v, const struct run_attempt *a,
                        struct arena *memory, struct kernel *k, struct err *e)
{
    json_t *record;

    k->solution = STR_LIT("");
    k->ported_why = "";
    if (store_text(v->store, a->row.code, memory, &k->solution, e) < 0 ||
        store_text(v->store, a->row.plan, memory, &k->plan, e) < 0)
        return -1;
    if (!a->verdict->record)
        return 0;
    record = run_view_record(v, a, e);
    if (!record)
        return -1;
    if (*jsn_str(record, "ported"))
        k->ported = str_of(arena_strdup(memory, jsn_str(record, "ported")));
    k->ported_why = arena_strdup(memory, jsn_str(record, "ported_why"));
    k->judged = kernel_judged(record);
    json_decref(record);
    return 0;
}

const struct row_recheck *archives_retired(const struct run_view *v,
                                           const struct run_task *t,
                                           const struct run_attempt *a)
{
    const struct row_recheck *again =
        run_view_recheck(v, t->row.source, a->row.code);

    return again && !verdict_may_join(again->verdict, again->evidence) ? again
                                                                       : NULL;
}

int64_t archives_rules(struct run_view *v, const struct run_task *t,
                       const struct run_attempt *a)
{
    const struct row_recheck *again =
        run_view_recheck(v, t->row.source, a->row.code);

    return again ? again->rules : run_view_rules(v);
}

int archives_tell(struct run_view *v, const struct run_task *task,
                  const struct run_attempt *a, kernel_fn *fn, void *arg,
                  struct err *e)
{
    struct kernel_finding f = {.method = run_view_fact(v, "method"),
                               .model = run_view_fact(v, "model"),
                               .device = run_view_fact(v, "device"),
                               .precision = run_view_fact(v, "precision"),
                               .dsl = run_view_fact(v, "dsl"),
                               .attempt = a->row.attempt};
    struct kernel k = {.rules = archives_rules(v, task, a),
                       .piece = task->row.kind ? summary_piece_json(&task->row)
                                               : NULL,
                       .task = run_view_program(v, task, e)};
    const struct row_recheck *again = archives_retired(v, task, a);
    char date[DATE_SIZE];
    struct arena texts = {0};
    int rc = -1;

    if (again) {
        date_of(again->judged_at, date);
        k.retired_on = date;
        k.retired_why = again->why ? again->why : again->verdict;
    }
    kernel_found(&k, &texts, task->row.id, &f);
    if (k.task && kernel_texts(v, a, &texts, &k, e) == 0)
        rc = fn(&k, arg, e);
    task_free(k.task);
    json_decref(k.piece);
    json_decref(k.judged);
    arena_release(&texts);
    return rc;
}

static bool is_refused(const struct run_view *v, const struct run_attempt *a)
{
    for (size_t i = 0; i < v->entries; i++)
        if (v->entry[i].withdrawn && v->entry[i].task == a->row.task &&
            v->entry[i].attempt == a->row.attempt)
            return true;
    return false;
}

static bool is_archivable(const struct run_attempt *a)
{
    return a->row.solved && a->row.code && a->verdict &&
           verdict_may_join(a->verdict->verdict, a->verdict->evidence);
}

const struct run_attempt *archives_kernel_of(const struct run_view *v,
                                             const struct run_task *t)
{
    for (size_t i = 0; i < t->attempts; i++)
        if (is_archivable(&t->attempt[i]) && !is_refused(v, &t->attempt[i]))
            return &t->attempt[i];
    return NULL;
}

static int each_of_run(const char *dir, kernel_fn *fn, void *arg, struct err *e)
{
    struct run_view v;
    int rc = run_view_open(dir, &v, e);

    if (rc < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < v.all; i++) {
        const struct run_attempt *a = archives_kernel_of(&v, &v.task[i]);

        if (a)
            rc = archives_tell(&v, &v.task[i], a, fn, arg, e);
    }
    run_view_close(&v);
    return rc;
}

/* ---- a shared archive ---- */

struct telling {
    const char *address;
    kernel_fn *fn;
    void *arg;
};

static int tell_shared(struct kernel *k, int64_t number, const struct err *why,
                       void *arg, struct err *e)
{
    struct telling *t = arg;
    char *shown;

    if (k)
        return t->fn(k, t->arg, e);
    shown = pg_shown(t->address);
    log_warn("%s: kernel %lld is left out: %s", shown, (long long)number,
             why->text);
    free(shown);
    return 0;
}

static int each_of_shared(const char *address, kernel_fn *fn, void *arg,
                          struct err *e)
{
    struct telling t = {address, fn, arg};
    struct shared *s = shared_open(address, SHARED_READ, -1, e);
    struct shared_range all = {.until = SHARED_NEWEST};
    int rc = s ? shared_each(s, &all, tell_shared, &t, e) : -1;

    shared_close(s);
    return rc;
}

int archives_each(const char *dir, kernel_fn *fn, void *arg, struct err *e)
{
    char *file;
    int rc;

    if (pg_is_address(dir))
        return each_of_shared(dir, fn, arg, e);
    file = fs_join(dir, "run.db");
    rc = fs_is_file(file) ? each_of_run(dir, fn, arg, e)
                          : kernel_each(dir, fn, arg, e);
    free(file);
    return rc;
}

/* ---- what is there ---- */

static int note_one(struct kernel *k, void *arg, struct err *e)
{
    (void)e;
    if (!kernel_is_retired(k))
        map_set(arg, str_of(k->task->hash), arg);
    return 0;
}

int archives_known(const char *dir, struct map *tasks, struct err *e)
{
    return fs_is_dir(dir) ? kernel_each(dir, note_one, tasks, e) : 0;
}

/* ---- copying ---- */

struct copying {
    const char *to;
    struct shared *shared; /* NULL: a folder */
    bool from_shared;
    struct map known; /* of a folder */
    struct archives_copied *count;
};

/* Both: 1 when it was written, 0 when the task is known. */
static int copy_to_folder(struct copying *c, const struct kernel *k,
                          struct err *e)
{
    struct kernel copy = *k;
    char *plain, *name;
    int rc;

    if (map_get(&c->known, str_of(k->task->hash)))
        return 0;
    plain = kernel_name(k->name); /* a seed's begins with a digit */
    name = kernel_free_name(c->to, plain);
    copy.name = name;
    rc = kernel_write(c->to, &copy, (struct str){k->task->source, k->task->len},
                      e);
    free(plain);
    free(name);
    if (rc < 0)
        return -1;
    map_set(&c->known, str_of(k->task->hash), c);
    return 1;
}

static int copy_to_shared(struct copying *c, const struct kernel *k,
                          struct err *e)
{
    struct shared_row row;
    int rc = shared_knows(c->shared, k->dsl ? k->dsl : "", k->task->hash, e);

    if (rc != 0)
        return rc < 0 ? -1 : 0;
    shared_row_of(k, &row);
    rc = shared_add(c->shared, &row, e);
    shared_row_release(&row);
    return rc;
}

static int copy_one(struct kernel *k, void *arg, struct err *e)
{
    struct copying *c = arg;
    int rc;

    if (kernel_is_retired(k)) {
        c->count->retired++;
        return 0;
    }
    if (kernel_is_older(k) && (c->shared || !c->from_shared)) {
        c->count->older++;
        return 0;
    }
    rc = c->shared ? copy_to_shared(c, k, e) : copy_to_folder(c, k, e);
    if (rc < 0)
        return -1;
    if (rc > 0)
        c->count->written++;
    else
        c->count->known++;
    return 0;
}

int archives_copy(const char *const *from, size_t n, const char *to,
                  struct archives_copied *out, struct err *e)
{
    struct copying c = {.to = to, .count = out};
    int rc;

    *out = (struct archives_copied){0};
    if (pg_is_address(to)) {
        c.shared = shared_open(to, SHARED_WRITE, -1, e);
        rc = c.shared ? 0 : -1;
    } else {
        rc = archives_known(to, &c.known, e);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        c.from_shared = pg_is_address(from[i]);
        rc = archives_each(from[i], copy_one, &c, e);
    }
    map_release(&c.known);
    shared_close(c.shared);
    return rc;
}
