/* reviewer.c: a review: ask, ask again if the answer cannot be read, store,
 * decide. */
#include "search/reviewer.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "prompt/ask.h"

#include <stdlib.h>
#include <string.h>

struct reviewer {
    struct reviewer_parts part;
    struct map known; /* hashes of model and prompt that the store has */
};

/* One kernel being read. */
struct reading {
    struct reviewer *v;
    struct reviewer_kernel kernel;
    reviewer_fn *fn;
    void *arg;
    struct arena memory;
    struct prompt prompt;
    char key[HASH_HEX];
    bool repair; /* the second question: the first answer was not JSON */
    struct ledger_call *call;
    bool *over; /* set when the reading is gone */
};

static int on_known(const struct row_review *r, void *arg)
{
    struct reviewer *v = arg;

    map_set(&v->known, str_of(r->hash), v);
    return 0;
}

struct reviewer *reviewer_new(const struct reviewer_parts *p, struct err *e)
{
    struct reviewer *v = xcalloc(1, sizeof(*v));

    v->part = *p;
    map_init(&v->known);
    if (store_each_review(p->store, on_known, v, e) == 0)
        return v;
    reviewer_free(v);
    return NULL;
}

void reviewer_free(struct reviewer *v)
{
    if (!v)
        return;
    map_release(&v->known);
    free(v);
}

void reviewer_drop(struct reading *g)
{
    if (g->call)
        ledger_drop(g->call);
    if (g->over)
        *g->over = true;
    arena_release(&g->memory);
    free(g);
}

/* ---- the end of a reading ---- */

static void finish(struct reading *g, const struct reviewer_word *w)
{
    g->fn(g->arg, w);
    reviewer_drop(g);
}

/* Nobody says that the kernel is bad. */
static void stay(struct reading *g, const char *what, const char *why)
{
    log_warn("%s: %s (%s); the kernel stays", g->kernel.task_id, what, why);
    store_event(g->v->part.store, "review", g->kernel.task, g->kernel.attempt,
                why);
    finish(g, &(struct reviewer_word){.end = REVIEWER_PASSED});
}

/* Equal kernels of equal tasks share the review of the first. */
static void keep(struct reading *g, struct str reply, double score)
{
    struct reviewer *v = g->v;
    char blob[HASH_HEX];
    struct row_review row = {.hash = g->key, .score = score, .reply = blob};

    if (map_get(&v->known, str_of(g->key)))
        return;
    store_blob(v->part.store, reply, blob);
    store_review(v->part.store, &row);
    map_set(&v->known, str_of(g->key), v);
}

static void conclude(struct reading *g, const struct review *r)
{
    struct reviewer *v = g->v;
    struct reviewer_word w = {.end = REVIEWER_PASSED, .review = r};
    char why[128];

    if (r->score < v->part.threshold) {
        snprintf(why, sizeof(why), "score %.2f is below %.2f", r->score,
                 v->part.threshold);
        log_info("%s: the reviewer refuses attempt %d: %s", g->kernel.task_id,
                 g->kernel.attempt, why);
        store_event(v->part.store, "review", g->kernel.task, g->kernel.attempt,
                    why);
        w.end = REVIEWER_REFUSED;
        w.why = why;
    }
    finish(g, &w);
}

/* ---- asking ---- */

static void ask(struct reading *g);

static void on_reply(struct reading *g, struct str reply)
{
    struct review r;
    struct err why = ERR_INIT;

    if (review_parse(reply, &g->memory, &r, &why) == 0) {
        keep(g, reply, r.score);
        conclude(g, &r);
    } else if (!g->repair) {
        g->repair = true;
        prompts_repair(g->v->part.prompts, reply, review_shape, why.text,
                       &g->memory, &g->prompt);
        ask(g);
    } else {
        stay(g, "the reviewer's answer cannot be read", why.text);
    }
}

static void on_answer(void *arg, const struct ledger_answer *a)
{
    struct reading *g = arg;

    g->call = NULL;
    switch (a->end) {
    case LEDGER_ANSWERED:
        on_reply(g, a->text);
        return;
    case LEDGER_FAILED:
        stay(g, "the reviewer did not answer", a->why);
        return;
    case LEDGER_NO_BUDGET: /* a kernel that cannot be read has not passed */
        finish(g, &(struct reviewer_word){.end = REVIEWER_NO_BUDGET,
                                          .need = a->need});
        return;
    case LEDGER_STOPPED:
        finish(g, &(struct reviewer_word){.end = REVIEWER_STOPPED});
        return;
    case LEDGER_BROKEN:
        finish(g,
               &(struct reviewer_word){.end = REVIEWER_BROKEN, .err = a->err});
        return;
    }
    BUG("end %d", a->end);
}

static void ask(struct reading *g)
{
    const struct reviewer_parts *p = &g->v->part;
    struct ledger_question q = {
        .purpose = g->repair ? "review-repair" : "review",
        .asked = g->kernel.asked,
        .task = g->kernel.task,
        .attempt = g->kernel.attempt,
        .front = p->llm,
        .prompt_hash = g->prompt.hash,
    };
    struct ledger_call *c;

    q.request = (struct llm_request){
        .key = {g->kernel.task_id, p->method, q.purpose, g->kernel.attempt},
        .message = g->prompt.message,
        .count = g->prompt.count};
    c = ledger_ask(p->ledger, &q, on_answer, g);
    if (c)
        g->call = c;
}

struct reading *reviewer_read(struct reviewer *v,
                              const struct reviewer_kernel *k, reviewer_fn *fn,
                              void *arg)
{
    struct reading *g = xcalloc(1, sizeof(*g));
    struct review_input in = {.pack = v->part.pack,
                              .task = k->source,
                              .solution = k->code,
                              .precision = v->part.precision};
    struct err e = ERR_INIT;
    bool over = false;

    *g = (struct reading){
        .v = v, .kernel = *k, .fn = fn, .arg = arg, .over = &over};
    arena_init(&g->memory);
    if (review_build(v->part.prompts, &in, &g->memory, &g->prompt, &e) < 0) {
        finish(g, &(struct reviewer_word){.end = REVIEWER_BROKEN, .err = &e});
        return NULL;
    }
    review_key(v->part.model ? v->part.model : "", &g->prompt, g->key);
    ask(g);
    if (over)
        return NULL;
    g->over = NULL;
    return g;
}
