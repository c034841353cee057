/* run.c: a run from its settings to its end.
 *
 * Everything that can be wrong is found before anything is written: a folder without a
 * run in it would be in the way of the next try. From the first row on, what is stored
 * counts, and not the files it came from. */
#include "run/run.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "curriculum/maker.h"
#include "run/parts.h"
#include "run/query.h"
#include "search/method.h"
#include "verify/roster.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int run_fill_options(struct run *r, struct err *e)
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

/* ---- what a run needs, from its options ---- */

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

static int run_open_model(struct run *r, struct err *e)
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

static int run_prepare(struct run *r, struct err *e)
{
    struct run_settings *s = r->set;
    char *dir;

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
    if (!r->pack || pack_can_search(r->pack, e) < 0 ||
        run_fill_options(r, e) < 0 ||
        (!r->resume &&
         (run_tasks_load(r, e) < 0 || run_examples_load(r, e) < 0)))
        return -1;
    dir = fs_join(r->home.dir, "prompts");
    r->prompts = prompts_load(s->prompts ? s->prompts : dir, e);
    free(dir);
    if (r->prompts && s->guide)
        prompts_use_guide(r->prompts, s->guide);
    if (!r->prompts || !(r->loop = loop_new(e)) || run_open_model(r, e) < 0)
        return -1;
    return run_vectors_open(r, e);
}

static void run_unprepare(struct run *r)
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

/* ---- progress ---- */

void run_tell(struct run *r, uint64_t done, const char *note)
{
    r->progress.done = done;
    r->progress.note = note;
    if (r->watch)
        r->watch->step(&r->progress, r->watch->arg);
}

void run_begin_phase(struct run *r, const char *label, size_t total)
{
    r->progress = (struct run_progress){.label = label, .total = total};
    run_tell(r, 0, NULL);
}

/* ---- the gate ---- */

static void on_gate_step(void *arg)
{
    struct run *r = arg;

    run_tell(r, r->progress.done + 1, NULL);
}

/* Fills r->why for tasks that must not cost a token. 1: answers are missing. */
static int run_gate(struct run *r, struct err *e)
{
    struct gate_opts o = {.job = &r->job, .step = on_gate_step, .arg = r};
    size_t refused = 0;
    int rc;

    if (r->complete || r->set->force)
        return 0; /* the store knows, or nobody asks */
    run_begin_phase(r, "tasks checked", r->tasks.len);
    r->gate = &o.ask;
    rc = gate_tasks(r->verifier, &r->tasks, &o, r->why, e);
    r->gate = NULL;
    for (size_t i = 0; rc == 0 && i < r->tasks.len; i++) {
        if (!r->why[i])
            continue;
        refused += i < r->originals;
        log_warn("%s is skipped: %s", r->tasks.task[i]->id, r->why[i]);
    }
    if (rc == 0 && !r->stopping && refused == r->originals)
        return err_set(e, ERR_INPUT,
                       "none of the %zu tasks can be used (above); --force "
                       "ports them anyway",
                       refused);
    return rc;
}

/* ---- the search ---- */

static void fill_search(struct run *r)
{
    if (r->shared_address)
        search_add_look(r->search, r->shared_first);
    for (size_t i = 0; i < r->kernel_len; i++) {
        const struct kernel *k = &r->kernel[i];
        struct search_example x = {.origin = r->origin[i],
                                   .name = k->name,
                                   .task_hash = k->task->hash,
                                   .evidence = kernel_evidence(k),
                                   .problem = {k->task->source, k->task->len},
                                   .plan = k->plan,
                                   .solution = k->solution,
                                   .vector =
                                       r->vectors + (r->tasks.len + i) * r->dim,
                                   .ops = k->task->ops};

        search_add_example(r->search, &x);
    }
    for (size_t i = 0; i < r->tasks.len; i++) {
        const struct task *t = r->tasks.task[i];
        const float *vector = r->vectors + i * r->dim;

        if (i < r->originals)
            search_add_task(r->search, t, r->why[i], vector);
        else
            search_add_piece(r->search, t, r->why[i], vector,
                             &r->piece[i - r->originals]);
    }
}

static const char porting[] = "tasks finished";

static void run_on_change(void *arg)
{
    struct run *r = arg;
    struct search_counts c = search_count(r->search);
    struct buf b = BUF_INIT;

    modeling_news(&r->model);
    if (r->progress.label != porting)
        run_begin_phase(r, porting, c.tasks - c.skipped);
    search_describe(r->search, &b);
    run_tell(r, c.over, buf_str(&b));
    buf_release(&b);
}

