/* cmd_run.c: monkeys run, resume and status: a run as people see it: a progress
 * line, where it stands, how it ended. */
#include "analyze/table.h"
#include "base/conf.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "run/query.h"
#include "run/run.h"
#include "run/summary.h"
#include "web/web_server.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* Of tasks and pieces, after their names. */
#define COLUMNS                                                                \
    "|verdict=state|attempts|evidence|speed-up=speedup:x|examples shown=shown" \
    "|verdicts|why"
#define ERROR_COLUMNS 100 /* of an error on a line */

/* ---- where it stands ---- */

static void status_put_unanswered(const struct summary *m, struct buf *out)
{
    const struct {
        const char *word;
        int64_t n;
    } kinds[] = {
        {"open", m->calls - m->answered - m->failed - m->lost},
        {"failed", m->failed},
        {"lost", m->lost},
    };
    int told = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].n > 0)
            buf_printf(out, "%s%lld %s", told++ ? ", " : " (and ",
                       (long long)kinds[i].n, kinds[i].word);
    if (told)
        buf_putc(out, ')');
}

/* What the provider metered, and what had to be assumed: calls whose answer or
 * usage never came. */
static void status_put_cost(const struct summary *m, struct buf *out)
{
    int64_t metered = m->usd_micro - m->assumed_usd_micro;

    if (m->estimated)
        buf_puts(out, " (partly estimated)");
    if (m->usd_micro)
        buf_printf(out, ", $%lld.%06lld", (long long)(metered / 1000000),
                   (long long)(metered % 1000000));
    if (m->assumed_usd_micro)
        buf_printf(out, " metered, $%lld.%06lld assumed",
                   (long long)(m->assumed_usd_micro / 1000000),
                   (long long)(m->assumed_usd_micro % 1000000));
    if (m->reserved_usd_micro)
        buf_printf(out, " (and up to $%.6f for open calls)",
                   (double)m->reserved_usd_micro / 1e6);
}

static void status_put_line(const struct summary *m, struct buf *out)
{
    int told = 0;

    if (m->tasks == 0) { /* they are stored when the gate is done */
        buf_puts(out, "tasks are not checked yet");
        return;
    }
    buf_printf(out, "solved %zu of %zu task%s in %lld attempt%s",
               m->solved - m->doubted, m->tasks - m->skipped,
               m->tasks - m->skipped == 1 ? "" : "s", (long long)m->attempts,
               m->attempts == 1 ? "" : "s");
    if (m->doubted)
        buf_printf(out, " (%zu more were refused by the reviewer)", m->doubted);
    if (m->skipped)
        buf_printf(out, ", %zu skipped by the gate", m->skipped);
    if (m->aside)
        buf_printf(out, ", %zu set aside", m->aside);
    if (m->pieces)
        buf_printf(out, "; %zu of %zu piece%s in %lld attempt%s",
                   m->pieces_solved, m->pieces - m->pieces_skipped,
                   m->pieces - m->pieces_skipped == 1 ? "" : "s",
                   (long long)m->piece_attempts,
                   m->piece_attempts == 1 ? "" : "s");
    buf_printf(out, "; %lld call%s", (long long)m->answered,
               m->answered == 1 ? "" : "s");
    status_put_unanswered(m, out);
    buf_printf(out, ", %lld tokens in, %lld out", (long long)m->tokens_in,
               (long long)m->tokens_out);
    status_put_cost(m, out);
    for (enum verdict i = 0; i < VERDICTS; i++)
        if (m->verdict[i])
            buf_printf(out, "%s %lld %s", told++ ? "," : ";",
                       (long long)m->verdict[i], verdicts[i].name);
}

/* Prints a table of a list of objects, which is released. */
static void status_print_table(const char *columns, json_t *rows)
{
    struct table t;

    table_init(&t, NULL, NULL);
    table_from(&t, columns, rows);
    table_show(&t);
    table_release(&t);
    json_decref(rows);
}

/* A list of the run's, one object a line. */
static int status_json(struct store *s, const char *query, struct err *e)
{
    json_t *rows = query_list(s, query, NULL, e), *row;
    size_t i;

    json_array_foreach(rows, i, row) jsn_line(json_incref(row));
    json_decref(rows);
    return rows ? 0 : -1;
}

