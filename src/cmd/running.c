/* running.c: a run from its options to its table. */
#include "cmd/running.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "cmd/cmd.h"
#include "cmd/run_int.h"
#include "cmd/summaries.h"
#include "verify/gate.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the gate ---- */

static void on_gate_step(void *arg)
{
    struct running *r = arg;

    term_step(r->bar, NULL);
}

/* Fills `why` for tasks that must not cost a token. 1: answers are missing. */
static int gate(struct running *r, char **why, struct err *e)
{
    size_t refused = 0;
    int rc;

    if (r->known == r->tasks.len || r->v->force)
        return 0; /* the store knows, or nobody asks */
    r->bar = term_open(STDERR_FILENO, r->tasks.len, 0, "checking tasks");
    rc = gate_tasks(r->door, &r->tasks, &r->job, why, on_gate_step, r, e);
    term_close(r->bar);
    r->bar = NULL;
    for (size_t i = 0; rc == 0 && i < r->tasks.len; i++) {
        if (!why[i])
            continue;
        refused++;
        log_warn("%s is skipped: %s", r->tasks.task[i]->id, why[i]);
    }
    if (rc == 0 && !r->stopping && refused == r->tasks.len)
        return err_set(e, ERR_INPUT,
                       "the gate refuses all %zu tasks (above); --force ports "
                       "them all the same",
                       refused);
    return rc;
}

/* ---- the search ---- */

static void fill_search(struct running *r, char **why)
{
    for (size_t i = 0; i < r->kernel_len; i++) {
        const struct kernel *k = &r->kernel[i];
        struct search_example x = {
            .origin = r->origin[i],
            .name = k->name,
            .task_hash = k->task->hash,
            .evidence = k->verified ? evidences[EVIDENCE_ARCHIVE].name : NULL,
            .problem = {k->task->source, k->task->len},
            .plan = k->plan,
            .solution = k->solution,
            .vector = r->vectors + (r->tasks.len + i) * r->dim,
            .ops = k->task->ops};

        search_add_example(r->search, &x);
    }
    for (size_t i = 0; i < r->tasks.len; i++)
        search_add_task(r->search, r->tasks.task[i], why[i],
                        r->vectors + i * r->dim);
}

static void on_change(void *arg)
{
    struct running *r = arg;
    struct search_counts c = search_count(r->search);
    struct buf b;

    modeling_news(&r->model);
    buf_init(&b, BUF_UNLIMITED);
    search_describe(r->search, &b);
    term_set(r->bar, c.work_done, buf_str(&b));
    buf_release(&b);
}

static void on_signal(int signo, void *arg)
{
    struct running *r = arg;

    (void)signo;
    if (!r->search) {
        r->stopping = true;
        loop_stop(r->loop);
        return;
    }
    log_warn(r->stopping ? "stopping now: answers under way are lost"
                         : "stopping: what is paid for is finished; once more "
                           "to stop now");
    r->stopping = true;
    search_stop(r->search);
}

static int search(struct running *r, enum search_end *end, struct err *e)
{
    struct search_counts c = search_count(r->search);
    int rc;

    r->bar = term_open(STDERR_FILENO, c.work, 0, "porting");
    search_watch(r->search, on_change, r);
    rc = search_run(r->search, end, e);
    on_change(r);
    term_close(r->bar);
    r->bar = NULL;
    return rc;
}

/* ---- the end ---- */

static int show(struct running *r, struct err *e)
{
    struct summary m;
    struct buf b;

    if (store_sync(r->store, e) < 0 || summary_read(r->store, &m, e) < 0)
        return -1;
    if (r->v->v.json) {
        summaries_tasks(&m);
    } else {
        buf_init(&b, BUF_UNLIMITED);
        summary_table(&m, &b);
        buf_putc(&b, '\n');
        summary_line(&m, &b);
        printf("%s\n", buf_str(&b));
        buf_release(&b);
    }
    cmd_flush(); /* what follows on stderr stands below it */
    summary_release(&m);
    return 0;
}

/* A call is sent when the most that it may cost fits, so some is always left. */
static void say_spent(const struct budget *b)
{
    struct llm_cost taken = cost_add(b->spent, b->reserved);

    if (b->cap.usd_micro != BUDGET_NO_CAP)
        fprintf(stderr,
                ", as dear as one may get ($%.4f of $%.4f is spent or held)",
                (double)taken.usd_micro / 1e6, (double)b->cap.usd_micro / 1e6);
    else
        fprintf(stderr,
                ", as long as one may get (%lld of %lld tokens are spent or "
                "held)",
                (long long)taken.tokens, (long long)b->cap.tokens);
}

