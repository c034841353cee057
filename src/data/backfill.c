/* backfill.c: the questions for plans, a few at a time, and the prompts that the
 * answers complete. */
#include "data/backfill.h"

#include "base/log.h"
#include "base/mem.h"
#include "prompt/ask.h"
#include "prompt/extract.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 256 /* questions that are built; the front limits requests */

/* A kernel, and what was answered about it. */
struct item {
    struct backfill *b;
    const struct sample *sample;
    char *plan; /* NULL: there is none */
    /* while it is asked */
    struct attempt_view view;
    struct prompt prompt;
    char asked[HASH_HEX];
    struct ledger_call *call;
    bool open;
};

struct backfill {
    struct backfill_parts part;
    const struct sample *first; /* of the samples */
    struct item *item;
    size_t *of; /* of each sample: its item, counted from 1; 0: none */
    size_t items, cap, next, open, done;
    struct map packs; /* by id */
    enum backfill_end end;
    bool finished, asking;
    struct err err;
};

struct backfill *backfill_new(const struct backfill_parts *p)
{
    struct backfill *b = xcalloc(1, sizeof(*b));

    b->part = *p;
    map_init(&b->packs);
    return b;
}

static void close_item(struct item *x)
{
    if (x->open)
        run_attempt_view_release(&x->view);
    x->open = false;
}

void backfill_free(struct backfill *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->items; i++) {
        if (b->item[i].call)
            ledger_drop(b->item[i].call);
        close_item(&b->item[i]);
        free(b->item[i].plan);
    }
    for (size_t i = 0; i < b->packs.len; i++)
        pack_free(b->packs.items[i].value);
    map_release(&b->packs);
    free(b->item);
    free(b->of);
    free(b);
}

/* ---- prompts ---- */

static struct pack *find_pack(struct backfill *b, const struct sample *x,
                              struct err *e)
{
    const char *id = run_view_fact(x->view, "dsl");
    struct pack *p = map_get(&b->packs, str_of(id));

    if (!p && (p = packs_load(b->part.packs, id, e)))
        map_set(&b->packs, str_of(id), p);
    return p;
}

static int text_of(const struct sample *x, const char *blob, struct arena *a,
                   struct str *out, struct err *e)
{
    struct buf text;
    int rc;

    buf_init(&text, BUF_UNLIMITED);
    rc = run_view_text(x->view, blob, &text, e);
    if (rc == 0)
        *out =
            (struct str){arena_strndup(a, buf_str(&text), text.len), text.len};
    buf_release(&text);
    return rc;
}

static int ask_for_plan(struct item *x, struct err *e)
{
    struct arena *a = &x->view.memory;
    struct prompt_backfill in = {
        .pack = find_pack(x->b, x->sample, e),
        .solution = x->view.code,
        .precision = run_view_fact(x->sample->view, "precision"),
        .device = run_view_fact(x->sample->view, "device")};

    if (!in.pack ||
        text_of(x->sample, x->sample->task->row.source, a, &in.task, e) < 0)
        return -1;
    return prompts_backfill(x->b->part.prompts, &in, a, &x->prompt, e);
}

/* The examples that the attempt was shown. */
static int read_examples(const struct sample *x, struct arena *a,
                         struct prompt_input *in, struct err *e)
{
    struct prompt_example *list =
        arena_alloc(a, (x->kernel->shown_len + 1) * sizeof(*list));

    in->example = list;
    for (size_t i = 0; i < x->kernel->shown_len; i++) {
        const struct run_entry *n =
            run_view_entry(x->view, x->kernel->shown[i].entry);
        struct prompt_example *to = &list[in->example_count];

        if (!n)
            continue;
        *to = (struct prompt_example){.name = n->row.name};
        if (text_of(x, n->row.problem, a, &to->problem, e) < 0 ||
            text_of(x, n->row.solution, a, &to->solution, e) < 0 ||
            (n->row.plan && text_of(x, n->row.plan, a, &to->plan, e) < 0))
            return -1;
        in->example_count++;
    }
    return 0;
}

/* What the run's prompts start with: the guide may have changed since. */
static struct str start_of(const struct attempt_view *v)
{
    const struct attempt_call *c = run_attempt_view_call(v, NULL);

    if (!c || !c->messages || strcmp(c->message[0].role, "system") != 0)
        return (struct str){NULL, 0};
    return (struct str){c->message[0].text.p, c->message[0].first};
}

int backfill_prompt(struct backfill *b, const struct sample *x,
                    struct attempt_view *v, enum prompt_stage stage,
                    struct prompt *out, struct err *e)
{
    struct arena *a = &v->memory;
    struct prompt_input in = {.stage = stage,
                              .pack = find_pack(b, x, e),
                              .task_id = x->task->row.id,
                              .precision = run_view_fact(x->view, "precision"),
                              .device = run_view_fact(x->view, "device")};
    struct str start = start_of(v);

