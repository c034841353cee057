/* archives.c: reads and copies the kernels of runs and archives. */
#include "run/archives.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/query.h"
#include "run/shared.h"
#include "store/pg.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdlib.h>

typedef int kernel_fn(struct kernel *k, void *arg, struct err *e);
typedef int archives_row_fn(struct store *s, const json_t *row, void *arg,
                            struct err *e);

/* ---- a run ---- */

/* The sidecar that the run has kept; NULL also if there was none. */
static int recall_sidecar(struct store *s, struct task *t, struct err *e)
{
    char *name = xasprintf("sidecar/%s", t->id);
    struct buf text;
    int rc;

    buf_init(&text, BUF_UNLIMITED);
    rc = store_get(s, name, &text, e);
    if (rc == 1)
        t->sidecar = jsn_parse(name, buf_str(&text), text.len, e);
    buf_release(&text);
    free(name);
    return rc < 0 || (rc == 1 && !t->sidecar) ? -1 : 0;
}

struct task *archives_recall(struct store *s, const char *id,
                             const char *source, const char *path,
                             struct err *e)
{
    struct task *t = NULL;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (store_read_blob(s, source, &b, e) == 0)
        t = task_from(path, (struct str){buf_str(&b), b.len}, e);
    buf_release(&b);
    if (!t)
        return NULL;
    free(t->id); /* a path may be seen from elsewhere */
    t->id = xstrdup(id);
    if (recall_sidecar(s, t, e) == 0)
        return t;
    task_free(t);
    return NULL;
}

struct task *archives_task(struct store *s, const json_t *row, struct err *e)
{
    return archives_recall(s, jsn_str(row, "id"), jsn_str(row, "source"),
                           jsn_maybe(row, "path"), e);
}

/* The texts of a kernel, and what the judge measured. */
static int kernel_texts(struct store *s, const json_t *row,
                        struct arena *memory, struct kernel *k, struct err *e)
{
    const char *hash = jsn_maybe(row, "record");
    json_t *record;

    k->solution = STR_LIT("");
    k->ported_why = "";
    if (store_text(s, jsn_str(row, "code"), memory, &k->solution, e) < 0 ||
        store_text(s, jsn_str(row, "plan"), memory, &k->plan, e) < 0)
        return -1;
    if (!hash)
        return 0;
    record = store_record(s, hash, jsn_str(row, "times"), e);
    if (!record)
        return -1;
    if (*jsn_str(record, "ported"))
        k->ported = str_of(arena_strdup(memory, jsn_str(record, "ported")));
    k->ported_why = arena_strdup(memory, jsn_str(record, "ported_why"));
    k->judged = kernel_judged(record);
    json_decref(record);
    return 0;
}

/* Calls `fn` with the kernel of a row, and returns what `fn` returns. */
static int archives_tell(struct store *s, const json_t *row, kernel_fn *fn,
                         void *arg, struct err *e)
{
    struct kernel_finding f = {.method = jsn_str(row, "method"),
                               .model = jsn_str(row, "model"),
                               .device = jsn_str(row, "device"),
                               .precision = jsn_str(row, "precision"),
                               .dsl = jsn_str(row, "dsl"),
                               .attempt = jsn_int(row, "attempt")};
    struct kernel k = {.rules = jsn_int(row, "rules"),
                       .retired_on = jsn_maybe(row, "retired_on"),
                       .retired_why = jsn_maybe(row, "retired_why"),
                       .piece = json_object_get(row, "piece"),
                       .task = archives_task(s, row, e)};
    struct arena texts = {0};
    int rc = -1;

    kernel_found(&k, &texts, jsn_str(row, "id"), &f);
    if (k.task && kernel_texts(s, row, &texts, &k, e) == 0)
        rc = fn(&k, arg, e);
    task_free(k.task);
    json_decref(k.judged);
    arena_release(&texts);
    return rc;
}

static int archives_each_row(const char *dir, archives_row_fn *fn, void *arg,
                             struct err *e)
{
    struct store *s = query_open(dir, e);
    json_t *rows = s ? query_list(s, "run/kernels", NULL, e) : NULL, *row;
    int rc = rows ? 0 : -1;
    size_t i;

    json_array_foreach(rows, i, row) if (rc == 0 && jsn_int(row, "attempt"))
        rc = fn(s, row, arg, e);
    json_decref(rows);
    query_close(s);
    return rc;
}

struct row_telling {
    kernel_fn *fn;
    void *arg;
};

static int tell_row(struct store *s, const json_t *row, void *arg,
                    struct err *e)
{
    struct row_telling *t = arg;

    return archives_tell(s, row, t->fn, t->arg, e);
}

