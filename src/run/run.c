/* run.c: a run from its settings to its end. */
#include "run/run.h"

#include "base/log.h"
#include "base/mem.h"
#include "curriculum/maker.h"
#include "run/run_int.h"
#include "verify/gate.h"
#include "verify/roster.h"
#include "verify/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static int gate(struct run *r, struct err *e)
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

static void on_change(void *arg)
{
    struct run *r = arg;
    struct search_counts c = search_count(r->search);
    struct buf b;

    modeling_news(&r->model);
    if (r->progress.label != porting)
        run_begin_phase(r, porting, c.tasks - c.skipped);
    buf_init(&b, BUF_UNLIMITED);
    search_describe(r->search, &b);
    run_tell(r, c.over, buf_str(&b));
    buf_release(&b);
}

static void on_signal(int signo, void *arg)
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

static int search(struct run *r, enum search_end *end, struct err *e)
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
    search_watch(r->search, on_change, r);
    rc = run_share_begin(r, e);
    if (rc == 0)
        rc = search_run(r->search, end, e);
    if (rc == 0)
        rc = run_share_finish(r, e);
    on_change(r);
    return rc;
}

static int go(struct run *r, struct run_result *out, struct err *e)
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
        rc = gate(r, e);
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
    return search(r, &out->end, e);
}

/* For readers of the run: run_view.state. */
static void say_ended(struct run *r, int rc, enum search_end end)
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
    rc = go(r, out, e);
    say_ended(r, rc, out->end);
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
    return run_view_read(r->store, r->set->out, v, e);
}

/* ---- opening and closing ---- */

static int open_parts(struct run *r, struct err *e)
{
    if (loop_add_stops(r->loop, on_signal, r, e) < 0 ||
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
    if (run_prepare(r, e) == 0 && open_parts(r, e) == 0)
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
