/* archives.c: kernels of runs and folders under one reading. */
#include "run/archives.h"

#include "base/fs.h"
#include "base/mem.h"
#include "search/archive.h"
#include "store/store.h"
#include "verify/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int kernel_fn(struct kernel *k, void *arg, struct err *e);

/* ---- a run ---- */

struct reading {
    struct store *store;
    kernel_fn *fn;
    void *arg;
    struct err *e;
    char *method, *precision, *device, *model, *dsl;
    struct map done;   /* tasks that have told theirs */
    struct map sealed; /* "task/attempt": the record's blob, char * */
    struct map refused;
    struct row_task *task;
    size_t tasks, task_cap;
};

static char *fact(struct store *s, const char *name)
{
    struct err e = ERR_INIT;
    struct buf b;
    char *text;

    buf_init(&b, BUF_UNLIMITED);
    text = xstrdup(store_get(s, name, &b, &e) == 1 ? buf_str(&b) : "");
    buf_release(&b);
    return text;
}

static int on_task(const struct row_task *r, void *arg)
{
    struct reading *g = arg;

    g->task = xgrow(g->task, &g->task_cap, g->tasks, sizeof(*g->task));
    g->task[g->tasks++] =
        (struct row_task){.id = xstrdup(r->id), .source = xstrdup(r->source)};
    return 0;
}

static void key_of(int64_t task, int64_t attempt, char out[64])
{
    snprintf(out, 64, "%lld/%lld", (long long)task, (long long)attempt);
}

static int on_verdict(const struct row_verdict *r, void *arg)
{
    struct reading *g = arg;
    char key[64];

    if (verdict_may_join(r->verdict, r->evidence)) {
        key_of(r->task, r->attempt, key);
        map_set(&g->sealed, str_of(key), xstrdup(r->record ? r->record : ""));
    }
    return 0;
}

static int on_entry(const struct row_entry *r, int64_t left, void *arg)
{
    struct reading *g = arg;
    char key[64];

    if (left) {
        key_of(r->task, r->attempt, key);
        map_set(&g->refused, str_of(key), g);
    }
    return 0;
}

/* The texts of a kernel. */
struct text {
    struct buf plan, code, ported, ported_why;
};

static void text_init(struct text *t)
{
    buf_init(&t->plan, BUF_UNLIMITED);
    buf_init(&t->code, BUF_UNLIMITED);
    buf_init(&t->ported, BUF_UNLIMITED);
    buf_init(&t->ported_why, BUF_UNLIMITED);
}

static void text_release(struct text *t)
{
    buf_release(&t->plan);
    buf_release(&t->code);
    buf_release(&t->ported);
    buf_release(&t->ported_why);
}

/* The task as a file of its own, since that is what a task is read from. */
static struct task *task_of(struct reading *g, const struct row_task *r)
{
    char dir[] = "/tmp/monkeys-archive-XXXXXX";
    struct task *t = NULL;
    struct buf b;
    char *path;

    if (!mkdtemp(dir)) {
        err_sys(g->e, "%s", dir);
        return NULL;
    }
    buf_init(&b, BUF_UNLIMITED);
    path = fs_join(dir, "task.py");
    if (store_read_blob(g->store, r->source, &b, g->e) == 0 &&
        fs_replace(path, buf_str(&b), b.len, g->e) == 0)
        t = task_load(path, g->e);
    unlink(path);
    rmdir(dir);
    free(path);
    buf_release(&b);
    if (t) {
        free(t->id);
        t->id = xstrdup(r->id);
    }
    return t;
}

static int read_texts(struct reading *g, const struct row_attempt *r,
                      struct text *t)
{
    char key[64];
    const char *record;

    key_of(r->task, r->attempt, key);
    record = map_get(&g->sealed, str_of(key));
    if (store_read_blob(g->store, r->code, &t->code, g->e) < 0 ||
        (r->plan && store_read_blob(g->store, r->plan, &t->plan, g->e) < 0))
        return -1;
    return record[0] ? archive_ported(g->store, record, &t->ported,
                                      &t->ported_why, g->e)
                     : 0;
}