/* The same for people. A list of pieces that is empty is not there. */
static int status_list(struct store *s, const char *query, bool pieces,
                       const char *columns, struct err *e)
{
    json_t *rows = query_list(
        s, query, json_pack("{s:b, s:b}", "text", true, "pieces", pieces), e);

    if (!rows)
        return -1;
    if (pieces && !json_array_size(rows)) {
        json_decref(rows);
        return 0;
    }
    if (pieces)
        putchar('\n');
    status_print_table(columns, rows);
    return 0;
}

static int status_tasks(struct store *s, bool json, struct err *e)
{
    struct buf b = BUF_INIT;

    if (json)
        return status_json(s, "run/tasks", e);
    if (status_list(s, "run/tasks", false, "task" COLUMNS, e) < 0 ||
        status_list(s, "run/tasks", true, "piece=task" COLUMNS, e) < 0)
        return -1;
    evidence_explain(&b);
    fputs(buf_str(&b), stdout);
    buf_release(&b);
    return 0;
}

static int status_examples(struct store *s, bool json, struct err *e)
{
    return json ? status_json(s, "run/examples", e)
                : status_list(s, "run/examples", false,
                              "entry|name|origin|version|"
                              "shown, and solved then=used",
                              e);
}

static void status_put_unsolved(const struct summary *m, struct buf *out)
{
    size_t unsolved = m->untried;
    int told = 0;

    for (enum verdict i = 0; i < VERDICTS; i++)
        unsolved += m->unsolved[i];
    if (!unsolved)
        return;
    buf_printf(out, "%zu task%s unsolved:", unsolved,
               unsolved == 1 ? " is" : "s are");
    for (enum verdict i = 0; i < VERDICTS; i++)
        if (m->unsolved[i])
            buf_printf(out, "%s %zu %s", told++ ? "," : "", m->unsolved[i],
                       verdicts[i].name);
    if (m->untried)
        buf_printf(out, "%s %zu without a finished attempt", told ? "," : "",
                   m->untried);
    buf_putc(out, '\n');
    for (size_t i = 0; i < m->errors && i < SUMMARY_ERRORS; i++) {
        buf_printf(out, "%6zu  %s: ", m->error[i].tasks, m->error[i].verdict);
        term_cut(m->error[i].error, ERROR_COLUMNS, out);
        buf_putc(out, '\n');
    }
}

static void status_put_proof(const struct summary *m, const char *dir,
                             struct buf *out)
{
    if (m->solved > m->proven)
        buf_printf(out,
                   "%zu of the solved tasks: the kernel passed the trials, but "
                   "nothing proves that it alone computed the result (E2)\n",
                   m->solved - m->proven);
    if (m->rules != VERDICT_RULES)
        buf_printf(out,
                   "the verdicts follow version %lld of the rules of truth, "
                   "this program has version %d; 'monkeys archive reverify %s' "
                   "judges the kernels again\n",
                   (long long)m->rules, VERDICT_RULES, dir);
}

static void status_put_implausible(const struct summary *m, struct buf *out)
{
    if (m->implausible)
        buf_printf(out,
                   "%zu speed-up%s hard to believe; 'status --tasks' has the "
                   "reasons\n",
                   m->implausible, m->implausible == 1 ? " is" : "s are");
}

/* `all` is as run_view_workers() has them; NULL: none connected. */
static void status_print_workers(const json_t *all)
{
    json_t *list = json_object_get(all, "workers"), *rows, *w;
    double at = (double)jsn_int(all, "at");
    size_t i;

    if (json_array_size(list) == 0) {
        puts("no worker has connected to this run");
        return;
    }
    rows = json_deep_copy(list);
    json_array_foreach(rows, i, w)
    {
        double heard = (double)jsn_int(w, "heard");

        json_object_set_new(w, "heard", json_real((at - heard) / 1e6));
    }
    status_print_table("worker=name|device|state|verdicts|refused|truths|"
                       "heard:s|tasks",
                       rows);
}

/* ---- while it works ---- */

struct bar {
    struct term *term;
    const char *label; /* of the phase that it shows */
};

