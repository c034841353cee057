/* recheck.c: passes over the kernels of an archive or a run. */
#include "run/recheck.h"

#include "base/arena.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/tick.h"
#include "run/archives.h"
#include "run/query.h"
#include "store/lock.h"
#include "verify/verdict.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PASS ((size_t)16 << 20) /* bytes of the file of a pass */

struct entry {
    struct recheck_kernel k;        /* first */
    const char *problem, *solution; /* blobs of a run, of its rows */
};

struct recheck {
    char *dir;
    struct arena memory;
    struct entry *entry;
    size_t len, cap;
    int64_t pass;
    const char *under;
    /* a run */
    struct lock lock;
    struct store *store;
    json_t *entries, *kernels; /* the rows of the queries of these names */
    /* an archive: the file of the pass */
    char *file;
    int fd;
    size_t left; /* kernels that the pass has not verified */
};

static struct entry *recheck_add(struct recheck *r)
{
    r->entry = xgrow(r->entry, &r->cap, r->len, sizeof(*r->entry));
    r->entry[r->len] = (struct entry){0};
    return &r->entry[r->len++];
}

static const char *recheck_keep(struct recheck *r, const char *s)
{
    return arena_strdup(&r->memory, s ? s : "");
}

/* ---- the kernels of an archive ---- */

static int on_kernel(struct kernel *k, void *arg, struct err *e)
{
    struct recheck *r = arg;
    struct entry *x;

    (void)e;
    if (!k->verified)
        return 0;
    x = recheck_add(r);
    x->k = (struct recheck_kernel){.name = recheck_keep(r, k->name),
                                   .task = k->task,
                                   .code = arena_str(&r->memory, k->solution),
                                   .precision = recheck_keep(r, k->dtype),
                                   .dsl = recheck_keep(r, k->dsl),
                                   .retired = kernel_is_retired(k),
                                   .on = recheck_keep(r, k->retired_on),
                                   .why = recheck_keep(r, k->retired_why)};
    k->task = NULL;
    return 0;
}

/* ---- the kernels of a run ---- */

static bool has(const struct recheck *r, const char *problem,
                const char *solution)
{
    for (size_t i = 0; i < r->len; i++)
        if (strcmp(r->entry[i].problem, problem) == 0 &&
            strcmp(r->entry[i].solution, solution) == 0)
            return true;
    return false;
}

static int add_stored(struct recheck *r, const json_t *row, const char *name,
                      const char *problem, const char *solution, struct err *e)
{
    struct entry *x;
    struct str text;

    if (has(r, problem, solution))
        return 0;
    x = recheck_add(r);
    x->problem = problem;
    x->solution = solution;
    x->k = (struct recheck_kernel){.name = name,
                                   .precision = jsn_str(row, "precision"),
                                   .dsl = jsn_str(row, "dsl"),
                                   .on = jsn_maybe(row, "retired_on"),
                                   .why = jsn_maybe(row, "retired_why")};
    x->k.retired = x->k.on != NULL;
    if (jsn_maybe(row, "id"))
        x->k.task = archives_task(r->store, row, e);
    else if (store_text(r->store, problem, &r->memory, &text, e) == 0)
        x->k.task = task_from(name, text, e);
    return x->k.task ? store_text(r->store, solution, &r->memory, &x->k.code, e)
                     : -1;
}

static int load_run(struct recheck *r, struct err *e)
{
    const json_t *row;
    size_t i;

    r->entries = query_list(r->store, "run/entries", NULL, e);
    r->kernels = query_list(r->store, "run/kernels", NULL, e);
    if (!r->entries || !r->kernels)
        return -1;
    json_array_foreach(r->entries, i, row)
    {
        if (jsn_int(row, "task") >= 0 && !jsn_maybe(row, "id"))
            return err_set(e, ERR_INPUT,
                           "%s/run.db: damaged: an entry belongs to task %lld, "
                           "which is not there; restore the file from a copy",
                           r->dir, (long long)jsn_int(row, "task") + 1);
        if (add_stored(r, row, jsn_str(row, "name"), jsn_str(row, "problem"),
                       jsn_str(row, "solution"), e) < 0)
            return -1;
    }
    json_array_foreach(r->kernels, i, row)
    {
        if (jsn_int(row, "attempt") && /* also one that has not joined yet */
            add_stored(r, row, jsn_str(row, "id"), jsn_str(row, "source"),
                       jsn_str(row, "code"), e) < 0)
            return -1;
    }
    return 0;
}