    if (stage == PROMPT_CODE)
        in.plan = backfill_plan(b, x);
    if (!in.pack || text_of(x, x->task->row.source, a, &in.task, e) < 0 ||
        read_examples(x, a, &in, e) < 0 ||
        prompts_build(b->part.prompts, &in, a, out, e) < 0)
        return -1;
    if (start.p)
        out->message[0].text = start;
    return 0;
}

/* ---- asking ---- */

static void finish(struct backfill *b, enum backfill_end end)
{
    if (b->finished)
        return;
    b->finished = true;
    b->end = end;
    loop_stop(b->part.loop);
}

static void end_item(struct item *x, const char *why)
{
    struct backfill *b = x->b;

    if (why)
        log_warn("%s: %s: no plan: %s", x->sample->view->dir,
                 x->sample->task->row.id, why);
    close_item(x);
    b->open--;
    b->done++;
    if (b->part.step)
        b->part.step(b->done, b->items, b->part.arg);
    if (b->done == b->items)
        finish(b, BACKFILL_DONE);
}

static void take_reply(struct item *x, const struct ledger_answer *a)
{
    struct str plan = str_trim(extract_plan(a->text));

    if (a->cut)
        end_item(x, "the answer was cut at its limit (--plan-tokens)");
    else if (!plan.n)
        end_item(x, "the answer is empty");
    else {
        x->plan = xstrndup(plan.p, plan.n);
        end_item(x, NULL);
    }
}

static void ask_more(struct backfill *b);

static void on_answer(void *arg, const struct ledger_answer *a)
{
    struct item *x = arg;
    struct backfill *b = x->b;

    x->call = NULL;
    if (b->finished)
        return;
    if (a->end == LEDGER_ANSWERED)
        take_reply(x, a);
    else if (a->end == LEDGER_FAILED)
        end_item(x, a->why);
    else if (a->end == LEDGER_NO_BUDGET)
        finish(b, BACKFILL_NO_BUDGET);
    else if (a->end == LEDGER_STOPPED)
        finish(b, BACKFILL_STOPPED);
    else {
        b->err = *a->err;
        finish(b, BACKFILL_FAILED);
    }
    ask_more(b);
}

static int ask(struct item *x, struct err *e)
{
    struct backfill *b = x->b;
    struct ledger_question q = {
        .purpose = "backfill", .task = -1, .front = b->part.front};
    struct ledger_call *call;

    if (run_attempt_view_make(x->sample->view, x->sample->kernel, &x->view, e) <
        0)
        return -1;
    x->open = true;
    if (ask_for_plan(x, e) < 0)
        return -1;
    ledger_hash(x->asked, "%s", x->prompt.hash);
    q.asked = x->asked;
    q.prompt_hash = x->prompt.hash;
    q.request = (struct llm_request){
        .key = {x->sample->task->row.id,
                run_view_fact(x->sample->view, "method"), q.purpose,
                (int)x->sample->kernel->row.attempt},
        .message = x->prompt.message,
        .count = x->prompt.count,
        .max_tokens = b->part.max_tokens};
    call = ledger_ask(b->part.ledger, &q, on_answer, x);
    if (call)
        x->call = call; /* else it has been answered */
    return 0;
}

/* An answer from the store comes at once, from within ask(): the loop goes on
 * by itself then. */
static void ask_more(struct backfill *b)
{
    if (b->asking)
        return;
    b->asking = true;
    while (!b->finished && b->next < b->items && b->open < AT_ONCE) {
        struct item *x = &b->item[b->next++];

        b->open++;
        if (ask(x, &b->err) < 0)
            finish(b, BACKFILL_FAILED);
    }
    b->asking = false;
}

static bool is_one_stage(const struct sample *x)
{
    for (size_t i = 0; i < x->kernel->calls; i++)
        if (strcmp(x->kernel->call[i].purpose, "plan") == 0)
            return false;
    return true;
}

enum backfill_end backfill_run(struct backfill *b, const struct samples *s,
                               struct err *e)
{
    b->first = s->item;
    b->of = xcalloc(s->len + 1, sizeof(*b->of));
    for (size_t i = 0; i < s->len; i++) {
        if (!is_one_stage(&s->item[i]))
            continue;
        b->item = xgrow(b->item, &b->cap, b->items, sizeof(*b->item));
        b->item[b->items++] = (struct item){.sample = &s->item[i]};
        b->of[i] = b->items;
    }
    for (size_t i = 0; i < b->items; i++)
        b->item[i].b = b;
    if (!b->items)
        return BACKFILL_DONE;
    ask_more(b);
    while (!b->finished)
        loop_run(b->part.loop);
    if (b->end == BACKFILL_FAILED)
        *e = b->err;
    return b->end;
}

void backfill_stop(struct backfill *b)
{
    ledger_stop(b->part.ledger);
}

const char *backfill_model(const struct backfill *b)
{
    return b->part.model ? b->part.model : "";
}

struct str backfill_plan(const struct backfill *b, const struct sample *x)
{
    size_t n = b && b->of ? b->of[x - b->first] : 0;
    const char *plan = n ? b->item[n - 1].plan : NULL;

    return plan ? str_of(plan) : (struct str){NULL, 0};
}