static void run_on_step(const struct run_progress *p, void *arg)
{
    struct bar *b = arg;

    if (b->label != p->label) {
        if (b->term)
            term_close(b->term);
        b->term = term_open(STDERR_FILENO, p->total, 0, p->label);
        b->label = p->label;
    } else {
        term_set(b->term, p->done, p->note);
    }
}

/* ---- the end ---- */

/* Dollars, in whole cents, rounded up. */
static double run_cents_up(int64_t usd_micro)
{
    int64_t cents = (usd_micro + 9999) / 10000;

    return (double)cents / 100;
}

static int run_show_view(struct run_view *v, struct err *e)
{
    struct summary m;
    struct buf b = BUF_INIT;

    if (summary_make(v, &m, e) < 0)
        return -1;
    status_put_line(&m, &b);
    printf("\n%s\n", buf_str(&b));
    buf_release(&b);
    if (m.kernels)
        printf(
            "\n%lld solved kernel%s in the run's archive. List them, or "
            "write them as files:\n"
            "  monkeys archive list %s\n  monkeys archive export %s -o DIR\n",
            (long long)m.kernels, m.kernels == 1 ? " is" : "s are", v->dir,
            v->dir);
    summary_release(&m);
    return 0;
}

static int run_show(struct run *r, bool json, struct err *e)
{
    struct run_view v;
    int rc;

    if (run_look(r, &v, e) < 0)
        return -1;
    rc = status_tasks(v.store, json, e);
    if (rc == 0 && !json)
        rc = run_show_view(&v, e);
    cmd_flush(); /* what follows on stderr stands below it */
    run_view_close(&v);
    return rc;
}

/* An attempt begins only if the most that it may cost fits, so some of the
 * budget is always left. */
static void run_say_budget(const struct run_settings *s,
                           const struct run_result *x)
{
    const struct budget *b = &x->budget;
    struct llm_cost taken = cost_add(b->spent, b->reserved),
                    next = cost_add(taken, x->need);

    if (x->need.usd_micro > b->cap.usd_micro - taken.usd_micro)
        fprintf(stderr,
                "out of budget: the next attempt may cost $%.4f, and $%.4f of "
                "$%.4f is left; continue with: monkeys resume %s --budget-usd "
                "%.2f\n",
                (double)x->need.usd_micro / 1e6,
                (double)(b->cap.usd_micro - taken.usd_micro) / 1e6,
                (double)b->cap.usd_micro / 1e6, s->out,
                run_cents_up(next.usd_micro));
    else
        fprintf(stderr,
                "out of budget: the next attempt may use %lld tokens, and %lld "
                "of %lld are left; continue with: monkeys resume %s "
                "--budget-tokens %lld\n",
                (long long)x->need.tokens,
                (long long)(b->cap.tokens - taken.tokens),
                (long long)b->cap.tokens, s->out, (long long)next.tokens);
}

static void run_say_replayed(const struct run_settings *s)
{
    printf("\n"
           "These replies were replayed from %s. To use your own model:\n"
           "  monkeys run --tasks %s --dsl %s --provider openai --model NAME "
           "--budget-usd 5\n",
           s->model.cassette, s->tasks.len == 1 ? s->tasks.item[0] : "PATH",
           s->dsl);
}

static int run_say_end(const struct run_settings *s, const struct run_result *x)
{
    static const struct {
        int status;
        const char *text;
    } ends[] = {
        [SEARCH_DONE] = {0, NULL},
        [SEARCH_WAITING] = {0, "the run waits for answers from others"},
        [SEARCH_NO_BUDGET] = {3, NULL},
        [SEARCH_INTERRUPTED] = {130, "the run was stopped"},
        [SEARCH_STUCK] = {4, "some tasks were set aside (see above)"},
    };

    if (x->hint)
        fprintf(stderr, "%s\n", x->hint);
    if (x->end == SEARCH_DONE && x->replayed && !s->verify.json)
        run_say_replayed(s);
    if (x->end == SEARCH_NO_BUDGET)
        run_say_budget(s, x);
    else if (ends[x->end].text)
        fprintf(stderr, "%s; continue with: monkeys resume %s\n",
                ends[x->end].text, s->out);
    return ends[x->end].status;
}

static int run_and_show(struct run *r, const struct run_settings *s,
                        struct err *e)
{
    struct bar bar = {0};
    struct run_watch watch = {run_on_step, &bar};
    struct run_result x;
    int rc = run_go(r, &watch, &x, e);