static int recheck_open_run(struct recheck *r, const char *db, struct err *e)
{
    if (lock_take(r->dir, &r->lock, e) < 0)
        return -1;
    r->store = store_open(db, STORE_OPEN, NULL, e);
    if (!r->store)
        return -1;
    query_texts(r->store);
    return load_run(r, e);
}

/* ---- opening and closing ---- */

struct recheck *recheck_open(const char *dir, struct err *e)
{
    struct recheck *r = xcalloc(1, sizeof(*r));
    char *db = fs_join(dir, "run.db");
    struct err late = ERR_INIT;
    int rc;

    r->dir = xstrdup(dir);
    r->file = fs_join(dir, ".reverify");
    r->fd = -1;
    rc = fs_is_file(db) ? recheck_open_run(r, db, e)
                        : kernel_each(dir, on_kernel, r, e);
    free(db);
    if (rc == 0)
        return r;
    recheck_close(r, &late);
    return NULL;
}

int recheck_close(struct recheck *r, struct err *e)
{
    int rc = 0;

    if (!r)
        return 0;
    for (size_t i = 0; i < r->len; i++)
        if (r->entry[i].k.task)
            task_free(r->entry[i].k.task);
    free(r->entry);
    json_decref(r->entries);
    json_decref(r->kernels);
    if (r->store && store_close(r->store, e) < 0)
        rc = -1;
    lock_drop(&r->lock);
    if (r->fd >= 0)
        close(r->fd);
    arena_release(&r->memory);
    free(r->file);
    free(r->dir);
    free(r);
    return rc;
}

size_t recheck_count(const struct recheck *r)
{
    return r->len;
}

const struct recheck_kernel *recheck_at(const struct recheck *r, size_t i)
{
    return &r->entry[i].k;
}

int64_t recheck_pass(const struct recheck *r)
{
    return r->pass;
}

/* ---- beginning a pass ---- */

static void mark_done(struct recheck *r, struct str name)
{
    for (size_t i = 0; i < r->len; i++)
        if (str_eq(name, r->entry[i].k.name))
            r->entry[i].k.done = true;
}

/* Reads the file of the last pass. True when it can be continued. A last line
 * without its end was cut off. */
static bool read_pass(struct recheck *r, struct str text)
{
    struct str line, number;
    bool same;

    if (!str_cut(&text, '\n', &line) || !str_cut(&line, ' ', &number) ||
        !str_cut(&line, ' ', &number) ||
        !str_to_i64(number, 1, INT64_MAX, &r->pass))
        return false;
    same = str_eq(line, r->under);
    while (same && str_cut(&text, '\n', &line)) {
        if (str_eq(line, "end"))
            return false;
        mark_done(r, line);
    }
    return same;
}

static int append(struct recheck *r, const char *line, struct err *e)
{
    if (fs_write_all(r->fd, line, strlen(line), e) < 0)
        return err_wrap(e, "%s", r->file);
    return fsync(r->fd) == 0 ? 0 : err_sys(e, "%s: cannot be flushed", r->file);
}

static int begin_file(struct recheck *r, struct err *e)
{
    struct buf b = {.limit = MAX_PASS};
    bool go_on;
    int rc = 0;

    if (fs_is_file(r->file))
        rc = fs_read(r->file, &b, e);
    go_on = rc == 0 && read_pass(r, buf_view(&b));
    buf_reset(&b);
    if (!go_on)
        r->pass++;
    buf_printf(&b, "pass %lld %s\n", (long long)r->pass, r->under);
    for (size_t i = 0; i < r->len; i++) {
        r->entry[i].k.done = r->entry[i].k.done && go_on;
        if (r->entry[i].k.done)
            buf_printf(&b, "%s\n", r->entry[i].k.name);
    }
    if (rc == 0)
        rc = fs_replace(r->file, buf_str(&b), b.len, e);
    buf_release(&b);
    if (rc < 0)
        return -1;
    r->fd = open(r->file, O_WRONLY | O_APPEND | O_CLOEXEC);
    return r->fd >= 0 ? 0 : err_sys(e, "%s: cannot open", r->file);
}

