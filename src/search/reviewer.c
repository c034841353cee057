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

/* ---- what an answer means ---- */

/* Nobody says that the kernel is bad. */
static void reviewer_stays(struct reviewer *v, const struct reviewer_kernel *k,
                           const char *what, const char *why,
                           struct reviewer_word *out)
{
    log_warn("%s: %s (%s); the kernel stays", k->task_id, what, why);
    store_event(v->part.store, "review", k->task, k->attempt, why);
    out->end = REVIEWER_PASSED;
}

/* Equal kernels of equal tasks share the review of the first. */
static void reviewer_keep(struct reviewer *v, const char *key, struct str reply,
                          double score)
{
    char blob[HASH_HEX];
    struct row_review row = {.hash = key, .score = score, .reply = blob};

    if (map_get(&v->known, str_of(key)))
        return;
    store_blob(v->part.store, reply, blob);
    store_review(v->part.store, &row);
    map_set(&v->known, str_of(key), v);
}

static void reviewer_conclude(struct reviewer *v,
                              const struct reviewer_kernel *k,
                              const struct review *r, struct reviewer_word *out)
{
    out->end = REVIEWER_PASSED;
    out->review = r;
    if (r->score >= v->part.threshold)
        return;
    out->end = REVIEWER_REFUSED;
    snprintf(out->why, sizeof(out->why), "score %.2f is below %.2f", r->score,
             v->part.threshold);
    log_info("%s: the reviewer refuses attempt %d: %s", k->task_id, k->attempt,
             out->why);
    store_event(v->part.store, "review", k->task, k->attempt, out->why);
}

/* ---- asking ---- */

/* 0: there is a reply. -1: `out` says what there is instead. */
static int reviewer_ask(struct reviewer *v, const struct reviewer_kernel *k,
                        const struct prompt *p, bool again,
                        struct arena *memory, struct str *reply,
                        struct reviewer_word *out)
{
    struct ledger_question q = {
        .purpose = again ? "review-repair" : "review",
        .asked = k->asked,
        .task = k->task,
        .attempt = k->attempt,
        .client = v->part.llm,
        .prompt_hash = p->hash,
    };
    struct ledger_answer a;

    q.request = (struct llm_request){
        .key = {k->task_id, v->part.method, q.purpose, k->attempt},
        .message = p->message,
        .count = p->count};
    if (ledger_ask(v->part.ledger, &q, memory, &a) < 0)
        a.end = LEDGER_STOPPED;
    switch (a.end) {
    case LEDGER_ANSWERED:
        *reply = a.text;
        return 0;
    case LEDGER_FAILED:
        reviewer_stays(v, k, "the reviewer did not answer", a.why, out);
        return -1;
    case LEDGER_NO_BUDGET: /* a kernel that cannot be read has not passed */
        out->end = REVIEWER_NO_BUDGET;
        out->need = a.need;
        return -1;
    case LEDGER_STOPPED:
        out->end = REVIEWER_STOPPED;
        return -1;
    case LEDGER_BROKEN:
        out->end = REVIEWER_BROKEN;
        out->err = a.err;
        return -1;
    }
    BUG("end %d", a.end);
}

void reviewer_read(struct reviewer *v, const struct reviewer_kernel *k,
                   struct arena *memory, struct reviewer_word *out)
{
    struct review_input in = {.pack = v->part.pack,
                              .task = k->source,
                              .solution = k->code,
                              .precision = v->part.precision};
    struct review *r = arena_alloc(memory, sizeof(*r));
    struct err *e = arena_alloc(memory, sizeof(*e));
    char key[HASH_HEX];
    struct prompt p;
    struct str reply;

    *out = (struct reviewer_word){.end = REVIEWER_BROKEN, .err = e};
    if (review_build(v->part.prompts, &in, memory, &p, e) < 0)
        return;
    review_key(v->part.model ? v->part.model : "", &p, key);
    for (bool again = false;; again = true) {
        if (reviewer_ask(v, k, &p, again, memory, &reply, out) < 0)
            return;
        if (review_parse(reply, memory, r, e) == 0) {
            reviewer_keep(v, key, reply, r->score);
            reviewer_conclude(v, k, r, out);
            return;
        }
        if (again)
            break;
        prompts_repair(v->part.prompts, reply, review_shape, e->text, memory,
                       &p);
        *e = (struct err)ERR_INIT;
    }
    reviewer_stays(v, k, "the reviewer's answer cannot be read", e->text, out);
}
