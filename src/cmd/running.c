/* running.c: a run as people see it: a progress line, a table, how it ended. */
#include "cmd/running.h"

#include "base/json.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/summaries.h"
#include "io/term.h"
#include "web/web_beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- while it works ---- */

struct bar {
    struct term *term;
    const char *label; /* of the phase that it shows */
};

static void on_step(const struct run_progress *p, void *arg)
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
static double cents_up(int64_t usd_micro)
{
    int64_t cents = (usd_micro + 9999) / 10000;

    return (double)cents / 100;
}

static int show(struct run *r, bool json, struct err *e)
{
    struct run_view v;
    struct summary m;
    struct buf b;

    if (run_look(r, &v, e) < 0)
        return -1;
    if (summary_make(&v, &m, e) < 0) {
        run_view_close(&v);
        return -1;
    }
    if (json) {
        summaries_tasks(&m);
    } else {
        buf_init(&b, BUF_UNLIMITED);
        summaries_table(&m, &b);
        buf_putc(&b, '\n');
        summaries_line(&m, &b);
        printf("%s\n", buf_str(&b));
        buf_release(&b);
    }
    if (!json && m.kernels)
        printf(
            "\n%lld solved kernel%s in the run's archive. List them, or "
            "write them as files:\n"
            "  monkeys archive list %s\n  monkeys archive export %s -o DIR\n",
            (long long)m.kernels, m.kernels == 1 ? " is" : "s are", v.dir,
            v.dir);
    cmd_flush(); /* what follows on stderr stands below it */
    summary_release(&m);
    run_view_close(&v);
    return 0;
}

/* An attempt begins only if the most that it may cost fits, so some of the
 * budget is always left. */
static void say_budget(const struct run_settings *s, const struct run_result *x)
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
                cents_up(next.usd_micro));
    else
        fprintf(stderr,
                "out of budget: the next attempt may use %lld tokens, and %lld "
                "of %lld are left; continue with: monkeys resume %s "
                "--budget-tokens %lld\n",
                (long long)x->need.tokens,
                (long long)(b->cap.tokens - taken.tokens),
                (long long)b->cap.tokens, s->out, (long long)next.tokens);
}

static void say_replayed(const struct run_settings *s)
{
    printf("\n"
           "These replies were replayed from %s. To use your own model:\n"
           "  monkeys run --tasks %s --dsl %s --provider openai --model NAME "
           "--budget-usd 5\n",
           s->model.cassette, s->tasks.len == 1 ? s->tasks.item[0] : "PATH",
           s->dsl);
}

static int say_end(const struct run_settings *s, const struct run_result *x)
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
        say_replayed(s);
    if (x->end == SEARCH_NO_BUDGET)
        say_budget(s, x);
    else if (ends[x->end].text)
        fprintf(stderr, "%s; continue with: monkeys resume %s\n",
                ends[x->end].text, s->out);
    return ends[x->end].status;
}

static int go(struct run *r, const struct run_settings *s, struct err *e)
{
    struct bar bar = {0};
    struct run_watch watch = {on_step, &bar};
    struct run_result x;
    int rc = run_go(r, &watch, &x, e);

    if (bar.term)
        term_close(bar.term);
    if (rc == 0 && x.searched)
        rc = show(r, s->verify.json, e);
    if (rc == 0)
        rc = say_end(s, &x);
    run_result_release(&x);
    return rc;
}

/* ---- a page beside it ---- */

/* NULL when none is asked for, or when it cannot be had: that is no reason not
 * to run. */
static struct web_beside *start_page(const struct run_settings *s,
                                     struct web_listen *where)
{
    const struct opt_list none = {0};
    struct err e = ERR_INIT;
    struct web_beside *page = NULL;

    if (!s->serve)
        return NULL;
    if (web_listen_open(s->serve[0] ? s->serve : NULL, &none, where, &e) == 0)
        page = web_beside_start(s->out, where, &e);
    if (!page) {
        log_warn("no page: %s; the run continues without one. To see it, run: "
                 "monkeys serve %s --listen 127.0.0.1:0",
                 e.text, s->out);
        return NULL;
    }
    log_info("see the run at %s", where->url);
    web_listen_warn(where);
    return page;
}

int running(struct run_settings *s, enum run_how how, struct err *e)
{
    struct err late = ERR_INIT;
    struct web_beside *page;
    struct web_listen where;
    struct run *r;
    int rc;

    if (s->serve && s->serve[0] && web_listen_check(s->serve, e) < 0)
        return -1;
    r = run_open(s, how, e);
    if (!r)
        return -1;
    page = start_page(s, &where);
    rc = go(r, s, e);
    if (run_close(r, &late) < 0 && rc >= 0) {
        *e = late;
        rc = -1;
    }
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

static void print_estimate(const struct run_estimate *x)
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
               cents_up(x->worst_usd_micro),
               cents_up(x->worst_usd_micro * x->attempts));
    else
        printf(
            "no price is known for this model; set one with --price IN,OUT\n");
}

static json_t *estimate_json(const struct run_estimate *x)
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

int running_estimate(struct run_settings *s, struct err *e)
{
    struct run_estimate x;

    if (run_estimate(s, &x, e) < 0)
        return -1;
    if (s->verify.json)
        jsn_line(estimate_json(&x));
    else
        print_estimate(&x);
    if (s->curriculum && !s->verify.json)
        printf("pieces are not included: they are known once the tasks are "
               "divided\n");
    return 0;
}