static int each_of_run(const char *dir, kernel_fn *fn, void *arg, struct err *e)
{
    return archives_each_row(dir, tell_row, &(struct row_telling){fn, arg}, e);
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
    char *name;       /* in the folder, of the kernel that was written last */
    struct archives_copied *count;
};

/* Both: 1 when it was written, 0 when the task is known. */
static int copy_to_folder(struct copying *c, const struct kernel *k,
                          struct err *e)
{
    struct kernel copy = *k;
    char *plain;
    int rc;

    if (map_get(&c->known, str_of(k->task->hash)))
        return 0;
    plain = kernel_name(k->name); /* a seed's begins with a digit */
    free(c->name);
    copy.name = c->name = kernel_free_name(c->to, plain);
    rc = kernel_write(c->to, &copy, (struct str){k->task->source, k->task->len},
                      e);
    free(plain);
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
    free(c.name);
    return rc;
}

/* ---- copying for reading: an archive with verdicts and an index ---- */

struct listing {
    struct copying copy;
    struct buf index;
    struct arena memory;
    struct store *store; /* of the run */
    const json_t *row;   /* of the kernel */
};

static void put_ms(struct buf *out, double ms)
{
    if (ms > 0)
        buf_printf(out, " %.4g ms |", ms);
    else
        buf_puts(out, " |");
}

static void list_kernel(struct listing *l, const struct kernel *k,
                        const json_t *record)
{
    double speedup = verdict_speedup(record, "reference_ms");
    const char *name = l->copy.name;

    buf_printf(&l->index,
               "| [%s](%s) | [task](%s/task.py)%s%s%s, [kernel](%s/solution.py)"
               " | correct, %s%s |",
               k->task->id, name, name, k->plan.p ? ", [plan](" : "",
               k->plan.p ? name : "", k->plan.p ? "/plan.md)" : "", name,
               jsn_str(l->row, "evidence"),
               kernel_is_older(k) ? " by older rules of truth" : "");
    put_ms(&l->index, verdict_ms(record, "ms"));
    put_ms(&l->index, verdict_ms(record, "reference_ms"));
    if (!isnan(speedup))
        buf_printf(&l->index, " %.2f%s", speedup,
                   plausible_doubt(record, &l->memory) ? " (hard to believe)"
                                                       : "");
    buf_puts(&l->index, " |\n");
}

static int copy_and_list(struct kernel *k, void *arg, struct err *e)
{
    struct listing *l = arg;
    const char *hash = jsn_maybe(l->row, "record");
    size_t before = l->copy.count->written;
    json_t *record = NULL;
    char *path;
    int rc = copy_one(k, &l->copy, e);

    if (rc < 0 || l->copy.count->written == before)
        return rc;
    if (hash &&
        !(record = store_record(l->store, hash, jsn_str(l->row, "times"), e)))
        return -1;
    path = xasprintf("%s/%s/verdict.json", l->copy.to, l->copy.name);
    if (record)
        rc = jsn_write(path, record, JSON_INDENT(2), e);
    list_kernel(l, k, record);
    json_decref(record);
    free(path);
    return rc;
}

static int copy_listed_row(struct store *s, const json_t *row, void *arg,
                           struct err *e)
{
    struct listing *l = arg;

    l->store = s;
    l->row = row;
    return archives_tell(s, row, copy_and_list, l, e);
}

int archives_list(const char *const *run, size_t runs, const char *to,
                  struct archives_copied *out, struct err *e)
{
    struct listing l = {.copy = {.count = out, .from_shared = true}};
    struct fs_fresh dir;
    int rc = fs_fresh_begin(&dir, to, false, e);
    char *path = NULL;

    *out = (struct archives_copied){0};
    l.copy.to = dir.dir;
    buf_init(&l.index, BUF_UNLIMITED);
    buf_puts(&l.index,
             "# Kernels\n\nVerified kernels; the evidence says how much is "
             "proven. Each folder has `verdict.json`, the verifier's "
             "record.\n\n| name | files | verdict | kernel | eager | speed-up "
             "|\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; rc == 0 && i < runs; i++)
        rc = archives_each_row(run[i], copy_listed_row, &l, e);
    if (rc == 0) {
        path = fs_join(dir.dir, "README.md");
        rc = fs_replace(path, l.index.data, l.index.len, e);
    }
    if (rc == 0)
        rc = fs_fresh_end(&dir, e);
    fs_fresh_drop(&dir);
    map_release(&l.copy.known);
    arena_release(&l.memory);
    buf_release(&l.index);
    free(l.copy.name);
    free(path);
    return rc;
}
