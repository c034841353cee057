/* reviewer.c: a review: ask, ask again if the answer cannot be read, store,
 * decide. */
#include "search/reviewer.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/tick.h"
#include "llm/ask_all.h"
#include "llm/ledger.h"
#include "prompt/ask.h"
#include "search/state.h"

#include <stdlib.h>

struct reviewer {
    struct reviewer_parts part;
    struct map known; /* hashes of model and prompt that the store has */
};

static int reviewer_known(const void *row, void *arg)
{
    const struct row_review *r = row;
    struct reviewer *v = arg;

    map_set(&v->known, str_of(r->hash), v);
    return 0;
}

struct reviewer *reviewer_new(const struct reviewer_parts *p, struct err *e)
{
    struct reviewer *v = xcalloc(1, sizeof(*v));

    v->part = *p;
    if (store_each(p->store, STORE_REVIEWS, reviewer_known, v, e) == 0)
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

/* ---- the reviewer at the end of a run ----
 *
 * It reads all entries that the run has added to the archive. Those that it refuses
 * are withdrawn together, so that nothing depends on the order of reading. */

#define LOOK_NS (200 * TICK_MS) /* how often the end is looked for */

struct last_look {
    struct search *s;
    struct ask_all all;
    const struct task_state **state; /* whose kernels are read */
    char **refused;                  /* by task: why; NULL: it stays */
    bool no_budget;
    uint64_t timer;
};

static int read_kernel(struct search *s, const struct task_state *t,
                       struct arena *memory, struct reviewer_word *out,
                       struct err *e)
{
    char asked[HASH_HEX];
    struct reviewer_kernel kernel = {.task_id = t->task->id,
                                     .task = t->ord,
                                     .source = {t->task->source, t->task->len},
                                     .attempt = t->join_at,
                                     .asked = asked};

    if (store_text(s->part.store, t->finished[t->join_at - 1].code, memory,
                   &kernel.code, e) < 0)
        return -1;
    ledger_hash(asked, "%s\n%s\n%d", t->task->id, t->source, t->join_at);
    reviewer_read(s->reviewer, &kernel, memory, out);
    if (out->end != REVIEWER_BROKEN)
        return 0;
    *e = *out->err;
    return -1;
}

static int read_last(struct ask_all *all, size_t item, void *arg, struct err *e)
{
    struct last_look *k = arg;
    const struct task_state *t = k->state[item];
    struct reviewer_word w;
    struct arena memory = {0};
    int rc = read_kernel(k->s, t, &memory, &w, e);

    (void)all;
    if (rc == 0 && w.end == REVIEWER_REFUSED) {
        k->refused[t->ord] = xstrdup(w.why);
        k->s->count.doubted++;
    } else if (rc == 0 && w.end == REVIEWER_NO_BUDGET) {
        k->no_budget = true;
        k->s->need = w.need;
    }
    arena_release(&memory);
    return rc;
}

/* Waiting for others makes no event, and a stop is the search's. */
static void review_timer(void *arg)
{
    struct last_look *k = arg;
    struct search *s = k->s;
    size_t n = llm_waiting(s->part.llm);
    bool waits = (s->opt.no_wait || s->stopping) && n > 0 &&
                 n + ledger_parked(s->part.ledger) >= k->all.progress.open;

    k->timer =
        loop_add_timer(s->part.loop, tick_now_ns() + LOOK_NS, review_timer, k);
    if (waits || s->stopping >= 2)
        ask_all_stop(&k->all);
}

static void withdraw_refused(struct last_look *k)
{
    struct search *s = k->s;
    int64_t version = archive_version(s->archive) + 1;

    for (size_t i = 0; i < s->task_len; i++) {
        struct task_state *t = &s->task[i];

        if (t->joined && !k->refused[i])
            entries_give(s, t);
        if (!k->refused[i] || !t->joined)
            continue;
        archive_withdraw(s->archive, t->entry, version);
        store_entry_leaves(s->part.store, t->entry, version, k->refused[i]);
    }
}

static enum ask_end review_look(struct last_look *k, struct err *e)
{
    struct search *s = k->s;
    enum ask_end end;
    size_t n = 0;

    for (size_t i = 0; i < s->task_len; i++)
        if (s->task[i].join_at)
            k->state[n++] = &s->task[i];
    k->all.part = (struct ask_parts){.loop = s->part.loop, .most = n};
    review_timer(k);
    end = ask_all(&k->all, n, read_last, k, e);
    loop_remove(s->part.loop, k->timer);
    if (s->failed.kind == ERR_NONE)
        return end;
    *e = s->failed;
    return ASK_FAILED;
}

int reviewer_finish(struct search *s, enum search_end *end, struct err *e)
{
    struct last_look k = {.s = s,
                          .state = xcalloc(s->task_len + 1, sizeof(*k.state)),
                          .refused =
                              xcalloc(s->task_len + 1, sizeof(*k.refused))};
    enum ask_end ended = review_look(&k, e);

    if (s->stopping)
        *end = SEARCH_INTERRUPTED;
    else if (ended == ASK_STOPPED)
        *end = SEARCH_WAITING;
    else if (k.no_budget)
        *end = SEARCH_NO_BUDGET;
    else if (ended == ASK_DONE)
        withdraw_refused(&k);
    for (size_t i = 0; i < s->task_len; i++)
        free(k.refused[i]);
    free(k.refused);
    free(k.state);
    return ended == ASK_FAILED ? -1 : 0;
}
