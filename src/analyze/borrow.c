/* borrow.c: the questions about borrowing, and their table. */
#include "analyze/borrow.h"

#include "analyze/words.h"
#include "base/mem.h"
#include "prompt/ask.h"
#include "prompt/inquiry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS 64 /* numbers that may be asked about */

enum item_state { ITEM_OPEN, ITEM_READ, ITEM_UNREADABLE, ITEM_FAILED };

/* An attempt, and what was answered about it. */
struct item {
    struct analyze_run *run;
    const struct analyze_task *task;
    const struct run_attempt *attempt;
    enum item_state state;
    struct prompt_borrowed found;
};

struct borrow {
    struct item *item;
    size_t items, cap;
    struct inquiry inquiry;
    struct ask_all ask;
};

/* ---- what to ask ---- */

/* The attempts to look at: those of the paper, if none are given. */
static int borrow_numbers(const struct opt_list *list, int64_t *out, size_t *n,
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

static const struct run_attempt *borrow_attempt(const struct run_task *t,
                                                int64_t number)
{
    for (size_t i = 0; i < t->attempts; i++)
        if (t->attempt[i].row.attempt == number)
            return &t->attempt[i];
    return NULL;
}

/* Attempts with these numbers that have code and were shown examples. */
static int borrow_collect(struct borrow *b, struct analysis *a,
                          const struct opt_list *numbers, struct err *e)
{
    int64_t attempt[ATTEMPTS];
    size_t n;

    if (borrow_numbers(numbers, attempt, &n, e) < 0)
        return -1;
    for (size_t i = 0; i < a->runs; i++)
        for (size_t k = 0; k < a->run[i].tasks; k++)
            for (size_t m = 0; m < n; m++) {
                struct analyze_run *r = &a->run[i];
                const struct run_attempt *at =
                    borrow_attempt(r->task[k].task, attempt[m]);

                if (!at || !at->row.code || !at->shown_len)
                    continue;
                b->item = xgrow(b->item, &b->cap, b->items, sizeof(*b->item));
                b->item[b->items++] =
                    (struct item){.run = r, .task = &r->task[k], .attempt = at};
            }
    return b->items ? 0
                    : err_set(e, ERR_INPUT,
                              "no attempt with one of these numbers has code "
                              "and was shown examples");
}

/* What the question about an attempt is made of: its code, and the examples as
 * they were shown. */
struct comparison {
    struct str code;
    struct prompt_part *parent;
    size_t parents;
};

static int borrow_read(const struct item *x, struct arena *memory,
                       struct comparison *out, struct err *e)
{
    *out = (struct comparison){0};
    out->parent =
        arena_alloc(memory, (x->attempt->shown_len + 1) * sizeof(*out->parent));
    if (words_text(x->run, x->attempt->row.code, memory, &out->code, e) < 0)
        return -1;
    for (size_t i = 0; i < x->attempt->shown_len; i++) {
        const struct row_entry *entry =
            run_view_entry(&x->run->view, x->attempt->shown[i].entry);
        struct prompt_part *to = &out->parent[out->parents];

        if (!entry)
            continue;
        to->name = entry->name;
        if (words_text(x->run, entry->solution, memory, &to->text, e) < 0)
            return -1;
        out->parents++;
    }
    return 0;
}

/* ---- asking ---- */

static int borrow_ask(struct borrow *b, const struct item *x,
                      const char *purpose, const struct prompt *p,
                      struct arena *memory, struct ledger_answer *out)
{
    char asked[HASH_HEX];
    struct ledger_question q = {
        .purpose = purpose, .asked = asked, .prompt_hash = p->hash};

    ledger_hash(asked, "%s", p->hash);
    q.request =
        (struct llm_request){.key = {x->task->task->row.id, x->run->name,
                                     purpose, (int)x->attempt->row.attempt},
                             .message = p->message,
                             .count = p->count};
    return ask_all_question(&b->ask, &q, memory, out);
}

/* Asks, and asks again if the answer cannot be read. */
static int borrow_ask_about(struct borrow *b, struct item *x,
                            const struct comparison *c, struct arena *memory)
{
    struct prompt_part target = {.name = x->task->task->row.id,
                                 .text = c->code};
    struct ledger_answer a;
    struct prompt p;

    prompts_borrowing(b->inquiry.prompts, &target, c->parent, c->parents,
                      memory, &p);
    for (bool again = false;; again = true) {
        struct err why = ERR_INIT;

        if (borrow_ask(b, x, again ? "borrowing-repair" : "borrowing", &p,
                       memory, &a) < 0)
            return -1;
        x->state = a.end == LEDGER_FAILED ? ITEM_FAILED
                   : prompts_borrowing_read(a.text, c->code, c->parents,
                                            &x->found, &why) == 0
                       ? ITEM_READ
                       : ITEM_UNREADABLE;
        if (x->state != ITEM_UNREADABLE || again)
            return 0;
        prompts_repair(b->inquiry.prompts, a.text, prompt_borrowing_shape,
                       why.text, memory, &p);
    }
}

static int borrow_compare(struct ask_all *a, size_t item, void *arg,
                          struct err *e)
{
    struct borrow *b = arg;
    struct item *x = &b->item[item];
    struct comparison c;
    struct arena memory;
    int rc;

    (void)a;
    arena_init(&memory);
    rc = borrow_read(x, &memory, &c, e);
    if (rc == 0)
        rc = borrow_ask_about(b, x, &c, &memory);
    arena_release(&memory);
    return rc;
}

static void borrow_step(const struct ask_progress *p, void *arg)
{
    inquiry_step(arg, p->done, "");
}

static int borrow_ask_all(struct borrow *b, const char *dir, struct err *e)
{
    struct inquiry *q = &b->inquiry;
    enum ask_end end;

    b->ask = (struct ask_all){.part = inquiry_parts(q)};
    b->ask.part.step = borrow_step;
    b->ask.part.arg = q;
    q->term = term_open(STDERR_FILENO, b->items, 0, "kernels compared");
    end = ask_all(&b->ask, b->items, borrow_compare, b, e);
    return inquiry_ended(end, dir, "the answers", e);
}

/* ---- the table ---- */

struct sum {
    int64_t read, unreadable, failed, dropped;
    double share;
};

static struct sum borrow_sum(const struct borrow *b,
                             const struct analyze_run *r, int64_t attempt,
                             bool solved)
{
    struct sum s = {0};

    for (size_t i = 0; i < b->items; i++) {
        const struct item *x = &b->item[i];

        if (x->run != r || x->attempt->row.attempt != attempt ||
            x->attempt->row.solved != solved)
            continue;
        s.unreadable += x->state == ITEM_UNREADABLE;
        s.failed += x->state == ITEM_FAILED;
        if (x->state != ITEM_READ || !x->found.lines)
            continue;
        s.read++;
        s.dropped += (int64_t)x->found.dropped;
        s.share += (double)x->found.borrowed / (double)x->found.lines;
    }
    return s;
}

static bool borrow_is_first(const struct borrow *b, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (b->item[k].run == b->item[i].run &&
            b->item[k].attempt->row.attempt == b->item[i].attempt->row.attempt)
            return false;
    return true;
}

static void borrow_put(const struct borrow *b, struct table *t)
{
    static const char *const names[] = {"run",       "attempt",  "outcome",
                                        "kernels",   "borrowed", "unreadable",
                                        "no answer", NULL};
    int64_t dropped = 0;

    table_columns(t, names);
    for (size_t i = 0; i < b->items; i++)
        for (int solved = 1; borrow_is_first(b, i) && solved >= 0; solved--) {
            int64_t attempt = b->item[i].attempt->row.attempt;
            struct sum s = borrow_sum(b, b->item[i].run, attempt, solved);

            if (!s.read && !s.unreadable && !s.failed)
                continue;
            dropped += s.dropped;
            table_text(t, b->item[i].run->name);
            table_int(t, attempt);
            table_text(t, solved ? "solved" : "failed");
            table_int(t, s.read);
            if (s.read)
                table_share(t, s.share / (double)s.read);
            else
                table_empty(t);
            table_int(t, s.unreadable);
            table_int(t, s.failed);
        }
    table_note(t, "borrowed: lines of a kernel that are not blank and that the "
                  "model says come from an example, averaged over kernels");
    if (dropped)
        table_note(t,
                   "findings about an example that was not shown: %lld, "
                   "dropped",
                   (long long)dropped);
}

int borrow_fill(const struct borrow_values *v, struct analysis *a,
                const char *home, struct table *t, struct err *e)
{
    struct inquiry_opts o = {.values = &v->model,
                             .home = home,
                             .dir = v->store ? v->store : "borrowing",
                             .file = "borrowing.db"};
    struct borrow b = {0};
    struct err late = ERR_INIT;
    int rc = analysis_read(a, e);

    if (rc == 0)
        rc = borrow_collect(&b, a, &v->attempt, e);
    if (rc == 0)
        rc = inquiry_open(&b.inquiry, &o, e);
    if (rc == 0)
        rc = borrow_ask_all(&b, o.dir, e);
    if (rc == 0)
        borrow_put(&b, t);
    if (inquiry_close(&b.inquiry, &late) < 0 && rc >= 0) {
        *e = late;
        rc = -1;
    }
    free(b.item);
    return rc;
}