static void run_on_signal(int signo, void *arg)
{
    struct run *r = arg;

    (void)signo;
    if (!r->search) {
        r->hurry = r->stopping;
        r->stopping = true;
        if (r->ledger)
            ledger_stop(r->ledger);
        if (r->maker)
            maker_stop(r->maker);
        if (r->gate)
            ask_all_stop(r->gate);
        loop_stop(r->loop);
        return;
    }
    log_warn(r->stopping ? "stopping now: open calls are lost"
                         : "stopping once open calls are answered; interrupt "
                           "again to stop now");
    r->stopping = true;
    search_stop(r->search);
}

static int run_the_search(struct run *r, enum search_end *end, struct err *e)
{
    struct search_parts part = {.loop = r->loop,
                                .store = r->store,
                                .ledger = r->ledger,
                                .llm = r->model.llm,
                                .budget = &r->model.budget,
                                .prompts = r->prompts,
                                .pack = r->pack,
                                .verifier = r->verifier,
                                .job = &r->job,
                                .model = r->set->model.model,
                                .dim = r->dim};
    int rc;

    part.shared = run_share_open(r);
    r->search = search_new(&part, &r->opt);
    run_pieces_keep(r);
    fill_search(r);
    search_watch(r->search, run_on_change, r);
    rc = run_share_begin(r, e);
    if (rc == 0)
        rc = search_run(r->search, end, e);
    if (rc == 0)
        rc = run_share_finish(r, e);
    run_on_change(r);
    return rc;
}

static int run_work(struct run *r, struct run_result *out, struct err *e)
{
    const char *why = pack_below_e3(r->pack);
    int rc;

    if (why)
        log_warn("the pack %s %s: verdicts end at E2, and no kernel joins the "
                 "archive",
                 r->pack->id, why);
    rc = run_divide(r, e);
    if (rc == 0) {
        r->why = xcalloc(r->tasks.len + 1, sizeof(*r->why));
        rc = run_gate(r, e);
    }
    r->begun = rc >= 0;
    if (rc == 1 && !r->stopping)
        return 0; /* SEARCH_WAITING */
    if (rc >= 0 && !r->stopping)
        rc = run_vectors(r, out, e);
    if (r->stopping || rc > 0) {
        out->end = r->stopping ? SEARCH_INTERRUPTED : SEARCH_NO_BUDGET;
        return 0;
    }
    if (rc < 0)
        return -1;
    out->searched = true;
    return run_the_search(r, &out->end, e);
}

/* For readers of the run: run_view.state. */
static void run_say_ended(struct run *r, int rc, enum search_end end)
{
    static const enum run_state states[] = {
        [SEARCH_DONE] = RUN_FINISHED,       [SEARCH_WAITING] = RUN_WAITING,
        [SEARCH_NO_BUDGET] = RUN_NO_BUDGET, [SEARCH_INTERRUPTED] = RUN_STOPPED,
        [SEARCH_STUCK] = RUN_STUCK,
    };

    store_event(r->store, "ended", -1, 0,
                run_states[rc < 0 ? RUN_FAILED : states[end]]);
}

int run_go(struct run *r, const struct run_watch *w, struct run_result *out,
           struct err *e)
{
    char pid[32];
    int rc;

    *out = (struct run_result){.end = SEARCH_WAITING};
    r->watch = w;
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    store_event(r->store, "begun", -1, 0, pid);
    rc = run_work(r, out, e);
    run_say_ended(r, rc, out->end);
    r->watch = NULL;
    if (rc < 0)
        return -1;
    out->hint = verifier_hint(r->verifier);
    out->replayed = strcmp(r->model.opts.provider, "replay") == 0;
    out->budget = r->model.budget;
    if (out->end == SEARCH_NO_BUDGET && r->search)
        out->need = search_need(r->search);
    return store_sync(r->store, e);
}

void run_result_release(struct run_result *x)
{
    free(x->hint);
    *x = (struct run_result){0};
}

int run_look(struct run *r, struct run_view *v, struct err *e)
{
    query_texts(r->store);
    return run_view_read(r->store, r->set->out, v, e);
}

/* ---- opening and closing ---- */

static int run_open_parts(struct run *r, struct err *e)
{
    if (loop_add_stops(r->loop, run_on_signal, r, e) < 0 ||
        run_folder_open(r, e) < 0)
        return -1;
    r->verifier_opts = verifying_opts(&r->set->verify, &r->home);
    /* While a model thinks the worker can load torch. */
    r->verifier_opts.at_once = !r->set->model.cassette;
    r->verifier_opts.secret = r->secret;
    r->verifier_opts.key =
        arena_printf(&r->memory, "%s/worker.key", r->set->out);
    r->verifier_opts.roster =
        arena_printf(&r->memory, "%s/" ROSTER_FILE, r->set->out);
    unlink(r->verifier_opts.roster); /* of those who worked for it before */
    r->verifier = verifier_open(r->loop, &r->verifier_opts, e);
    if (!r->verifier ||
        llm_record(r->model.llm, r->set->model.record, r->secret, e) < 0)
        return -1;
    if (r->resume && run_folder_keep(r, e) < 0)
        return -1;
    r->ledger =
        ledger_open(&(struct ledger_parts){r->loop, r->store, &r->model.budget,
                                           llm_is_patient(r->model.llm)},
                    e);
    return r->ledger ? 0 : -1;
}

