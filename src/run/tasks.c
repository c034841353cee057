/* tasks.c: the tasks of a run: from their files when it begins, from its store
 * when it is continued. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "run/run_int.h"
#include "source/define.h"

#include <stdlib.h>
#include <string.h>

/* ---- from files ---- */

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct task *const *)a)->id,
                  (*(struct task *const *)b)->id);
}

/* The order of the run is fixed by the ids and the seed, not by how the tasks
 * were named. */
static void shuffle_tasks(struct run *r)
{
    size_t n = r->tasks.len, *index = xmalloc((n + 1) * sizeof(*index));
    struct task **task = xmalloc((n + 1) * sizeof(struct task *));
    struct rng rng;

    qsort(r->tasks.task, n, sizeof(struct task *), by_id);
    for (size_t i = 0; i < n; i++)
        index[i] = i;
    rng_init(&rng, "%lld/order", (long long)r->set->seed);
    rng_shuffle(&rng, index, n);
    for (size_t i = 0; i < n; i++)
        task[i] = r->tasks.task[index[i]];
    memcpy(r->tasks.task, task, n * sizeof(*task));
    free(task);
    free(index);
}

int run_tasks_load(struct run *r, struct err *e)
{
    char *own = fs_join(r->home.dir, "tasks");
    int rc = collection_add(&r->tasks, r->set->tasks.item, r->set->tasks.len,
                            own, e);

    free(own);
    if (rc < 0 || collection_report(&r->tasks, r->set->strict, e) < 0)
        return -1;
    if (r->tasks.len == 0)
        return err_set(e, ERR_INPUT,
                       "--tasks: no task found; a task is a Python file with "
                       "Model, get_inputs and get_init_inputs");
    if (define_tasks(&r->tasks, &r->set->define, e) < 0)
        return -1;
    shuffle_tasks(r);
    r->originals = r->tasks.len;
    return run_pieces_load(r, r->set->curriculum_from.item,
                           r->set->curriculum_from.len, e);
}

/* ---- from the store ---- */

struct recalling {
    struct run *r;
    struct err *e;
};

static void sidecar_name(const char *id, struct buf *out)
{
    buf_init(out, BUF_UNLIMITED);
    buf_printf(out, "sidecar/%s", id);
}

void run_tasks_keep(struct run *r)
{
    struct buf name;
    char *text;

    for (size_t i = 0; i < r->tasks.len; i++) {
        const struct task *t = r->tasks.task[i];

        if (!t->sidecar)
            continue;
        sidecar_name(t->id, &name);
        text = json_dumps(t->sidecar, JSON_COMPACT);
        store_set(r->store, buf_str(&name), text);
        free(text);
        buf_release(&name);
    }
}

/* Older runs did not keep it: then the one beside the file counts. */
static void read_sidecar(struct task *t)
{
    struct err ignored = ERR_INIT;
    struct task *file =
        fs_is_file(t->path) ? task_load(t->path, &ignored) : NULL;

    if (!file)
        return;
    t->sidecar = json_incref(file->sidecar);
    task_free(file);
}

static int recall_sidecar(struct run *r, struct task *t, struct err *e)
{
    struct buf name, text;
    int rc;

    sidecar_name(t->id, &name);
    buf_init(&text, BUF_UNLIMITED);
    rc = store_get(r->store, buf_str(&name), &text, e);
    if (rc == 1) {
        t->sidecar = jsn_parse(buf_str(&name), buf_str(&text), text.len, e);
        rc = t->sidecar ? 0 : -1;
    } else if (rc == 0) {
        read_sidecar(t);
    }
    buf_release(&text);
    buf_release(&name);
    return rc;
}

/* Its file may have been changed or removed since the run began. */
static struct task *recall_task(struct run *r, const struct row_task *row,
                                const char *path, struct err *e)
{
    struct task *t = NULL;
    struct buf text;

    buf_init(&text, BUF_UNLIMITED);
    if (store_read_blob(r->store, row->source, &text, e) == 0)
        t = task_from(path, (struct str){buf_str(&text), text.len}, e);
    buf_release(&text);
    if (!t)
        return NULL;
    free(t->id);
    t->id = xstrdup(row->id);
    if (recall_sidecar(r, t, e) == 0)
        return t;
    task_free(t);
    return NULL;
}

/* run.ini names the tasks in the same order, but no pieces. */
static int on_task(const struct row_task *row, void *arg)
{
    struct recalling *c = arg;
    struct run *r = c->r;
    const struct opt_list *path = &r->set->tasks;
    struct task *t = recall_task(
        r, row, r->known < path->len ? path->item[r->known] : row->path, c->e);

    if (!t)
        return -1;
    r->tasks.task = xgrow(r->tasks.task, &r->tasks.cap, r->tasks.len,
                          sizeof(*r->tasks.task));
    r->tasks.task[r->tasks.len++] = t;
    r->originals += !row->kind;
    r->known++;
    return 0;
}

/* Tasks and pieces are stored one after the other; it may have ended in
 * between. How many pieces there are is stored before. */
static int all_are_known(struct run *r, struct err *e)
{
    const struct run_settings *s = r->set;
    int64_t pieces = 0;
    struct buf text;
    int rc;

    buf_init(&text, BUF_UNLIMITED);
    rc = store_get(r->store, "pieces", &text, e);
    if (rc == 1)
        str_to_i64(str_of(buf_str(&text)), 0, INT64_MAX, &pieces);
    buf_release(&text);
    if (rc < 0)
        return -1;
    return r->originals >= s->tasks.len &&
           (rc == 1 || !(s->curriculum || s->curriculum_from.len)) &&
           r->known - r->originals == (size_t)pieces;
}

int run_tasks_recall(struct run *r, struct err *e)
{
    struct recalling c = {r, e};
    int rc;

    if (store_each_task(r->store, on_task, &c, e) != 0)
        return -1;
    rc = all_are_known(r, e);
    r->complete = rc == 1;
    if (rc != 0)
        return rc < 0 ? -1 : run_pieces_recall(r, e);
    collection_release(&r->tasks); /* ended before it began */
    return run_tasks_load(r, e);
}