/* Rows of the last pass that belong to what is asked now. */
static int begin_rows(struct recheck *r, struct err *e)
{
    json_t *rows = query_list(r->store, "run/pass", NULL, e), *row;
    size_t done = 0, i;

    if (!rows)
        return -1;
    r->pass = jsn_int(json_array_get(rows, 0), "pass");
    json_array_foreach(
        rows, i,
        row) for (size_t k = 0; k < r->len;
                  k++) if (strcmp(jsn_str(row, "under"), r->under) == 0 &&
                           strcmp(jsn_str(row, "problem"),
                                  r->entry[k].problem) == 0 &&
                           strcmp(jsn_str(row, "solution"),
                                  r->entry[k].solution) == 0) r->entry[k]
        .k.done = true;
    json_decref(rows);
    for (size_t k = 0; k < r->len; k++)
        done += r->entry[k].k.done;
    if (done && done < r->len)
        return 0;
    r->pass++;
    for (size_t k = 0; k < r->len; k++)
        r->entry[k].k.done = false;
    return 0;
}

int recheck_begin(struct recheck *r, const char *under,
                  bool (*is_meant)(const struct recheck_kernel *k, void *arg),
                  void *arg, struct err *e)
{
    size_t n = 0;

    for (size_t i = 0; i < r->len; i++) {
        if (is_meant(&r->entry[i].k, arg))
            r->entry[n++] = r->entry[i];
        else
            task_free(r->entry[i].k.task);
    }
    r->len = n;
    r->under = recheck_keep(r, under);
    if ((r->store ? begin_rows(r, e) : begin_file(r, e)) < 0)
        return -1;
    for (size_t i = 0; i < r->len; i++)
        r->left += !r->entry[i].k.done;
    return 0;
}

/* ---- what was found ---- */

static int note_row(struct recheck *r, const struct entry *x,
                    const char *verdict, const char *evidence, struct err *e)
{
    struct row_recheck row = {.pass = r->pass,
                              .problem = x->problem,
                              .solution = x->solution,
                              .under = r->under,
                              .verdict = verdict,
                              .evidence = evidence[0] ? evidence : NULL,
                              .rules = VERDICT_RULES,
                              .why = x->k.retired ? x->k.why : NULL,
                              .judged_at = date_now_us()};

    store_recheck(r->store, &row);
    return store_sync(r->store, e);
}

/* The mark first: without the line in the file, the kernel is verified once
 * more. */
static int note_file(struct recheck *r, const struct entry *x, struct err *e)
{
    char *dir = fs_join(r->dir, x->k.name),
         *line = xasprintf("%s\n%s", x->k.name, r->left ? "" : "end\n");
    json_t *meta = kernel_meta(dir, e);
    int rc = -1;

    if (meta && x->k.retired) {
        json_object_set_new(meta, "retired_on", json_string(x->k.on));
        json_object_set_new(meta, "retired_why", jsn_of(x->k.why));
        rc = kernel_put_meta(dir, meta, e);
    } else if (meta) {
        json_object_del(meta, "retired_on");
        json_object_del(meta, "retired_why");
        json_object_set_new(meta, "rules", json_integer(VERDICT_RULES));
        rc = kernel_put_meta(dir, meta, e);
    }
    if (rc == 0)
        rc = append(r, line, e);
    json_decref(meta);
    free(line);
    free(dir);
    return rc;
}

int recheck_note(struct recheck *r, size_t i, const char *verdict,
                 const char *evidence, const char *why, struct err *e)
{
    struct entry *x = &r->entry[i];
    char date[DATE_SIZE];

    date_today(date);
    x->k.done = true;
    x->k.retired = !verdict_may_join(verdict, evidence);
    x->k.on = x->k.retired ? recheck_keep(r, date) : NULL;
    x->k.why =
        x->k.retired ? recheck_keep(r, why && why[0] ? why : verdict) : NULL;
    r->left--;
    return r->store ? note_row(r, x, verdict, evidence, e) : note_file(r, x, e);
}