struct run *run_open(struct run_settings *s, enum run_how how, struct err *e)
{
    struct run *r = xcalloc(1, sizeof(*r));
    struct err late = ERR_INIT;

    r->set = s;
    r->resume = how == RUN_RESUME;
    if (run_prepare(r, e) == 0 && run_open_parts(r, e) == 0)
        return r;
    run_close(r, &late);
    return NULL;
}

int run_close(struct run *r, struct err *e)
{
    int rc = 0;

    run_share_close(r);
    if (r->search)
        search_free(r->search);
    ledger_close(r->ledger);
    llm_close(r->embedder);
    if (r->model.llm)
        modeling_close(&r->model);
    verifier_close(r->verifier);
    if (r->store && store_close(r->store, e) < 0)
        rc = -1;
    if (r->loop)
        loop_free(r->loop);
    if (r->made && !r->begun)
        run_folder_undo(r);
    lock_drop(&r->lock);
    for (size_t i = 0; r->why && i < r->tasks.len; i++)
        free(r->why[i]);
    free(r->why);
    run_unprepare(r);
    free(r);
    return rc;
}

/* ---- what it would cost, from the prompts it would send first ---- */

/* The first prompt of each stage: what later ones add (feedback, longer
 * examples) is not known yet. */
static int estimate_stage(struct run *r, const struct task *t,
                          enum prompt_stage stage, struct run_estimate *sum,
                          struct err *e)
{
    struct prompt_example example[16];
    struct prompt_attempt parent = {.code = {t->source, t->len},
                                    .verdict =
                                        verdicts[VERDICT_STATIC_REJECT].name,
                                    .feedback = STR_LIT("")};
    struct prompt_input in = {.stage = stage,
                              .pack = r->pack,
                              .no_card = r->opt.no_card,
                              .task_id = t->id,
                              .task = {t->source, t->len},
                              .precision = r->opt.precision,
                              .device = r->opt.device,
                              .example = example,
                              .plan = STR_LIT(""),
                              .parent = stage == PROMPT_EVOLVE ? &parent : NULL,
                              .diff = r->opt.diff};
    struct prompt p;
    struct arena a = {0};
    int rc;

    for (size_t i = 0;
         i < r->kernel_len && in.example_count < (size_t)r->opt.examples; i++) {
        const struct kernel *k = &r->kernel[i];

        example[in.example_count++] =
            (struct prompt_example){.name = k->name,
                                    .problem = {k->task->source, k->task->len},
                                    .plan = k->plan,
                                    .solution = k->solution};
    }
    rc = prompts_build(r->prompts, &in, &a, &p, e);
    if (rc == 0) {
        struct llm_request q = {.key = {t->id, r->opt.method, "dry", 1},
                                .message = p.message,
                                .count = p.count};

        sum->prompts++;
        sum->tokens_in += p.tokens;
        sum->worst_usd_micro += llm_worst_case(r->model.llm, &q).usd_micro;
    }
    arena_release(&a);
    return rc;
}

static int estimate_all(struct run *r, struct run_estimate *out, struct err *e)
{
    bool two = method_find(r->opt.method)->two_stage;

    *out = (struct run_estimate){.tasks = r->originals,
                                 .pieces = r->tasks.len - r->originals,
                                 .attempts = r->opt.attempts,
                                 .calls = two ? 2 : 1,
                                 .priced = llm_has_price(r->model.llm)};
    for (size_t i = 0; i < r->tasks.len; i++) {
        const struct task *t = r->tasks.task[i];

        if (two ? estimate_stage(r, t, PROMPT_PLAN, out, e) < 0 ||
                      estimate_stage(r, t, PROMPT_CODE, out, e) < 0
                : estimate_stage(r, t, PROMPT_EVOLVE, out, e) < 0)
            return -1;
    }
    return 0;
}

int run_estimate(struct run_settings *s, struct run_estimate *out,
                 struct err *e)
{
    struct run *r = xcalloc(1, sizeof(*r));
    struct err late = ERR_INIT;
    int rc = -1;

    r->set = s;
    s->dry_run = true;
    if (run_prepare(r, e) == 0)
        rc = estimate_all(r, out, e);
    run_close(r, &late);
    return rc;
}
