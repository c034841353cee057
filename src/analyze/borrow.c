/* borrow.c: the questions about borrowing, a few at a time. */
#include "analyze/borrow.h"

#include "analyze/words.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 256 /* questions that are built; the front limits requests */

enum item_state { ITEM_OPEN, ITEM_READ, ITEM_UNREADABLE, ITEM_FAILED };

/* An attempt, and what was answered about it. */
struct item {
    struct borrow *b;
    struct analyze_run *run;
    const struct analyze_task *task;
    const struct run_attempt *attempt;
    enum item_state state;
    struct prompt_borrowed found;
    /* while it is asked */
    struct str code;
    size_t parents;
    struct prompt prompt;
    bool repair; /* it is asked for the second time */
    char asked[HASH_HEX];
    struct ledger_call *call;
    struct arena memory;
};

struct borrow {
    struct item *item;
    size_t items, cap, next, open, done;
    struct borrow_parts part;
    enum borrow_end end;
    bool finished, asking;
    struct err err;
    void (*step)(size_t done, void *arg);
    void *arg;
};

/* ---- what to ask ---- */

static const struct run_attempt *find_attempt(const struct run_task *t,
                                              int64_t number)
{
    for (size_t i = 0; i < t->attempts; i++)
        if (t->attempt[i].row.attempt == number)
            return &t->attempt[i];
    return NULL;
}

struct borrow *borrow_new(struct analysis *a, const int64_t *attempt, size_t n,
                          struct err *e)
{
    struct borrow *b = xcalloc(1, sizeof(*b));

    for (size_t i = 0; i < a->runs; i++)
        for (size_t k = 0; k < a->run[i].tasks; k++)
            for (size_t m = 0; m < n; m++) {
                struct analyze_run *r = &a->run[i];
                const struct run_attempt *at =
                    find_attempt(r->task[k].task, attempt[m]);

                if (!at || !at->row.code || !at->shown_len)
                    continue;
                b->item = xgrow(b->item, &b->cap, b->items, sizeof(*b->item));
                b->item[b->items++] =
                    (struct item){.run = r, .task = &r->task[k], .attempt = at};
            }
    for (size_t i = 0; i < b->items; i++)
        b->item[i].b = b;
    if (b->items)
        return b;
    err_set(e, ERR_INPUT,
            "no attempt with one of these numbers has code and was shown "
            "examples");
    borrow_free(b);
    return NULL;
}

void borrow_free(struct borrow *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->items; i++) {
        if (b->item[i].call)
            ledger_drop(b->item[i].call);
        arena_release(&b->item[i].memory);
    }
    free(b->item);
    free(b);
}

size_t borrow_questions(const struct borrow *b)
{
    return b->items;
}

/* The prompt of an attempt: its code, and the examples as they were shown. */
static int build_prompt(struct item *x, struct err *e)
{
    struct prompt_part target = {.name = x->task->task->row.id}, *parent;

    parent =
        arena_alloc(&x->memory, (x->attempt->shown_len + 1) * sizeof(*parent));
    if (words_text(x->run, x->attempt->row.code, &x->memory, &x->code, e) < 0)
        return -1;
    target.text = x->code;
    for (size_t i = 0; i < x->attempt->shown_len; i++) {
        const struct run_entry *entry =
            run_view_entry(&x->run->view, x->attempt->shown[i].entry);

        if (!entry)
            continue;
        parent[x->parents].name = entry->row.name;
        if (words_text(x->run, entry->row.solution, &x->memory,
                       &parent[x->parents].text, e) < 0)
            return -1;
        x->parents++;
    }
    prompts_borrowing(x->b->part.prompts, &target, parent, x->parents,
                      &x->memory, &x->prompt);
    return 0;
}

/* ---- asking ---- */

static void finish(struct borrow *b, enum borrow_end end)
{
    if (b->finished)
        return;
    b->finished = true;
    b->end = end;
    loop_stop(b->part.loop);
}

static void ask_more(struct borrow *b);
static void ask(struct item *x);

static void end_item(struct item *x, enum item_state state)
{
    struct borrow *b = x->b;

    x->state = state;
    arena_release(&x->memory);
    b->open--;
    b->done++;
    if (b->step)
        b->step(b->done, b->arg);
    if (b->done == b->items)
        finish(b, BORROW_DONE);
}

