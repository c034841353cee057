/* borrowing.c: opens what a question needs: model, budget, store. */
#include "cmd/borrowing.h"

#include "base/fs.h"
#include "base/home.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/term.h"
#include "store/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ATTEMPTS 64

struct work {
    const struct borrowing_values *v;
    const char *dir;
    struct home home;
    struct loop *loop;
    struct modeling model;
    struct prompts *prompts;
    struct lock lock;
    struct store *store;
    struct ledger *ledger;
    struct borrow *borrow;
    struct term *term;
};

/* The attempts to look at: those of the paper, if none are given. */
static int read_attempts(const struct opt_list *list, int64_t *out, size_t *n,
                         struct err *e)
{
    out[0] = 1;
    out[1] = 3;
    *n = 2;
    for (size_t i = 0; i < list->len; i++) {
        if (i == ATTEMPTS ||
            !str_to_i64(str_of(list->item[i]), 1, 1000000, &out[i]))
            return err_set(e, ERR_USAGE,
                           "--attempt '%s' is not the number of an attempt",
                           list->item[i]);
        *n = i + 1;
    }
    return 0;
}

static int open_all(struct work *w, struct err *e)
{
    const struct modeling_values *m = &w->v->model;
    struct ledger_parts parts;
    char *prompts;

    if (modeling_read(m, &w->model, e) < 0 || home_find(&w->home, e) < 0)
        return -1;
    prompts = fs_join(w->home.dir, "prompts");
    w->prompts = prompts_load(prompts, e);
    free(prompts);
    w->loop = w->prompts ? loop_new(e) : NULL;
    if (!w->loop || modeling_open(m, &w->model, w->loop, w->home.dir, e) < 0)
        return -1;
    w->store = lock_store(w->dir, "borrowing.db", w->loop, &w->lock, e);
    if (!w->store || llm_record(w->model.llm, m->record, NULL, e) < 0)
        return -1;
    parts = (struct ledger_parts){.loop = w->loop,
                                  .store = w->store,
                                  .budget = &w->model.budget,
                                  .patient = llm_is_patient(w->model.llm)};
    w->ledger = ledger_open(&parts, e);
    return w->ledger ? 0 : -1;
}

static int close_all(struct work *w, struct err *e)
{
    int rc = 0;

    term_close(w->term);
    borrow_free(w->borrow);
    ledger_close(w->ledger);
    modeling_close(&w->model);
    if (w->store) {
        rc = store_close(w->store, e);
        lock_drop(&w->lock);
    }
    if (w->loop)
        loop_free(w->loop);
    if (w->prompts)
        prompts_free(w->prompts);
    home_release(&w->home);
    return rc;
}

static void on_step(size_t done, void *arg)
{
    struct work *w = arg;
    char note[40];

    modeling_news(&w->model);
    snprintf(note, sizeof(note), "$%.4f",
             (double)w->model.budget.spent.usd_micro / 1e6);
    term_set(w->term, done, note);
}

static void on_signal(int signo, void *arg)
{
    struct work *w = arg;

    (void)signo;
    log_warn("stopping: replies under way are waited for");
    borrow_stop(w->borrow);
}

static int ask(struct work *w, struct table *t, struct err *e)
{
    struct borrow_parts parts = {.loop = w->loop,
                                 .ledger = w->ledger,
                                 .front = w->model.llm,
                                 .prompts = w->prompts,
                                 .max_tokens = w->v->model.max_tokens};
    enum borrow_end end;

    if (loop_add_stops(w->loop, on_signal, w, e) < 0)
        return -1;
    w->term = term_open(STDERR_FILENO, borrow_questions(w->borrow), 0,
                        "kernels compared");
    end = borrow_run(w->borrow, &parts, on_step, w, e);
    term_close(w->term);
    w->term = NULL;
    if (end == BORROW_NO_BUDGET)
        return err_set(e, ERR_BUDGET,
                       "the budget has no room for another question; %s keeps "
                       "the answers: run the command again with a larger "
                       "budget",
                       w->dir);
    if (end == BORROW_STOPPED) {
        fprintf(stderr,
                "stopped; %s keeps the answers: run the command again to "
                "continue\n",
                w->dir);
        return 130;
    }
    if (end == BORROW_DONE)
        borrow_fill(w->borrow, t);
    return end == BORROW_DONE ? 0 : -1;
}

int borrowing_ask(const struct borrowing_values *v, struct analysis *a,
                  struct table *t, struct err *e)
{
    struct work w = {.v = v, .dir = v->store ? v->store : "borrowing"};
    struct err late = ERR_INIT;
    int64_t attempt[ATTEMPTS];
    size_t n;
    int rc = read_attempts(&v->attempt, attempt, &n, e);

    if (rc == 0)
        rc = (w.borrow = borrow_new(a, attempt, n, e)) ? 0 : -1;
    if (rc == 0)
        rc = open_all(&w, e) < 0 ? -1 : ask(&w, t, e);
    if (close_all(&w, &late) < 0 && rc >= 0) {
        *e = late;
        rc = -1;
    }
    return rc;
}
