/* borrowing.c: the questions about borrowing, from the options to the table. */
#include "cmd/borrowing.h"

#include "cmd/inquiry.h"

#include <unistd.h>

#define ATTEMPTS 64

struct work {
    const struct borrowing_values *v;
    const char *dir;
    struct inquiry inquiry;
    struct borrow *borrow;
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

static void borrowing_step(const struct ask_progress *p, void *arg)
{
    inquiry_step(arg, p->done);
}

static int borrowing_run(struct work *w, struct table *t, struct err *e)
{
    struct inquiry *a = &w->inquiry;
    struct ask_parts parts = paying_parts(&a->asked, a->loop, &w->v->model);
    enum ask_end end;

    parts.step = borrowing_step;
    parts.arg = a;
    a->term = term_open(STDERR_FILENO, borrow_questions(w->borrow), 0,
                        "kernels compared");
    end = borrow_run(w->borrow, &parts, a->asked.prompts, e);
    term_close(a->term);
    a->term = NULL;
    if (paying_ended(end, w->dir, "the answers", e) < 0)
        return -1;
    borrow_fill(w->borrow, t);
    return 0;
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
        rc = inquiry_open(&w.inquiry, &v->model, w.dir, "borrowing.db", e);
    if (rc == 0)
        rc = borrowing_run(&w, t, e);
    borrow_free(w.borrow);
    if (inquiry_close(&w.inquiry, &late) < 0 && rc >= 0) {
        *e = late;
        rc = -1;
    }
    return rc;
}