    if (bar.term)
        term_close(bar.term);
    if (rc == 0 && x.searched)
        rc = run_show(r, s->verify.json, e);
    if (rc == 0)
        rc = run_say_end(s, &x);
    run_result_release(&x);
    return rc;
}

/* ---- a page beside it ---- */

/* NULL when none is asked for, or when it cannot be had: that is no reason not
 * to run. */
static struct web_beside *run_start_page(const struct run_settings *s,
                                         struct httpd_listen *where)
{
    const struct opt_list none = {0};
    struct err e = ERR_INIT;
    struct web_beside *page = NULL;

    if (!s->serve)
        return NULL;
    if (httpd_listen_open(s->serve[0] ? s->serve : NULL, &none, where, &e) == 0)
        page = web_beside_start(s->out, where, &e);
    if (!page) {
        log_warn("no page: %s; the run continues without one. To see it, run: "
                 "monkeys serve %s --listen 127.0.0.1:0",
                 e.text, s->out);
        return NULL;
    }
    log_info("see the run at %s", where->url);
    httpd_listen_warn(where);
    return page;
}

static int run_search(struct run_settings *s, enum run_how how, struct err *e)
{
    struct err late = ERR_INIT;
    struct web_beside *page;
    struct httpd_listen where;
    struct run *r;
    int rc;

    if (s->serve && s->serve[0] && httpd_listen_check(s->serve, e) < 0)
        return -1;
    r = run_open(s, how, e);
    if (!r)
        return -1;
    page = run_start_page(s, &where);
    rc = run_and_show(r, s, e);
    rc = err_late(e, rc, run_close(r, &late), &late);
    if (page) {
        web_beside_end(page);
        fprintf(stderr,
                "the page has ended with the run; to see it again: "
                "monkeys serve %s\n",
                s->out);
    }
    return rc;
}

/* ---- an estimate ---- */

static void run_put_estimate(const struct run_estimate *x)
{
    printf("%zu task%s", x->tasks, x->tasks == 1 ? "" : "s");
    if (x->pieces)
        printf(" and %zu piece%s", x->pieces, x->pieces == 1 ? "" : "s");
    printf(", %lld attempt%s per task, %d call%s per attempt\n",
           (long long)x->attempts, x->attempts == 1 ? "" : "s", x->calls,
           x->calls == 1 ? "" : "s");
    printf("one attempt per task: %lld prompts, about %lld input "
           "tokens\n",
           (long long)x->prompts, (long long)x->tokens_in);
    printf("all attempts, if nothing is solved: about %lld input "
           "tokens\n",
           (long long)x->tokens_in * x->attempts);
    if (x->priced)
        printf("at most about $%.2f for one attempt of every task, $%.2f for "
               "all attempts\n(later prompts are longer: plans, feedback, "
               "other examples; --budget-usd sets a limit)\n",
               run_cents_up(x->worst_usd_micro),
               run_cents_up(x->worst_usd_micro * x->attempts));
    else
        printf(
            "no price is known for this model; set one with --price IN,OUT\n");
}

static json_t *run_estimate_json(const struct run_estimate *x)
{
    return json_pack(
        "{s:I, s:o*, s:I, s:I, s:I, s:o, s:o}", "tasks", (json_int_t)x->tasks,
        "pieces", x->pieces ? json_integer((json_int_t)x->pieces) : NULL,
        "attempts", (json_int_t)x->attempts, "prompts", (json_int_t)x->prompts,
        "tokens_in", (json_int_t)x->tokens_in, "worst_usd_micro",
        x->priced ? json_integer(x->worst_usd_micro) : json_null(),
        "worst_usd_micro_all",
        x->priced ? json_integer(x->worst_usd_micro * x->attempts)
                  : json_null());
}

static int run_print_estimate(struct run_settings *s, struct err *e)
{
    struct run_estimate x;

    if (run_estimate(s, &x, e) < 0)
        return -1;
    if (s->verify.json)
        jsn_line(run_estimate_json(&x));
    else
        run_put_estimate(&x);
    if (s->curriculum && !s->verify.json)
        printf("pieces are not included: they are known once the tasks are "
               "divided\n");
    return 0;
}

