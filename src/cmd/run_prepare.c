/* run_prepare.c: from options to what a run needs; nothing is written yet. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cmd/run_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int parse_phases(const struct run_values *v, int64_t phase[3],
                        struct err *e)
{
    struct str rest = str_of(v->phases ? v->phases : ""), part;
    int64_t sum = 0;

    if (!v->phases) {
        phase[0] = v->attempts / 5;
        phase[1] = (v->attempts - phase[0]) / 2;
        phase[2] = v->attempts - phase[0] - phase[1];
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        bool more = str_cut(&rest, ',', &part);

        if (more == (i == 2) || !str_to_i64(str_trim(more ? part : rest), 0,
                                            v->attempts, &phase[i]))
            return err_set(e, ERR_USAGE,
                           "--phases: '%s' is not three numbers such as "
                           "5,10,10",
                           v->phases);
        sum += phase[i];
    }
    if (sum != v->attempts)
        return err_set(e, ERR_USAGE,
                       "--phases: %s are %lld attempts, --attempts says %lld",
                       v->phases, (long long)sum, (long long)v->attempts);
    return 0;
}

static int parse_threshold(const struct run_values *v, double *out,
                           struct err *e)
{
    int64_t micro;

    if (!str_to_fixed(str_of(v->threshold), 6, &micro) || micro > 1000000)
        return err_set(e, ERR_USAGE,
                       "--reviewer-threshold: '%s' is not from 0 to 1",
                       v->threshold);
    *out = (double)micro / 1e6;
    return 0;
}

static int fill_options(struct running *r, struct err *e)
{
    const struct run_values *v = r->v;

    r->opt = (struct search_opts){.method = v->method,
                                  .retrieval = v->retrieval,
                                  .order = v->order,
                                  .device = v->v.device,
                                  .seed = v->seed,
                                  .attempts = v->attempts,
                                  .examples = v->examples,
                                  .batch = v->batch,
                                  .slots = v->slots,
                                  .no_stop = v->no_stop,
                                  .no_card = v->no_card,
                                  .no_wait = v->no_wait,
                                  .islands = v->islands,
                                  .history = v->history,
                                  .diff = v->diff,
                                  .reviewer = v->reviewer};
    r->opt.precision = verifying_precision(&v->v, r->pack, e);
    if (!r->opt.precision || parse_phases(v, r->opt.phase, e) < 0 ||
        parse_threshold(v, &r->opt.threshold, e) < 0)
        return -1;
    r->job = (struct job_opts){.device = v->v.device,
                               .precision = r->opt.precision,
                               .protocol = v->v.protocol,
                               /* an interpreter's times say nothing */
                               .timing = !v->v.no_timing &&
                                         strcmp(v->v.device, "cpu") != 0,
                               .call_ms = v->v.call_s * 1000};
    return 0;
}

/* ---- tasks, pack, examples ---- */

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct task *const *)a)->id,
                  (*(struct task *const *)b)->id);
}

/* The order of the run is fixed by the ids and the seed, not by how the tasks
 * were named. */
static void shuffle_tasks(struct running *r)
{
    size_t n = r->tasks.len, *index = xmalloc((n + 1) * sizeof(*index));
    struct task **task = xmalloc((n + 1) * sizeof(struct task *));
    struct rng rng;

    qsort(r->tasks.task, n, sizeof(struct task *), by_id);
    for (size_t i = 0; i < n; i++)
        index[i] = i;
    rng_init(&rng, "%lld/order", (long long)r->v->seed);
    rng_shuffle(&rng, index, n);
    for (size_t i = 0; i < n; i++)
        task[i] = r->tasks.task[index[i]];
    memcpy(r->tasks.task, task, n * sizeof(*task));
    free(task);
    free(index);
}

static int load_tasks(struct running *r, struct err *e)
{
    char *own = fs_join(r->home.dir, "tasks");
    int rc =
        collection_add(&r->tasks, r->v->tasks.item, r->v->tasks.len, own, e);

    free(own);
    if (rc < 0)
        return -1;
    if (r->tasks.len == 0)
        return err_set(e, ERR_INPUT,
                       "--tasks: no task there; a task is a Python file with "
                       "Model, get_inputs and get_init_inputs");
    shuffle_tasks(r);
    return 0;
}

static int apply_sets(struct run_values *v, struct err *e)
{
    struct str rest, name;

    for (size_t i = 0; i < v->set.len; i++) {
        char *word;
        int rc;

        rest = str_of(v->set.item[i]);
        if (!str_cut(&rest, '=', &name))
            return err_set(e, ERR_USAGE, "--set %s: NAME=VALUE is needed",
                           v->set.item[i]);
        word = xstrndup(name.p, name.n);
        rc = opt_set(run_table, v, word, rest.p, e);
        free(word);
        if (rc < 0)
            return err_wrap(e, "--set");
    }
    return 0;
}

int run_prepare(struct running *r, struct err *e)
{
    struct run_values *v = r->v;
    char *dir;

    if (apply_sets(v, e) < 0 || verifying_choose_device(&v->v, e) < 0)
        return -1;
    if (!v->dsl)
        return err_set(e, ERR_USAGE,
                       "--dsl ID is missing; 'monkeys pack list' shows them");
    if (v->tasks.len == 0)
        return err_set(e, ERR_USAGE,
                       "--tasks PATH is missing; 'starter' is the collection "
                       "that comes with the program");
    if (strcmp(v->embeddings, "hash") != 0 && !v->embedding_model)
        return err_set(e, ERR_USAGE,
                       "--embeddings URL needs --embedding-model NAME");
    if (home_find(&r->home, e) < 0)
        return -1;
    packs_path_init(&r->path, &v->v.packs, &r->home);
    r->pack = packs_load(&r->path, v->dsl, e);
    if (!r->pack || pack_can_search(r->pack, e) < 0 || fill_options(r, e) < 0 ||
        load_tasks(r, e) < 0 || (!r->resume && run_kernels_load(r, e) < 0))
        return -1;
    dir = fs_join(r->home.dir, "prompts");
    r->prompts = prompts_load(dir, e);
    free(dir);
    return r->prompts ? 0 : -1;
}

void run_unprepare(struct running *r)
{
    for (size_t i = 0; i < r->kernel_len; i++)
        kernel_release(&r->kernel[i]);
    free(r->kernel);
    free(r->origin);
    free(r->vectors);
    if (r->prompts)
        prompts_free(r->prompts);
    collection_release(&r->tasks);
    if (r->pack)
        pack_free(r->pack);
    packs_path_release(&r->path);
    home_release(&r->home);
    arena_release(&r->memory);
}
