/* fleet.c: queues, leases and the choice of a worker.
 *
 * A task's truth takes longer to compute than most verdicts, and a worker keeps it. So
 * who is asked matters: work goes where its truth is, as long as nobody waits idle for
 * that. With hundreds of workers and thousands of jobs each look must be short: only
 * workers for which something has changed are looked at, and only the first LOOK of
 * the waiting work. Without these a fleet of 1,000 keeps its orchestrator busy. */
#include "verify/fleet.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK 64 /* of the waiting work, when a worker has none of its own */

/* A task: what its work has in common. */
struct topic {
    struct work *first, *last; /* waiting, in order */
    size_t holders;            /* workers that have its truth */
    uint64_t peak;             /* bytes; 0: not known */
};

struct work {
    void *arg;
    struct topic *topic;
    uint64_t order;              /* of arrival */
    struct work *prev, *next;    /* all that waits, or all of one worker */
    struct work *before, *after; /* that waits for the topic */
    struct worker *at;           /* NULL: it waits */
    uint64_t shunned;            /* a worker that could not judge it; 0: none */
    uint64_t need;
    int deaths;
    char fence[FLEET_FENCE];
};

struct worker {
    void *arg;
    uint64_t serial;
    size_t slots, leased, answered;
    uint64_t memory, taken;
    struct work *first;                 /* leased */
    struct topic *truths[FLEET_TRUTHS]; /* the last used first */
    size_t truth_count;
    struct worker *prev, *next;    /* all */
    struct worker *before, *after; /* those with a free slot */
    bool stuck;                    /* it is among those that found nothing */
};

struct fleet {
    int deaths; /* of workers, that work may be part of */
    struct map topics;
    struct work *first, *last; /* waiting, in order */
    struct work *lost;
    struct worker *workers;
    /* Those with a free slot: to be looked at, and those for which there was
     * nothing when they were. Only what changes can change that. */
    struct worker *idle, *stuck;
    size_t looked; /* leases when all were last looked at */
    uint64_t works, serials;
    struct fleet_counts counts;
};

struct fleet *fleet_new(int deaths)
{
    struct fleet *f = xcalloc(1, sizeof(*f));

    f->deaths = deaths;
    return f;
}