static int tell(struct reading *g, const struct row_attempt *r,
                const struct row_task *row)
{
    struct kernel k = {.licence = "as its task",
                       .dtype = g->precision,
                       .dsl = g->dsl,
                       .verified = true};
    char *name = kernel_name(row->id),
         *origin =
             xasprintf("%s, attempt %lld, %s", g->method, (long long)r->attempt,
                       g->model[0] ? g->model : "a model without a name"),
         *on = xasprintf("%s, %s, evidence E3", g->device, g->precision);
    struct text t;
    int rc = -1;

    text_init(&t);
    k.name = name;
    k.origin = origin;
    k.verified_on = on;
    k.task = task_of(g, row);
    if (k.task && read_texts(g, r, &t) == 0) {
        k.solution = (struct str){buf_str(&t.code), t.code.len};
        if (r->plan)
            k.plan = (struct str){buf_str(&t.plan), t.plan.len};
        if (t.ported.len)
            k.ported = (struct str){buf_str(&t.ported), t.ported.len};
        k.ported_why = buf_str(&t.ported_why);
        rc = g->fn(&k, g->arg, g->e);
    }
    if (k.task)
        task_free(k.task);
    text_release(&t);
    free(name);
    free(origin);
    free(on);
    return rc;
}

static int on_attempt(const struct row_attempt *r, void *arg)
{
    struct reading *g = arg;
    char key[64], task[32];

    key_of(r->task, r->attempt, key);
    snprintf(task, sizeof(task), "%lld", (long long)r->task);
    if (!r->solved || !r->code || !map_get(&g->sealed, str_of(key)) ||
        map_get(&g->refused, str_of(key)) || map_get(&g->done, str_of(task)) ||
        r->task < 0 || (size_t)r->task >= g->tasks)
        return 0;
    map_set(&g->done, str_of(task), g);
    return tell(g, r, &g->task[r->task]);
}

static int each_of_run(const char *file, kernel_fn *fn, void *arg,
                       struct err *e)
{
    struct reading g = {.fn = fn, .arg = arg, .e = e};
    struct err late = ERR_INIT;
    int rc = -1;

    g.store = store_open(file, STORE_READ, NULL, e);
    if (!g.store)
        return -1;
    g.method = fact(g.store, "method");
    g.precision = fact(g.store, "precision");
    g.device = fact(g.store, "device");
    g.model = fact(g.store, "model");
    g.dsl = fact(g.store, "dsl");
    if (store_each_task(g.store, on_task, &g, e) == 0 &&
        store_each_verdict(g.store, on_verdict, &g, e) == 0 &&
        store_each_entry(g.store, on_entry, &g, e) == 0 &&
        store_each_attempt(g.store, on_attempt, &g, e) == 0)
        rc = 0;
    for (size_t i = 0; i < g.tasks; i++) {
        free((char *)g.task[i].id);
        free((char *)g.task[i].source);
    }
    free(g.task);
    free(g.method);
    free(g.precision);
    free(g.device);
    free(g.model);
    free(g.dsl);
    for (size_t i = 0; i < g.sealed.len; i++)
        free(g.sealed.items[i].value);
    map_release(&g.done);
    map_release(&g.sealed);
    map_release(&g.refused);
    store_close(g.store, &late);
    return rc;
}

int archives_each(const char *dir, kernel_fn *fn, void *arg, struct err *e)
{
    char *file = fs_join(dir, "run.db");
    int rc = fs_is_file(file) ? each_of_run(file, fn, arg, e)
                              : kernel_each(dir, fn, arg, e);

    free(file);
    return rc;
}

/* ---- what is there ---- */

static int note_one(struct kernel *k, void *arg, struct err *e)
{
    (void)e;
    archives_add(arg, k->task->hash);
    return 0;
}

int archives_read_known(const char *dir, struct archives_known *k,
                        struct err *e)
{
    map_init(&k->hash);
    return fs_is_dir(dir) ? kernel_each(dir, note_one, k, e) : 0;
}

bool archives_knows(const struct archives_known *k, const char *task_hash)
{
    return map_get(&k->hash, str_of(task_hash)) != NULL;
}

void archives_add(struct archives_known *k, const char *task_hash)
{
    map_set(&k->hash, str_of(task_hash), k);
}

void archives_release_known(struct archives_known *k)
{
    map_release(&k->hash);
}
