/* examples.c: the examples that a run begins with. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_int.h"
#include "store/pg.h"
#include "verify/verdict.h"

#include <stdlib.h>
#include <string.h>

void run_examples_add(struct run *r, const struct kernel *k, const char *origin)
{
    size_t n = r->kernel_len++;

    r->kernel = xgrow(r->kernel, &r->kernel_cap, n, sizeof(*r->kernel));
    r->origin = xgrow(r->origin, &r->origin_cap, n, sizeof(*r->origin));
    r->kernel[n] = *k;
    r->origin[n] = origin;
}

/* ---- from folders ---- */

struct taking {
    struct run *r;
    size_t retired, older;
};

static int take_kernel(struct kernel *k, void *arg, struct err *e)
{
    struct taking *t = arg;
    struct run *r = t->r;

    if (kernel_is_retired(k)) {
        t->retired++;
        return 0;
    }
    if (kernel_is_older(k)) {
        t->older++;
        return 0;
    }
    if (k->dsl[0] && strcmp(k->dsl, r->pack->id) != 0)
        return err_set(e, ERR_INPUT,
                       "%s was written for the pack %s, not for %s", k->name,
                       k->dsl, r->pack->id);
    run_examples_add(r, k, "archive");
    *k = (struct kernel){0};
    return 0;
}

static int load_archive(struct run *r, const char *dir, struct err *e)
{
    size_t before = r->kernel_len;
    struct taking t = {.r = r};

    if (kernel_each(dir, take_kernel, &t, e) != 0)
        return -1;
    if (t.older)
        log_warn("%s: %zu kernel%s judged by older rules of truth %s left out; "
                 "'monkeys archive reverify %s' judges %s again",
                 dir, t.older, t.older == 1 ? "" : "s",
                 t.older == 1 ? "is" : "are", dir,
                 t.older == 1 ? "it" : "them");
    if (r->kernel_len == before && t.older)
        return err_set(e, ERR_INPUT, "no kernel is left");
    if (r->kernel_len == before && t.retired)
        return err_set(e, ERR_INPUT,
                       "all %zu kernels are retired; 'monkeys archive list %s' "
                       "says why",
                       t.retired, dir);
    if (r->kernel_len == before)
        return err_set(e, ERR_INPUT,
                       "no kernel found; 'monkeys archive export' makes an "
                       "archive from a run");
    return 0;
}

int run_examples_load(struct run *r, struct err *e)
{
    struct kernel k;

    for (size_t i = 0;
         i < r->pack->seed_count && i < (size_t)r->set->pack_seeds; i++) {
        if (kernel_read(r->pack->seed[i].dir, &k, e) < 0)
            return -1;
        run_examples_add(r, &k, "seed");
    }
    for (size_t i = 0; i < r->set->archive.len; i++)
        if (!pg_is_address(r->set->archive.item[i]) &&
            load_archive(r, r->set->archive.item[i], e) < 0)
            return err_wrap(e, "--archive %s", r->set->archive.item[i]);
    if (r->shared_address && run_share_load(r, e) < 0)
        return err_wrap(e, "--archive");
    return 0;
}

/* ---- from the store ---- */

struct recalling {
    struct run *r;
    struct err *e;
};

static int read_text(struct recalling *c, const char *blob, struct str *out)
{
    struct buf b;
    int rc;

    buf_init(&b, BUF_UNLIMITED);
    rc = store_read_blob(c->r->store, blob, &b, c->e);
    if (rc == 0)
        *out = (struct str){xstrndup(buf_str(&b), b.len), b.len};
    buf_release(&b);
    return rc;
}

static int on_entry(const struct row_entry *row, void *arg)
{
    struct recalling *c = arg;
    struct kernel k = {.name = xstrdup(row->name)};
    struct str problem = {0};

    if (strcmp(row->origin, "run") != 0 &&
        strcmp(row->origin, "shared") != 0 && /* the search has them */
        read_text(c, row->problem, &problem) == 0 &&
        read_text(c, row->solution, &k.solution) == 0 &&
        (!row->plan || read_text(c, row->plan, &k.plan) == 0))
        k.task = task_from(row->name, problem, c->e);
    free((char *)problem.p);
    if (k.task) {
        k.verified = row->evidence != NULL;
        k.rules = VERDICT_RULES;
        run_examples_add(c->r, &k, arena_strdup(&c->r->memory, row->origin));
        return 0;
    }
    kernel_release(&k);
    return c->e->kind == ERR_NONE ? 0 : -1;
}

int run_examples_recall(struct run *r, struct err *e)
{
    struct recalling c = {.r = r, .e = e};

    if (run_share_recall(r, e) < 0)
        return -1;
    if (r->known < r->tasks.len) /* ended before it began */
        return run_examples_load(r, e);
    return store_each_entry(r->store, on_entry, &c, e);
}
