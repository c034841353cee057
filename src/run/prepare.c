/* prepare.c: from options to what a run needs; nothing is written yet. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int parse_phases(const struct run_settings *s, int64_t phase[3],
                        struct err *e)
{
    struct str rest = str_of(s->phases ? s->phases : ""), part;
    int64_t sum = 0;

    if (!s->phases) {
        phase[0] = s->attempts / 5;
        phase[1] = (s->attempts - phase[0]) / 2;
        phase[2] = s->attempts - phase[0] - phase[1];
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        bool more = str_cut(&rest, ',', &part);

        if (more == (i == 2) || !str_to_i64(str_trim(more ? part : rest), 0,
                                            s->attempts, &phase[i]))
            return err_set(e, ERR_USAGE,
                           "--phases: '%s' is not three numbers such as "
                           "5,10,10",
                           s->phases);
        sum += phase[i];
    }
    if (sum != s->attempts)
        return err_set(
            e, ERR_USAGE,
            "--phases: %s add up to %lld attempts, but --attempts is %lld",
            s->phases, (long long)sum, (long long)s->attempts);
    return 0;
}

static int parse_threshold(const struct run_settings *s, double *out,
                           struct err *e)
{
    int64_t micro;

    if (!str_to_fixed(str_of(s->threshold), 6, &micro) || micro > 1000000)
        return err_set(e, ERR_USAGE,
                       "--reviewer-threshold: '%s' is not a number from 0 to 1",
                       s->threshold);
    *out = (double)micro / 1e6;
    return 0;
}

static int fill_options(struct run *r, struct err *e)
{
    const struct run_settings *s = r->set;

    r->opt = (struct search_opts){.method = s->method,
                                  .retrieval = s->retrieval,
                                  .order = s->order,
                                  .device = s->verify.device,
                                  .seed = s->seed,
                                  .attempts = s->attempts,
                                  .examples = s->examples,
                                  .batch = s->batch,
                                  .slots = s->slots,
                                  .no_stop = s->no_stop,
                                  .no_card = s->no_card,
                                  .no_wait = s->no_wait,
                                  .islands = s->islands,
                                  .history = s->history,
                                  .diff = s->diff,
                                  .refine_after = s->refine_after,
                                  .piece_example = s->piece_example,
                                  .reviewer = s->reviewer};
    r->opt.precision = verifying_precision(&s->verify, r->pack, e);
    if (!r->opt.precision || parse_phases(s, r->opt.phase, e) < 0 ||
        parse_threshold(s, &r->opt.threshold, e) < 0)
        return -1;
    r->job = (struct job_opts){.device = s->verify.device,
                               .precision = r->opt.precision,
                               .protocol = s->verify.protocol,
                               /* an interpreter's times say nothing */
                               .timing = !s->verify.no_timing &&
                                         strcmp(s->verify.device, "cpu") != 0,
                               .call_ms = s->verify.call_s * 1000};
    return 0;
}

/* ---- together ---- */

static int apply_sets(struct run_settings *s, struct err *e)
{
    struct str rest, name;

    for (size_t i = 0; i < s->set.len; i++) {
        char *word;
        int rc;

        rest = str_of(s->set.item[i]);
        if (!str_cut(&rest, '=', &name))
            return err_set(e, ERR_USAGE, "--set %s: give NAME=VALUE",
                           s->set.item[i]);
        word = xstrndup(name.p, name.n);
        rc = opt_set(run_table, s, word, rest.p, e);
        free(word);
        if (rc < 0)
            return err_wrap(e, "--set");
    }
    return 0;
}

static int open_model(struct run *r, struct err *e)
{
    struct modeling_values m = r->set->model;

    if (r->set->dry_run) { /* sends nothing, so it needs neither cap nor key */
        m.no_cap = true;
        m.budget_usd = NULL;
    }
    if (modeling_read(&m, &r->model, e) < 0)
        return -1;
    r->model.opts.dry = r->set->dry_run;
    return modeling_open(&m, &r->model, r->loop, r->home.dir, e);
}

int run_prepare(struct run *r, struct err *e)
{
    struct run_settings *s = r->set;
    char *dir;

    arena_init(&r->memory);
    if (!s->model.temperature) /* every method samples at 1 */
        s->model.temperature = "1";
    if (apply_sets(s, e) < 0 || verifying_choose_device(&s->verify, e) < 0)
        return -1;
    if (!s->dsl)
        return err_set(
            e, ERR_USAGE,
            "--dsl ID is missing; 'monkeys pack list' lists the packs");
    if (s->tasks.len == 0)
        return err_set(e, ERR_USAGE,
                       "--tasks PATH is missing; try 'starter', the collection "
                       "that comes with the program");
    if (strcmp(s->embeddings, "hash") != 0 && !s->embedding_model)
        return err_set(e, ERR_USAGE,
                       "--embeddings URL needs --embedding-model NAME");
    if (run_pieces_check(s, e) < 0 || run_share_find(r, e) < 0 ||
        home_find(&r->home, e) < 0)
        return -1;
    packs_path_init(&r->path, &s->verify.packs, &r->home);
    r->pack = packs_load(&r->path, s->dsl, e);
    if (!r->pack || pack_can_search(r->pack, e) < 0 || fill_options(r, e) < 0 ||
        (!r->resume &&
         (run_tasks_load(r, e) < 0 || run_examples_load(r, e) < 0)))
        return -1;
    dir = fs_join(r->home.dir, "prompts");
    r->prompts = prompts_load(s->prompts ? s->prompts : dir, e);
    free(dir);
    if (r->prompts && s->guide)
        prompts_use_guide(r->prompts, s->guide);
    if (!r->prompts || !(r->loop = loop_new(e)) || open_model(r, e) < 0)
        return -1;
    return run_vectors_open(r, e);
}

void run_unprepare(struct run *r)
{
    for (size_t i = 0; i < r->kernel_len; i++)
        kernel_release(&r->kernel[i]);
    free(r->kernel);
    free(r->origin);
    free(r->vectors);
    if (r->embed)
        embed_free(r->embed);
    if (r->prompts)
        prompts_free(r->prompts);
    collection_release(&r->tasks);
    if (r->pack)
        pack_free(r->pack);
    packs_path_release(&r->path);
    home_release(&r->home);
    arena_release(&r->memory);
}
