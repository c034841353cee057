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
    struct run_view *view;
    struct run_attempt *attempt; /* that wrote the kernel */
};

static void put_ms(struct buf *out, double ms)
{
    if (ms > 0)
        buf_printf(out, " %.4g ms |", ms);
    else
        buf_puts(out, " |");
}

static int put_line(struct listing *l, const struct kernel *k, const char *name,
                    const json_t *record, struct err *e)
{
    const char *doubt = run_view_doubt(l->view, l->attempt, e);
    double speedup = verdict_speedup(record, "reference_ms");
    const char *evidence = l->attempt->verdict->evidence;

    if (!doubt)
        return -1;
    buf_printf(&l->index,
               "| [%s](%s) | [task](%s/task.py)%s%s%s, [kernel](%s/solution.py)"
               " | %s, %s%s |",
               k->task->id, name, name, k->plan.p ? ", [plan](" : "",
               k->plan.p ? name : "", k->plan.p ? "/plan.md)" : "", name,
               l->attempt->row.verdict, evidence,
               kernel_is_older(k) ? " by older rules of truth" : "");
    put_ms(&l->index, verdict_ms(record, "ms"));
    put_ms(&l->index, verdict_ms(record, "reference_ms"));
    if (!isnan(speedup))
        buf_printf(&l->index, " %.2f%s", speedup,
                   doubt[0] ? " (hard to believe)" : "");
    buf_puts(&l->index, " |\n");
    return 0;
}

static int write_kernel(struct kernel *k, void *arg, struct err *e)
{
    struct listing *l = arg;
    struct kernel copy = *k;
    struct str source = {k->task->source, k->task->len};
    char *name;
    json_t *record;
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
    record = run_view_record(l->view, l->attempt, e);
    if (!record && e->kind != ERR_NONE)
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
        rc = put_line(l, k, name, record, e);
    l->count->written += rc == 0;
    json_decref(record);
    free(name);
    return rc;
}

static int write_run(struct listing *l, const char *run, struct err *e)
{
    struct run_view v;
    int rc = run_view_open(run, &v, e);

    if (rc < 0)
        return -1;
    l->view = &v;
    for (size_t i = 0; rc == 0 && i < v.all; i++) {
        const struct run_attempt *a = archives_kernel_of(&v, &v.task[i]);

        if (!a)
            continue;
        l->attempt = run_view_attempt(&v.task[i], a->row.attempt);
        rc = archives_tell(&v, &v.task[i], a, write_kernel, l, e);
    }
    l->view = NULL;
    run_view_close(&v);
    return rc;
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
        rc = write_run(&l, run[i], e);
    if (rc == 0)
        rc = write_index(&l, e);
    if (rc == 0)
        rc = fs_fresh_end(&l.dir, e);
    fs_fresh_drop(&l.dir);
    map_release(&l.known);
    buf_release(&l.index);
    return rc;
}