static void fleet_free_list(struct work *first)
{
    for (struct work *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

void fleet_free(struct fleet *f)
{
    struct worker *next;

    if (!f)
        return;
    for (struct worker *w = f->workers; w; w = next) {
        next = w->next;
        fleet_free_list(w->first);
        free(w);
    }
    fleet_free_list(f->first);
    fleet_free_list(f->lost);
    for (size_t i = 0; i < f->topics.len; i++)
        free(f->topics.items[i].value);
    map_release(&f->topics);
    free(f);
}

/* ---- waiting ---- */

/* Work that comes back is older than what waits, so the place is near the front. */
static void fleet_wait(struct fleet *f, struct work *k)
{
    struct work *next = f->first;
    struct topic *t = k->topic;

    if (f->last && f->last->order < k->order)
        next = NULL;
    while (next && next->order < k->order)
        next = next->next;
    k->next = next;
    k->prev = next ? next->prev : f->last;
    *(k->prev ? &k->prev->next : &f->first) = k;
    *(next ? &next->prev : &f->last) = k;

    next = t->last && t->last->order < k->order ? NULL : t->first;
    while (next && next->order < k->order)
        next = next->after;
    k->after = next;
    k->before = next ? next->before : t->last;
    *(k->before ? &k->before->after : &t->first) = k;
    *(next ? &next->before : &t->last) = k;
    f->counts.waiting++;
}

static void fleet_unwait(struct fleet *f, struct work *k)
{
    struct topic *t = k->topic;

    *(k->prev ? &k->prev->next : &f->first) = k->next;
    *(k->next ? &k->next->prev : &f->last) = k->prev;
    *(k->before ? &k->before->after : &t->first) = k->after;
    *(k->after ? &k->after->before : &t->last) = k->before;
    k->prev = k->next = k->before = k->after = NULL;
    f->counts.waiting--;
}

/* ---- workers ---- */

static void fleet_add_idle(struct fleet *f, struct worker *w, bool stuck)
{
    struct worker **list = stuck ? &f->stuck : &f->idle;

    w->stuck = stuck;
    w->before = NULL;
    w->after = *list;
    if (w->after)
        w->after->before = w;
    *list = w;
}

static void fleet_remove_idle(struct fleet *f, struct worker *w)
{
    struct worker **list = w->stuck ? &f->stuck : &f->idle;

    *(w->before ? &w->before->after : list) = w->after;
    if (w->after)
        w->after->before = w->before;
}

/* It has a free slot. */
static void fleet_move_idle(struct fleet *f, struct worker *w, bool stuck)
{
    fleet_remove_idle(f, w);
    fleet_add_idle(f, w, stuck);
}

static void fleet_wake_all(struct fleet *f)
{
    while (f->stuck)
        fleet_move_idle(f, f->stuck, false);
    f->looked = f->counts.leases;
}

static bool worker_has_truth(const struct worker *w, const struct topic *t)
{
    for (size_t i = 0; i < w->truth_count; i++)
        if (w->truths[i] == t)
            return true;
    return false;
}

struct worker *fleet_join(struct fleet *f, size_t slots, uint64_t memory_bytes,
                          void *arg)
{
    struct worker *w = xcalloc(1, sizeof(*w));

    w->arg = arg;
    w->serial = ++f->serials;
    w->slots = slots ? slots : 1;
    w->memory = memory_bytes;
    w->next = f->workers;
    if (w->next)
        w->next->prev = w;
    f->workers = w;
    fleet_add_idle(f, w, false);
    f->counts.workers++;
    f->counts.slots += w->slots;
    fleet_wake_all(f); /* what one may not have, another may now */
    return w;
}

/* The work is not the worker's any more. */
static void fleet_end_lease(struct fleet *f, struct work *k)
{
    struct worker *w = k->at;

    *(k->prev ? &k->prev->next : &w->first) = k->next;
    if (k->next)
        k->next->prev = k->prev;
    k->prev = k->next = NULL;
    k->at = NULL;
    k->fence[0] = '\0';
    if (w->leased-- == w->slots)
        fleet_add_idle(f, w, false);
    else if (w->stuck)
        fleet_move_idle(f, w, false);
    w->taken -= k->need;
    f->counts.leased--;
}

void fleet_leave(struct fleet *f, struct worker *w)
{
    for (struct work *k = w->first, *next; k; k = next) {
        next = k->next;
        fleet_end_lease(f, k);
        if (++k->deaths < f->deaths) {
            fleet_wait(f, k);
        } else {
            k->next = f->lost;
            f->lost = k;
        }
    }
    for (size_t i = 0; i < w->truth_count; i++)
        w->truths[i]->holders--;
    fleet_remove_idle(f, w);
    *(w->prev ? &w->prev->next : &f->workers) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    f->counts.workers--;
    f->counts.slots -= w->slots;
    free(w);
    fleet_wake_all(f); /* for its work, and what only another could have */
}

bool fleet_next_lost(struct fleet *f, void **work)
{
    struct work *k = f->lost;

    if (!k)
        return false;
    f->lost = k->next;
    *work = k->arg;
    free(k);
    return true;
}

/* ---- leases ---- */

static uint64_t worker_need(const struct worker *w, const struct work *k)
{
    uint64_t peak = k->topic->peak;

    if (w->memory == 0)
        return 0;
    if (peak == 0)
        return w->memory / w->slots;
    if (peak <= w->memory && peak + peak / 4 > w->memory)
        return w->memory;
    return peak + peak / 4;
}

static bool fleet_fits(const struct fleet *f, const struct worker *w,
                       const struct work *k)
{
    if (k->shunned == w->serial && f->counts.workers > 1)
        return false;
    return w->memory == 0 || worker_need(w, k) <= w->memory - w->taken;
}

/* Who could have it and found nothing before is looked at again: the one that has
 * the truth, or any. */
static void fleet_wake_for(struct fleet *f, const struct work *k)
{
    struct worker *found = NULL;
    size_t holders = k->topic->holders;

    for (struct worker *w = f->stuck; w && (!found || holders); w = w->after) {
        bool has = holders && worker_has_truth(w, k->topic);

        holders -= has;
        if (fleet_fits(f, w, k) && (has || !found))
            found = w;
        if (has && found == w)
            break;
    }
    if (found)
        fleet_move_idle(f, found, false);
}

void fleet_add(struct fleet *f, const char *key, void *arg)
{
    struct topic *t = map_get(&f->topics, str_of(key));
    struct work *k = xcalloc(1, sizeof(*k));

    if (!t) {
        t = xcalloc(1, sizeof(*t));
        map_set(&f->topics, str_of(key), t);
    }
    k->arg = arg;
    k->topic = t;
    k->order = ++f->works;
    fleet_wait(f, k);
    fleet_wake_for(f, k);
}

/* All work of a task needs the same. */
static struct work *fleet_of_truths(const struct fleet *f,
                                    const struct worker *w)
{
    for (size_t i = 0; i < w->truth_count; i++)
        for (struct work *k = w->truths[i]->first; k; k = k->after) {
            if (fleet_fits(f, w, k))
                return k;
            if (k->shunned != w->serial)
                break;
        }
    return NULL;
}

/* In order; if `fresh`, only what no worker has the truth of. */
static struct work *fleet_of_all(const struct fleet *f, const struct worker *w,
                                 bool fresh)
{
    size_t looked = 0;

    for (struct work *k = f->first; k && looked < LOOK; k = k->next, looked++)
        if ((!fresh || k->topic->holders == 0) && fleet_fits(f, w, k))
            return k;
    return NULL;
}

/* Moves the topic to the front of what the worker has. True: it had it. */
static bool worker_remember(struct worker *w, struct topic *t)
{
    size_t at = 0;

    while (at < w->truth_count && w->truths[at] != t)
        at++;
    if (at < w->truth_count) {
        memmove(w->truths + 1, w->truths, at * sizeof(w->truths[0]));
        w->truths[0] = t;
        return true;
    }
    if (w->truth_count == FLEET_TRUTHS)
        w->truths[--w->truth_count]->holders--;
    memmove(w->truths + 1, w->truths, w->truth_count * sizeof(w->truths[0]));
    w->truths[0] = t;
    w->truth_count++;
    t->holders++;
    return false;
}

static void fleet_give(struct fleet *f, struct worker *w, struct work *k)
{
    fleet_unwait(f, k);
    k->at = w;
    k->need = worker_need(w, k);
    w->taken += k->need;
    if (++w->leased == w->slots)
        fleet_remove_idle(f, w);
    k->next = w->first;
    if (k->next)
        k->next->prev = k;
    w->first = k;
    f->counts.leased++;
    f->counts.cached += worker_remember(w, k->topic);
    snprintf(k->fence, sizeof(k->fence), "lease-%llu-%llu",
             (unsigned long long)w->serial,
             (unsigned long long)++f->counts.leases);
}

/* What a worker could take, from the best reason to the last. */
static struct work *fleet_choose(const struct fleet *f, const struct worker *w,
                                 int reason)
{
    return reason == 0 ? fleet_of_truths(f, w)
                       : fleet_of_all(f, w, reason == 1);
}

bool fleet_lease(struct fleet *f, void **work, void **worker,
                 char fence[FLEET_FENCE])
{
    if (!f->first)
        return false;
    /* The window has moved on. */
    if (f->stuck && f->counts.leases - f->looked >= LOOK)
        fleet_wake_all(f);
    for (int reason = 0; reason < 3; reason++) {
        for (struct worker *w = f->idle; w; w = w->after) {
            struct work *k = fleet_choose(f, w, reason);

            if (!k)
                continue;
            fleet_give(f, w, k);
            *work = k->arg;
            *worker = w->arg;
            memcpy(fence, k->fence, FLEET_FENCE);
            return true;
        }
    }
    while (f->idle)
        fleet_move_idle(f, f->idle, true);
    return false;
}

/* ---- answers ---- */

static struct work *fleet_behind(struct fleet *f, const struct worker *w,
                                 const char *fence)
{
    for (struct work *k = w->first; k; k = k->next)
        if (strcmp(k->fence, fence) == 0)
            return k;
    f->counts.fenced++;
    return NULL;
}

/* An unusual peak is forgotten in time. */
static void topic_learn_peak(struct topic *t, uint64_t peak)
{
    uint64_t faded = t->peak - t->peak / 8;

    t->peak = peak > faded ? peak : faded;
}

void *fleet_answer(struct fleet *f, const struct worker *w, const char *fence,
                   uint64_t peak_bytes)
{
    struct work *k = fleet_behind(f, w, fence);
    void *arg;

    if (!k)
        return NULL;
    if (peak_bytes)
        topic_learn_peak(k->topic, peak_bytes);
    if (k->topic->first)
        fleet_wake_for(f,
                       k->topic->first); /* it may need less than was thought */
    arg = k->arg;
    k->at->answered++;
    fleet_end_lease(f, k);
    free(k);
    return arg;
}

bool fleet_refuse(struct fleet *f, struct worker *w, const char *fence)
{
    struct work *k = fleet_behind(f, w, fence);

    if (!k)
        return true;
    if (k->shunned || f->counts.workers < 2)
        return false;
    fleet_end_lease(f, k);
    k->shunned = w->serial;
    fleet_wait(f, k);
    fleet_wake_for(f, k);
    return true;
}

/* ---- figures ---- */

struct fleet_counts fleet_counts(const struct fleet *f)
{
    return f->counts;
}

uint64_t fleet_too_large(const struct fleet *f)
{
    uint64_t most = 0;

    for (const struct worker *w = f->workers; w; w = w->next) {
        if (w->memory == 0)
            return 0;
        most = w->memory > most ? w->memory : most;
    }
    if (f->first && most && f->first->topic->peak > most)
        return f->first->topic->peak;
    return 0;
}

struct worker_counts worker_counts(const struct worker *w)
{
    return (struct worker_counts){.leased = w->leased,
                                  .answered = w->answered,
                                  .truths = w->truth_count,
                                  .memory_taken = w->taken};
}

size_t worker_works(const struct worker *w, void **work, size_t max)
{
    size_t at = w->leased;

    for (const struct work *k = w->first; k; k = k->next)
        if (--at < max)
            work[at] = k->arg;
    return w->leased < max ? w->leased : max;
}
