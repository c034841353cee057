/* backfill.c: the questions for plans, and the prompts that the answers
 * complete. */
#include "data/backfill.h"

#include "base/log.h"
#include "base/mem.h"
#include "prompt/ask.h"
#include "prompt/extract.h"

#include <stdlib.h>
#include <string.h>

/* A kernel, and what was answered about it. */
struct item {
    const struct sample *sample;
    char *plan; /* NULL: there is none */
};

struct backfill {
    struct backfill_parts part;
    struct ask_all ask;
    const struct sample *first; /* of the samples */
    struct item *item;
    size_t *of; /* of each sample: its item, counted from 1; 0: none */
    size_t items, cap;
    struct map packs; /* by id */
};

struct backfill *backfill_new(const struct backfill_parts *p)
{
    struct backfill *b = xcalloc(1, sizeof(*b));

    b->part = *p;
    map_init(&b->packs);
    return b;
}

void backfill_free(struct backfill *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->items; i++)
        free(b->item[i].plan);
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

static int backfill_text_of(const struct sample *x, const char *blob,
                            struct arena *a, struct str *out, struct err *e)
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

static int plan_prompt(struct backfill *b, const struct sample *x,
                       struct attempt_view *v, struct prompt *out,
                       struct err *e)
{
    struct prompt_backfill in = {.pack = find_pack(b, x, e),
                                 .solution = v->code,
                                 .precision =
                                     run_view_fact(x->view, "precision"),
                                 .device = run_view_fact(x->view, "device")};

    if (!in.pack ||
        backfill_text_of(x, x->task->row.source, &v->memory, &in.task, e) < 0)
        return -1;
    return prompts_backfill(b->part.prompts, &in, &v->memory, out, e);
}

/* The examples that the attempt was shown. */
static int read_examples(const struct sample *x, struct arena *a,
                         struct prompt_input *in, struct err *e)
{
    struct prompt_example *list =
        arena_alloc(a, (x->kernel->shown_len + 1) * sizeof(*list));

    in->example = list;
    for (size_t i = 0; i < x->kernel->shown_len; i++) {
        const struct row_entry *n =
            run_view_entry(x->view, x->kernel->shown[i].entry);
        struct prompt_example *to = &list[in->example_count];

        if (!n)
            continue;
        *to = (struct prompt_example){.name = n->name};
        if (backfill_text_of(x, n->problem, a, &to->problem, e) < 0 ||
            backfill_text_of(x, n->solution, a, &to->solution, e) < 0 ||
            (n->plan && backfill_text_of(x, n->plan, a, &to->plan, e) < 0))
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
    if (!in.pack ||
        backfill_text_of(x, x->task->row.source, a, &in.task, e) < 0 ||
        read_examples(x, a, &in, e) < 0 ||
        prompts_build(b->part.prompts, &in, a, out, e) < 0)
        return -1;
    if (start.p)
        out->message[0].text = start;
    return 0;
}

/* ---- asking ---- */

static int backfill_ask(struct backfill *b, const struct sample *x,
                        const struct prompt *p, struct arena *memory,
                        struct ledger_answer *out)
{
    char asked[HASH_HEX];
    struct ledger_question q = {
        .purpose = "backfill", .asked = asked, .prompt_hash = p->hash};

    ledger_hash(asked, "%s", p->hash);
    q.request = (struct llm_request){
        .key = {x->task->row.id, run_view_fact(x->view, "method"), q.purpose,
                (int)x->kernel->row.attempt},
        .message = p->message,
        .count = p->count};
    return ask_all_question(&b->ask, &q, memory, out);
}

static void take_plan(struct item *x, const struct ledger_answer *a)
{
    struct str plan = a->end == LEDGER_ANSWERED
                          ? str_trim(extract_plan(a->text))
                          : (struct str){0};
    const char *why = a->end == LEDGER_FAILED ? a->why
                      : a->cut
                          ? "the answer was cut at its limit (--plan-tokens)"
                      : !plan.n ? "the answer is empty"
                                : NULL;

    if (why)
        log_warn("%s: %s: no plan: %s", x->sample->view->dir,
                 x->sample->task->row.id, why);
    else
        x->plan = xstrndup(plan.p, plan.n);
}

static int backfill_one(struct ask_all *a, size_t item, void *arg,
                        struct err *e)
{
    struct backfill *b = arg;
    struct item *x = &b->item[item];
    struct attempt_view v;
    struct ledger_answer answer;
    struct prompt p;
    int rc;

    (void)a;
    if (run_attempt_view_make(x->sample->view, x->sample->kernel, &v, e) < 0)
        return -1;
    rc = plan_prompt(b, x->sample, &v, &p, e);
    if (rc == 0)
        rc = backfill_ask(b, x->sample, &p, &v.memory, &answer);
    if (rc == 0)
        take_plan(x, &answer);
    run_attempt_view_release(&v);
    return rc;
}

static bool is_one_stage(const struct sample *x)
{
    for (size_t i = 0; i < x->kernel->calls; i++)
        if (strcmp(x->kernel->call[i].purpose, "plan") == 0)
            return false;
    return true;
}

enum ask_end backfill_run(struct backfill *b, const struct samples *s,
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
    b->ask = (struct ask_all){.part = b->part.ask};
    return ask_all(&b->ask, b->items, backfill_one, b, e);
}

size_t backfill_items(const struct backfill *b)
{
    return b->items;
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