static int say_end(struct running *r, enum search_end end)
{
    static const struct {
        int status;
        const char *text;
    } ends[] = {
        [SEARCH_DONE] = {0, NULL},
        [SEARCH_WAITING] = {0, "it waits for answers from elsewhere"},
        [SEARCH_NO_BUDGET] = {3, "the budget has no room for another call"},
        [SEARCH_INTERRUPTED] = {130, "it was stopped"},
        [SEARCH_STUCK] = {4, "some tasks were set aside (above)"},
    };
    const char *higher = "";
    char *hint = r->door ? door_hint(r->door) : NULL;

    if (end == SEARCH_NO_BUDGET)
        higher =
            r->v->m.budget_usd ? " --budget-usd DOLLARS" : " --budget-tokens N";
    if (hint)
        fprintf(stderr, "%s\n", hint);
    free(hint);
    if (end == SEARCH_DONE && strcmp(r->model.opts.provider, "replay") == 0 &&
        !r->v->v.json)
        printf(
            "\nThe answers were replayed from %s. With a model of your own:\n"
            "  monkeys run --tasks %s --dsl %s --provider openai "
            "--model NAME --budget-usd 5\n",
            r->model.opts.cassette,
            r->v->tasks.len == 1 ? r->v->tasks.item[0] : "PATH", r->pack->id);
    if (ends[end].text)
        fprintf(stderr, "%s", ends[end].text);
    if (end == SEARCH_NO_BUDGET)
        say_spent(&r->model.budget);
    if (ends[end].text)
        fprintf(stderr, ": 'monkeys resume %s%s' goes on\n", r->v->out, higher);
    return ends[end].status;
}

/* ---- together ---- */

static int go(struct running *r, char **why, struct err *e)
{
    struct search_parts part = {.loop = r->loop,
                                .store = r->store,
                                .llm = r->model.llm,
                                .budget = &r->model.budget,
                                .prompts = r->prompts,
                                .pack = r->pack,
                                .patient = llm_is_patient(r->model.llm),
                                .model = r->v->m.model,
                                .dim = r->dim};
    enum search_end end = SEARCH_WAITING;
    int rc;

    if (!r->pack->run.family)
        log_warn("the pack %s has no recorder (pack.json: /run/family): "
                 "verdicts end at E2, and the archive of the run will not grow",
                 r->pack->id);
    rc = gate(r, why, e);
    r->begun = rc >= 0;
    if (rc == 1 && !r->stopping)
        return say_end(r, SEARCH_WAITING);
    if (rc >= 0 && !r->stopping)
        rc = run_vectors(r, e);
    if (r->stopping)
        return say_end(r, SEARCH_INTERRUPTED);
    if (rc < 0)
        return -1;
    part.door = r->door;
    part.job = &r->job;
    part.dim = r->dim;
    r->search = search_new(&part, &r->opt);
    fill_search(r, why);
    if (search(r, &end, e) < 0 || show(r, e) < 0)
        return -1;
    return say_end(r, end);
}

/* A terminal that is closed is no reason to lose answers; nohup's word that it
 * does not matter holds. */
static int listen(struct running *r, struct err *e)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction was;

    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        if (stops[i] == SIGHUP && sigaction(SIGHUP, NULL, &was) == 0 &&
            was.sa_handler == SIG_IGN)
            continue;
        if (!loop_add_signal(r->loop, stops[i], on_signal, r, e))
            return -1;
    }
    return 0;
}

static int open_parts(struct running *r, struct err *e)
{
    if (listen(r, e) < 0 || run_folder_open(r, e) < 0)
        return -1;
    r->door_opts = verifying_opts(&r->v->v, &r->home);
    r->door_opts.secret = r->secret;
    r->door = door_open(r->loop, &r->door_opts, e);
    if (!r->door)
        return -1;
    return r->resume ? run_folder_keep(r, e) : 0;
}

static void close_parts(struct running *r, int *rc, struct err *e)
{
    struct err late = ERR_INIT;

    if (r->search)
        search_free(r->search);
    if (r->model.llm)
        modeling_close(&r->model);
    door_close(r->door);
    if (r->store && store_close(r->store, &late) < 0 && *rc >= 0) {
        *e = late;
        *rc = -1;
    }
    if (r->loop)
        loop_free(r->loop);
    if (*rc < 0 && r->made && !r->begun)
        run_folder_undo(r);
    if (r->locked)
        lock_drop(&r->lock);
}

/* An estimate sends nothing, so it needs neither cap nor key. */
static int open_model(struct running *r, struct err *e)
{
    struct modeling_values m = r->v->m;

    if (r->v->dry_run) {
        m.no_cap = true;
        m.budget_usd = NULL;
        m.record = NULL;
    }
    if (modeling_read(&m, &r->model, e) < 0)
        return -1;
    r->model.opts.dry = r->v->dry_run;
    return modeling_open(&m, &r->model, r->loop, r->home.dir, e);
}

int running(struct run_values *v, bool resume, struct err *e)
{
    struct running r = {.v = v, .resume = resume};
    char **why = NULL;
    int rc = -1;

    arena_init(&r.memory);
    if (!v->m.temperature) /* every method samples at 1 */
        v->m.temperature = "1";
    if (run_prepare(&r, e) == 0 && (r.loop = loop_new(e)) &&
        open_model(&r, e) == 0 && run_vectors_check(&r, e) == 0) {
        why = xcalloc(r.tasks.len + 1, sizeof(*why));
        if (v->dry_run)
            rc = run_dry(&r, e);
        else if (open_parts(&r, e) == 0)
            rc = go(&r, why, e);
    }
    close_parts(&r, &rc, e);
    for (size_t i = 0; why && i < r.tasks.len; i++)
        free(why[i]);
    free(why);
    run_unprepare(&r);
    return rc;
}