/* ---- run ---- */

static int run_run(struct cmd_call *call, struct err *e)
{
    struct run_settings *s = call->values;

    if (call->r.rest_len)
        return err_set(e, ERR_USAGE, "'%s': give tasks with --tasks",
                       call->r.rest[0]);
    return s->dry_run ? run_print_estimate(s, e) : run_search(s, RUN_NEW, e);
}

const struct cmd cmd_run = {
    "run",
    "",
    "port a collection of PyTorch programs to a DSL with a language model",
    "Every unsolved task is tried again and again; each answer is verified,\n"
    "and each solved kernel becomes an example for the others. One folder\n"
    "keeps all of the run: 'monkeys resume DIR' continues it after a stop,\n"
    "a crash or a kill, and 'monkeys archive export DIR' writes its kernels\n"
    "as files.\n"
    "To repeat a run, record it (--record FILE), then run the same command\n"
    "with --cassette FILE --replay-strict: the same answers are verified on\n"
    "the same test inputs, so that the same feedback enters the same\n"
    "prompts. A repetition is not new evidence; without --replay-strict the\n"
    "recorded answers are verified on new inputs.\n"
    "Exit status 0: every task is solved or has used its attempts (or the\n"
    "rest waits for another host, or for answers in the --spool folder), 3:\n"
    "the budget is used up, 4: the verifier or the provider failed, 130:\n"
    "stopped.",
    run_table,
    run_run,
    sizeof(struct run_settings),
    &run_defaults,
};

/* ---- resume ---- */

#define VALUES struct run_settings
#undef MODELING_AT
#define MODELING_AT offsetof(struct run_settings, model)

/* Options that do not change what a run decides may be given again. */
static const struct opt resume_table[] = {
    {"no-wait", 0, OPT_FLAG, NULL,
     "do not wait for answers in the --spool folder: end when nothing else is "
     "left",
     AT(no_wait)},
    RUN_SERVE_OPTION,
    VERIFYING_OPTION("verifier", OPT_TEXT, "local|tcp=HOST:PORT|jobs=DIR",
                     "as in 'monkeys run'", verifier, 0, 0),
    VERIFYING_WORKER_OPTIONS,
    VERIFYING_OPTION("children", OPT_INT, "N", "candidates verified at once",
                     children, 0, 256),
    VERIFYING_OPTION("json", OPT_FLAG, NULL, "print a JSON object per task",
                     json, 0, 0),
    MODELING_OPTIONS,
    {0},
};

/* run.ini first, then the command line. */
static int resume_options(struct cmd_call *call, struct run_settings *s,
                          struct err *e)
{
    const struct run_settings *again = call->values;
    struct opt_result r = {0};
    int rc;

    if (run_settings_read(call->r.rest[0], s, &call->arena, e) < 0)
        return -1;
    s->spool_before = s->model.spool;
    modeling_renew(&s->model, &again->model);
    if (call->r.common.config &&
        conf_apply(call->r.common.config, "resume", resume_table, s,
                   &call->arena, e) < 0)
        return -1;
    rc = opt_parse(resume_table, s, call->argc, call->argv, &r, e);
    opt_result_release(&r);
    return rc;
}

static int resume_run(struct cmd_call *call, struct err *e)
{
    struct run_settings s = run_defaults;
    int rc;

    if (call->r.rest_len != 1)
        return err_set(e, ERR_USAGE, "give the folder of one run");
    rc = resume_options(call, &s, e);
    if (rc == 0) {
        s.out = call->r.rest[0];
        rc = run_search(&s, RUN_RESUME, e);
    }
    opt_release(run_table, &s);
    return rc;
}

const struct cmd cmd_resume = {
    "resume",
    "DIR",
    "continue a run after a stop, a crash or a kill",
    "The result is the same as if the run had not been interrupted (with\n"
    "--order eager it depends on when replies come): stored replies and\n"
    "verdicts are used again. Tasks stay as they were when the run began,\n"
    "even if their files have changed or disappeared. Options come from\n"
    "DIR/run.ini; you can give those below again, such as a higher\n"
    "--budget-usd or another endpoint. A budget counts from the start of\n"
    "the run, not from now.",
    resume_table,
    resume_run,
    sizeof(struct run_settings),
    NULL,
};

