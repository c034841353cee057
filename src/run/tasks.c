/* tasks.c: what a run begins with: its tasks, its examples, and their vectors. They come
 * from files when the run begins, and from its store when it is continued: the files may
 * have been changed or removed since, and another task or example would make it another
 * run. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "llm/llm.h"
#include "run/archives.h"
#include "run/parts.h"
#include "search/embed.h"
#include "source/task.h"
#include "store/pg.h"
#include "verify/verdict.h"

#include <stdlib.h>
#include <string.h>

/* ---- tasks from files ---- */

static int by_task_id(const void *a, const void *b)
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

    qsort(r->tasks.task, n, sizeof(struct task *), by_task_id);
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

/* ---- tasks from the store ---- */

void run_tasks_keep(struct run *r)
{
    for (size_t i = 0; i < r->tasks.len; i++) {
        const struct task *t = r->tasks.task[i];
        char *name, *text;

        if (!t->sidecar)
            continue;
        name = xasprintf("sidecar/%s", t->id);
        text = json_dumps(t->sidecar, JSON_COMPACT);
        store_set(r->store, name, text);
        free(text);
        free(name);
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

/* run.ini names the tasks in the same order, but no pieces. */
static int recall_row(struct run *r, const struct row_task *row, struct err *e)
{
    const struct opt_list *path = &r->set->tasks;
    struct task *t = archives_recall(
        r->store, row->id, row->source,
        r->known < path->len ? path->item[r->known] : row->path, e);

    if (!t)
        return -1;
    if (!t->sidecar)
        read_sidecar(t);
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
    struct buf text = BUF_INIT;
    int rc;

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
    struct store_list l = {0};
    struct arena memory = {0};
    int rc;

    rc = store_list(r->store, STORE_TASKS, STORE_ALL, &l, &memory, e);
    for (size_t i = 0; rc == 0 && i < l.len; i++)
        rc = recall_row(r, (const struct row_task *)l.row + i, e);
    if (rc == 0)
        rc = all_are_known(r, e);
    r->complete = rc == 1;
    if (rc == 1)
        rc = run_pieces_recall(r, l.row, e);
    else if (rc == 0) { /* ended before it began */
        collection_release(&r->tasks);
        rc = run_tasks_load(r, e);
    }
    free(l.row);
    arena_release(&memory);
    return rc;
}

void run_examples_add(struct run *r, const struct kernel *k, const char *origin)
{
    size_t n = r->kernel_len++;

    r->kernel = xgrow(r->kernel, &r->kernel_cap, n, sizeof(*r->kernel));
    r->origin = xgrow(r->origin, &r->origin_cap, n, sizeof(*r->origin));
    r->kernel[n] = *k;
    r->origin[n] = origin;
}

/* ---- examples from folders ---- */

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

/* ---- examples from the store ---- */

/* The kernel owns its texts. */
static int recall_text(struct run *r, const char *blob, struct str *out,
                       struct err *e)
{
    struct buf b = BUF_INIT;
    int rc;

    if (!blob)
        return 0;
    rc = store_read_blob(r->store, blob, &b, e);
    if (rc == 0)
        *out = (struct str){xstrndup(buf_str(&b), b.len), b.len};
    buf_release(&b);
    return rc;
}

static int recall_entry(struct run *r, const struct row_entry *row,
                        struct err *e)
{
    struct kernel k = {.name = xstrdup(row->name),
                       .verified = row->evidence != NULL,
                       .rules = VERDICT_RULES};
    struct str problem = {0};

    if (recall_text(r, row->problem, &problem, e) == 0 &&
        recall_text(r, row->solution, &k.solution, e) == 0 &&
        recall_text(r, row->plan, &k.plan, e) == 0)
        k.task = task_from(row->name, problem, e);
    free((char *)problem.p);
    if (k.task)
        run_examples_add(r, &k, arena_strdup(&r->memory, row->origin));
    else
        kernel_release(&k);
    return k.task ? 0 : -1;
}

/* Those that came while it went on are the search's. */
int run_examples_recall(struct run *r, struct err *e)
{
    struct store_list l = {0};
    const struct row_entry *x;
    struct arena memory = {0};
    int rc;

    if (run_share_recall(r, e) < 0)
        return -1;
    if (r->known < r->tasks.len) /* ended before it began */
        return run_examples_load(r, e);
    rc = store_list(r->store, STORE_ENTRIES, STORE_ALL, &l, &memory, e);
    x = l.row;
    for (size_t i = 0; rc == 0 && i < l.len; i++)
        if (strcmp(x[i].origin, "run") != 0 &&
            strcmp(x[i].origin, "shared") != 0)
            rc = recall_entry(r, &x[i], e);
    free(l.row);
    arena_release(&memory);
    return rc;
}

/* ---- vectors ---- */

/* The endpoint has a price of its own: --price is the model's. */
static struct llm *open_embeddings(struct run *r, struct err *e)
{
    struct llm_opts o = r->model.opts;

    o.base_url = r->set->embeddings;
    o.model = r->set->embedding_model;
    o.price = NULL;
    return llm_open_embeddings(r->loop, &o, &r->model.budget, r->home.dir, e);
}

int run_vectors_open(struct run *r, struct err *e)
{
    const struct budget *b = &r->model.budget;

    if (strcmp(r->set->embeddings, "hash") == 0)
        return 0;
    if (!r->set->embedding_model)
        return err_set(e, ERR_USAGE,
                       "--embeddings URL needs --embedding-model NAME");
    r->embedder = open_embeddings(r, e);
    if (!r->embedder)
        return err_wrap(e, "--embeddings");
    if (b->cap.usd_micro != BUDGET_NO_CAP && b->cap.tokens == BUDGET_NO_CAP &&
        !llm_has_price(r->embedder))
        return err_set(e, ERR_USAGE,
                       "no price is known for the embeddings of %s, so "
                       "--budget-usd cannot be kept: name the model in a file "
                       "for --prices, or give --budget-tokens N",
                       r->set->embedding_model);
    return 0;
}

int run_vectors(struct run *r, struct run_result *out, struct err *e)
{
    struct vectors_parts p = {.loop = r->loop,
                              .store = r->store,
                              .ledger = r->ledger,
                              .client = r->embedder,
                              .model = r->set->embedding_model,
                              .hurry = &r->hurry};
    size_t n = r->tasks.len + r->kernel_len;
    struct str *text = xcalloc(n + 1, sizeof(*text));
    struct vectors v;
    int rc;

    for (size_t i = 0; i < n; i++) {
        const struct task *t = i < r->tasks.len
                                   ? r->tasks.task[i]
                                   : r->kernel[i - r->tasks.len].task;

        text[i] = (struct str){t->source, t->len};
    }
    rc = vectors_make(&p, text, n, &v, e);
    r->vectors = v.v;
    r->dim = v.dim;
    r->embed = v.embed;
    out->need = v.need;
    free(text);
    return rc;
}