static void take_reply(struct item *x, struct str reply)
{
    struct err why = ERR_INIT;

    if (prompts_borrowing_read(reply, x->code, x->parents, &x->found, &why) ==
        0) {
        end_item(x, ITEM_READ);
    } else if (x->repair) {
        end_item(x, ITEM_UNREADABLE);
    } else {
        x->repair = true;
        prompts_repair(x->b->part.prompts, reply, prompt_borrowing_shape,
                       why.text, &x->memory, &x->prompt);
        ask(x);
    }
}

static void on_answer(void *arg, const struct ledger_answer *a)
{
    struct item *x = arg;
    struct borrow *b = x->b;

    x->call = NULL;
    if (b->finished)
        return;
    if (a->end == LEDGER_ANSWERED)
        take_reply(x, a->text);
    else if (a->end == LEDGER_FAILED)
        end_item(x, ITEM_FAILED);
    else if (a->end == LEDGER_NO_BUDGET)
        finish(b, BORROW_NO_BUDGET);
    else if (a->end == LEDGER_STOPPED)
        finish(b, BORROW_STOPPED);
    else {
        b->err = *a->err;
        finish(b, BORROW_FAILED);
    }
    ask_more(b);
}

static void ask(struct item *x)
{
    struct borrow *b = x->b;
    struct ledger_question q = {.purpose = x->repair ? "borrowing-repair"
                                                     : "borrowing",
                                .task = -1,
                                .front = b->part.front};
    struct ledger_call *call;

    ledger_hash(x->asked, "%s", x->prompt.hash);
    q.asked = x->asked;
    q.prompt_hash = x->prompt.hash;
    q.request =
        (struct llm_request){.key = {x->task->task->row.id, x->run->name,
                                     q.purpose, (int)x->attempt->row.attempt},
                             .message = x->prompt.message,
                             .count = x->prompt.count,
                             .max_tokens = b->part.max_tokens};
    call = ledger_ask(b->part.ledger, &q, on_answer, x);
    if (call)
        x->call = call; /* else it has been answered */
}

/* An answer from the store comes at once, from within ask(): the loop goes on
 * by itself then. */
static void ask_more(struct borrow *b)
{
    if (b->asking)
        return;
    b->asking = true;
    while (!b->finished && b->next < b->items && b->open < AT_ONCE) {
        struct item *x = &b->item[b->next++];

        b->open++;
        arena_init(&x->memory);
        if (build_prompt(x, &b->err) < 0)
            finish(b, BORROW_FAILED);
        else
            ask(x);
    }
    b->asking = false;
}

enum borrow_end borrow_run(struct borrow *b, const struct borrow_parts *p,
                           void (*step)(size_t done, void *arg), void *arg,
                           struct err *e)
{
    b->part = *p;
    b->step = step;
    b->arg = arg;
    ask_more(b);
    while (!b->finished)
        loop_run(b->part.loop);
    if (b->end == BORROW_FAILED)
        *e = b->err;
    return b->end;
}

void borrow_stop(struct borrow *b)
{
    ledger_stop(b->part.ledger);
}

/* ---- the table ---- */

struct sum {
    int64_t read, unreadable, failed, dropped;
    double share;
};

static struct sum sum_up(const struct borrow *b, const struct analyze_run *r,
                         int64_t attempt, bool solved)
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

static bool is_first(const struct borrow *b, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (b->item[k].run == b->item[i].run &&
            b->item[k].attempt->row.attempt == b->item[i].attempt->row.attempt)
            return false;
    return true;
}

void borrow_fill(const struct borrow *b, struct table *t)
{
    static const char *const names[] = {"run",       "attempt",  "outcome",
                                        "kernels",   "borrowed", "unreadable",
                                        "no answer", NULL};
    int64_t dropped = 0;

    table_columns(t, names);
    for (size_t i = 0; i < b->items; i++)
        for (int solved = 1; is_first(b, i) && solved >= 0; solved--) {
            int64_t attempt = b->item[i].attempt->row.attempt;
            struct sum s = sum_up(b, b->item[i].run, attempt, solved);

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
