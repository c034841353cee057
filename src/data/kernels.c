/* kernels.c: an archive with verdicts and an index. */
#include "data/kernels.h"

#include "base/fs.h"
#include "base/mem.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdlib.h>

struct listing {
    struct fs_fresh dir;
    struct archives_copied *count;
    struct map known; /* tasks, by hash */
    struct buf index;
    struct arena memory;
    struct store *store; /* of the run */
    const json_t *row;   /* of the kernel: see run/kernels.sql */
};

static void put_ms(struct buf *out, double ms)
{
    if (ms > 0)
        buf_printf(out, " %.4g ms |", ms);
    else
        buf_puts(out, " |");
}

static void put_line(struct listing *l, const struct kernel *k,
                     const char *name, const json_t *record)
{
    double speedup = verdict_speedup(record, "reference_ms");

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

static int write_kernel(struct kernel *k, void *arg, struct err *e)
{
    struct listing *l = arg;
    struct kernel copy = *k;
    struct str source = {k->task->source, k->task->len};
    const char *hash = jsn_maybe(l->row, "record");
    json_t *record = NULL;
    char *name;
    int rc;

    if (kernel_is_retired(k)) {
        l->count->retired++;
        return 0;
    }
    if (map_get(&l->known, str_of(k->task->hash))) {
        l->count->known++;
        return 0;
    }
    map_set(&l->known, str_of(k->task->hash), l);
    if (hash &&
        !(record = store_record(l->store, hash, jsn_str(l->row, "times"), e)))
        return -1;
    name = kernel_free_name(l->dir.dir, k->name);
    copy.name = name;
    rc = kernel_write(l->dir.dir, &copy, source, e);
    if (rc == 0 && record) {
        char *path = xasprintf("%s/%s/verdict.json", l->dir.dir, name);

        rc = jsn_write(path, record, JSON_INDENT(2), e);
        free(path);
    }
    if (rc == 0)
        put_line(l, k, name, record);
    l->count->written += rc == 0;
    json_decref(record);
    free(name);
    return rc;
}

static int write_kernel_row(struct store *s, const json_t *row, void *arg,
                            struct err *e)
{
    struct listing *l = arg;

    l->store = s;
    l->row = row;
    return archives_tell(s, row, write_kernel, l, e);
}

static int write_index(struct listing *l, struct err *e)
{
    char *path = fs_join(l->dir.dir, "README.md");
    int rc = fs_replace(path, l->index.data, l->index.len, e);

    free(path);
    return rc;
}

int kernels_write(const char *const *run, size_t runs, const char *to,
                  struct archives_copied *out, struct err *e)
{
    struct listing l = {.count = out};
    int rc = fs_fresh_begin(&l.dir, to, false, e);

    *out = (struct archives_copied){0};
    buf_init(&l.index, BUF_UNLIMITED);
    buf_puts(&l.index,
             "# Kernels\n\nVerified kernels; the evidence says how much is "
             "proven. Each folder has `verdict.json`, the verifier's "
             "record.\n\n| name | files | verdict | kernel | eager | speed-up "
             "|\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; rc == 0 && i < runs; i++)
        rc = archives_each_row(run[i], write_kernel_row, &l, e);
    if (rc == 0)
        rc = write_index(&l, e);
    if (rc == 0)
        rc = fs_fresh_end(&l.dir, e);
    fs_fresh_drop(&l.dir);
    map_release(&l.known);
    arena_release(&l.memory);
    buf_release(&l.index);
    return rc;
}