/* ---- status ---- */

struct status_values {
    bool tasks, examples, workers, json;
};

#undef VALUES
#define VALUES struct status_values
static const struct opt status_table[] = {
    {"tasks", 0, OPT_FLAG, NULL,
     "one line per task: the best attempt, all verdicts, and why it is not "
     "solved",
     AT(tasks)},
    {"examples", 0, OPT_FLAG, NULL,
     "one line per kernel in the archive: how often it was shown, and how "
     "often "
     "the attempt then succeeded",
     AT(examples)},
    {"workers", 0, OPT_FLAG, NULL,
     "one line per worker that connected to the run: its state, its verdicts, "
     "and when it was last heard",
     AT(workers)},
    {"json", 0, OPT_FLAG, NULL,
     "JSON Lines: one object per run, task, example or worker", AT(json)},
    {0},
};

/* Names of tasks and kernels come from files: they cannot control the terminal. */
static void status_print(const struct summary *m, const char *dir, bool tasks)
{
    struct buf b = BUF_INIT;

    if (tasks) {
        buf_putc(&b, '\n');
    } else {
        buf_printf(&b, "%s: %s", dir, run_states[m->state]);
        if (m->pid)
            buf_printf(&b, " (process %ld)", m->pid);
        buf_puts(&b, "; ");
    }
    status_put_line(m, &b);
    buf_putc(&b, '\n');
    status_put_unsolved(m, &b);
    status_put_proof(m, dir, &b);
    if (!tasks)
        status_put_implausible(m, &b);
    cmd_print(&b, SIZE_MAX);
}

static int status_workers(const struct run_view *view, bool json, struct err *e)
{
    json_t *all = run_view_workers(view, e), *w;
    size_t i;

    if (!all && e->kind != ERR_NONE)
        return -1;
    if (json)
        json_array_foreach(json_object_get(all, "workers"), i, w)
            jsn_line(json_incref(w));
    else
        status_print_workers(all);
    json_decref(all);
    return 0;
}

static int status_summary(const struct status_values *v, struct run_view *view,
                          struct err *e)
{
    struct summary m;

    if (summary_make(view, &m, e) < 0)
        return -1;
    if (v->json)
        jsn_line(summary_run_json(&m, view->dir));
    else
        status_print(&m, view->dir, v->tasks);
    summary_release(&m);
    return 0;
}

static int status_lists(const struct status_values *v, const char *dir,
                        struct err *e)
{
    struct store *s = query_open(dir, e);
    int rc = !s            ? -1
             : v->examples ? status_examples(s, v->json, e)
                           : status_tasks(s, v->json, e);

    query_close(s);
    return rc;
}

static int status_one(const struct status_values *v, const char *dir,
                      struct err *e)
{
    struct run_view view;
    int rc;

    if ((v->tasks || v->examples) && status_lists(v, dir, e) < 0)
        return -1;
    if (v->examples || (v->tasks && v->json))
        return 0;
    if (run_view_open(dir, &view, e) < 0)
        return -1;
    rc = v->workers ? status_workers(&view, v->json, e)
                    : status_summary(v, &view, e);
    run_view_close(&view);
    return rc;
}

static int status_run(struct cmd_call *call, struct err *e)
{
    const struct status_values *v = call->values;
    int rc = 0;

    if (call->r.rest_len == 0)
        return err_set(e, ERR_USAGE, "give the folder of a run");
    if (v->tasks + v->examples + v->workers > 1)
        return err_set(e, ERR_USAGE,
                       "give one of --tasks, --examples and --workers");
    for (size_t i = 0; rc == 0 && i < call->r.rest_len; i++)
        rc = status_one(v, call->r.rest[i], e);
    return rc;
}

const struct cmd cmd_status = {
    "status",
    "DIR...",
    "show the state of runs",
    "Says whether a run is running (and in which process), finished,\n"
    "stopped, killed, out of budget, waiting for answers from others, stuck\n"
    "(tasks were set aside) or failed; then what it has solved, at what\n"
    "cost, and why the other tasks are unsolved: counts by verdict, and the\n"
    "most common errors. You can use it during a run.",
    status_table,
    status_run,
    sizeof(struct status_values),
    NULL,
};
