/* review_end.c: the reviewer at the end of a run. It reads all entries that the
 * run has added to the archive. Those that it refuses leave together, so that
 * nothing depends on the order of reading. */
#include "base/mem.h"
#include "base/tick.h"
#include "llm/ledger.h"
#include "search/reviewer.h"
#include "search/search_int.h"

#include <stdlib.h>

#define LOOK_NS (200 * TICK_MS) /* how often the end is looked for */

/* A kernel that is being read, or was. */
struct last_reading {
    struct last_look *look;
    struct subject *subject;
    struct co *co; /* NULL: it is over */
    char *refused; /* why; NULL: it stays */
};

struct last_look {
    struct search *s;
    struct last_reading *of; /* by subject */
    size_t left;
    bool no_budget;
    bool waits; /* what is left waits for others */
    uint64_t timer;
};

static int read_kernel(const struct last_reading *g, struct arena *memory,
                       struct reviewer_word *out, struct err *e)
{
    struct search *s = g->look->s;
    const struct subject *t = g->subject;
    char asked[HASH_HEX];
    struct reviewer_kernel kernel = {.task_id = t->task->id,
                                     .task = t->ord,
                                     .source = {t->task->source, t->task->len},
                                     .attempt = t->join_at,
                                     .asked = asked};
    struct buf code;
    int rc;

    buf_init(&code, BUF_UNLIMITED);
    rc = store_read_blob(s->part.store, t->past[t->join_at - 1].code, &code, e);
    if (rc == 0) {
        kernel.code = (struct str){buf_str(&code), code.len};
        ledger_hash(asked, "%s\n%s\n%d", t->task->id, t->source, t->join_at);
        reviewer_read(s->reviewer, &kernel, memory, out);
        if (out->end == REVIEWER_BROKEN)
            *e = *out->err;
    }
    buf_release(&code);
    return rc == 0 && out->end != REVIEWER_BROKEN ? 0 : -1;
}

static void read_last(void *arg)
{
    struct last_reading *g = arg;
    struct last_look *k = g->look;
    struct reviewer_word w;
    struct arena memory;
    struct err e = ERR_INIT;

    arena_init(&memory);
    if (read_kernel(g, &memory, &w, &e) < 0) {
        state_fail(k->s, &e);
    } else if (w.end == REVIEWER_REFUSED) {
        g->refused = xstrdup(w.why);
        k->s->count.doubted++;
    } else if (w.end == REVIEWER_NO_BUDGET) {
        k->no_budget = true;
        k->s->need = w.need;
    }
    arena_release(&memory);
    g->co = NULL;
    if (--k->left == 0)
        loop_stop(k->s->part.loop);
}

static void start_reading(struct last_look *k, struct subject *t)
{
    struct last_reading *g = &k->of[t->ord];

    *g = (struct last_reading){.look = k, .subject = t};
    k->left++;
    g->co = co_start(read_last, g);
}

/* Waiting for others makes no event. */
static void on_timer(void *arg)
{
    struct last_look *k = arg;
    struct search *s = k->s;
    size_t n = llm_waiting(s->part.llm);

    k->timer =
        loop_add_timer(s->part.loop, tick_now_ns() + LOOK_NS, on_timer, k);
    if ((s->opt.no_wait || s->stopping) && n > 0 &&
        n + ledger_parked(s->part.ledger) >= k->left) {
        k->waits = true;
        loop_stop(s->part.loop);
    }
}

static void leave_refused(struct last_look *k)
{
    struct search *s = k->s;
    int64_t version = archive_version(s->archive) + 1;

    for (size_t i = 0; i < s->subject_len; i++) {
        const struct subject *t = &s->subject[i];

        if (t->joined && !k->of[i].refused)
            entries_give(s, t);
        if (!k->of[i].refused || !t->joined)
            continue;
        archive_leave(s->archive, t->entry, version);
        store_entry_leaves(s->part.store, t->entry, version, k->of[i].refused);
    }
}

static int look(struct last_look *k, struct err *e)
{
    struct search *s = k->s;

    for (size_t i = 0; i < s->subject_len; i++)
        if (s->subject[i].join_at)
            start_reading(k, &s->subject[i]);
    on_timer(k);
    while (k->left && s->failed.kind == ERR_NONE && s->stopping < 2 &&
           !k->waits)
        loop_run(s->part.loop);
    if (s->failed.kind == ERR_NONE)
        return 0;
    *e = s->failed;
    return -1;
}

static void release(struct last_look *k)
{
    for (size_t i = 0; i < k->s->subject_len; i++) {
        struct last_reading *g = &k->of[i];

        if (g->co)
            co_cancel(g->co);
        free(g->refused);
    }
    loop_remove(k->s->part.loop, k->timer);
    free(k->of);
}

int review_end(struct search *s, enum search_end *end, struct err *e)
{
    struct last_look k = {.s = s,
                          .of = xcalloc(s->subject_len + 1, sizeof(*k.of))};
    int rc = look(&k, e);

    if (rc == 0 && s->stopping)
        *end = SEARCH_INTERRUPTED;
    else if (rc == 0 && k.left)
        *end = SEARCH_WAITING;
    else if (rc == 0 && k.no_budget)
        *end = SEARCH_NO_BUDGET;
    else if (rc == 0)
        leave_refused(&k);
    release(&k);
    return rc;
}
