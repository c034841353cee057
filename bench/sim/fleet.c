/* fleet.c: what 1,000 workers do with the placement of src/verify/fleet.c.
 *
 *   bench-sim --workers N [--tasks N] [--attempts N] [--seconds S] [--seed N] …
 *
 * The clock is simulated, so a day of a cluster takes seconds. A task's attempts
 * follow each other: a model answers after a while, then the candidate waits for a
 * worker, runs there, and the next attempt begins. Workers are unlike: their
 * memory is one of four sizes, and so is what tasks use; durations of answers and
 * verdicts spread by a factor of two either way. Workers are lost and come back;
 * some are silent first, so that only the heartbeat finds out. A worker that does
 * not have the truth of a task computes it first. */
#include "fleet.h"

#include "base/mem.h"
#include "base/opt.h"
#include "base/rng.h"
#include "base/tick.h"
#include "verify/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GB        UINT64_C(1000000000)
#define MS        INT64_C(1000) /* in microseconds, the unit of this clock */
#define SECOND    (1000 * MS)
#define HEARTBEAT (20 * SECOND)
#define AWAY      (300 * SECOND) /* until a lost worker is replaced */

struct values {
    int64_t workers, lanes, tasks, attempts, in_flight, seconds, seed;
    int64_t verdict_ms, truth_ms, model_ms, life_s;
};

#define AT(field) offsetof(struct values, field)
#define MANY      100000000
static const struct opt table[] = {
    {"workers", 0, OPT_INT, "N", "workers, one for each device", AT(workers), 1,
     100000},
    {"lanes", 0, OPT_INT, "N", "candidates that one runs at once (default: 2)",
     AT(lanes), 1, 64},
    {"tasks", 0, OPT_INT, "N", "tasks (default: 10000)", AT(tasks), 1, MANY},
    {"attempts", 0, OPT_INT, "N", "attempts per task (default: 1000)",
     AT(attempts), 1, MANY},
    {"in-flight", 0, OPT_INT, "N",
     "tasks at a time (default: what keeps all lanes busy, and a half more)",
     AT(in_flight), 0, MANY},
    {"seconds", 0, OPT_INT, "S", "simulated time (default: 600)", AT(seconds),
     1, MANY},
    {"verdict-ms", 0, OPT_INT, "MS", "a verdict, typically (default: 2000)",
     AT(verdict_ms), 1, MANY},
    {"truth-ms", 0, OPT_INT, "MS",
     "more, when the worker lacks the truth (default: 1000)", AT(truth_ms), 0,
     MANY},
    {"model-ms", 0, OPT_INT, "MS", "a model's answer (default: 5000)",
     AT(model_ms), 0, MANY},
    {"life", 0, OPT_INT, "S",
     "how long a worker lives on average; 0: for ever (default: 3600)",
     AT(life_s), 0, MANY},
    {"seed", 0, OPT_INT, "N", "default: 1", AT(seed), 0, MANY},
    {0},
};

struct task {
    char name[32];
    uint64_t peak;
    double weight; /* how long its verdicts are, relative to others */
    int64_t left;  /* attempts */
    int64_t asked; /* when its candidate began to wait */
};

/* A worker's end: what it holds, in order. */
struct node {
    struct sim *sim;
    struct worker *worker; /* NULL: it is away */
    uint64_t memory;
    uint64_t life; /* which one; events of an earlier one are void */
    bool up;
    size_t running;
    struct lease *first, **last; /* that wait here for a lane */
    int64_t since, lane_us;      /* of the lanes that run */
    int64_t joined, alive_us;
    int64_t any_us; /* at least one lane ran */
};

struct lease {
    struct lease *next;
    struct task *task;
    char fence[FLEET_FENCE];
    bool cached;
};

struct event {
    int64_t at;
    uint64_t seq, life;
    void (*fn)(struct sim *s, struct event *e);
    void *who;
    struct lease *lease;
};

struct sim {
    const struct values *v;
    struct fleet *fleet;
    struct rng rng;
    int64_t now;
    struct event *heap;
    size_t len, cap;
    uint64_t seq;
    struct task *task;
    size_t next_task;
    struct node *node;
    size_t verdicts, lost, silent, given_up, overfull;
    double *wait; /* seconds, of those that began to run */
    size_t waits, wait_cap;
    int64_t spent_ns; /* in the fleet */
};

/* ---- the clock ---- */

static bool before(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void swap(struct event *a, struct event *b)
{
    struct event kept = *a;

    *a = *b;
    *b = kept;
}

static void at(struct sim *s, int64_t when, struct event e)
{
    size_t i = s->len;

    s->heap = xgrow(s->heap, &s->cap, s->len, sizeof(*s->heap));
    e.at = when;
    e.seq = s->seq++;
    s->heap[s->len++] = e;
    for (; i && before(&s->heap[i], &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

static struct event take(struct sim *s)
{
    struct event e = s->heap[0];
    size_t i = 0;

    s->heap[0] = s->heap[--s->len];
    for (;;) {
        size_t c = 2 * i + 1;

        if (c + 1 < s->len && before(&s->heap[c + 1], &s->heap[c]))
            c++;
        if (c >= s->len || !before(&s->heap[c], &s->heap[i]))
            return e;
        swap(&s->heap[i], &s->heap[c]);
        i = c;
    }
}

/* Around a value, from a half of it to its double. */
static int64_t spread(struct sim *s, double ms)
{
    return (int64_t)(ms * (double)MS * pow(2, 2 * rng_unit(&s->rng) - 1));
}

static int64_t exponential(struct sim *s, double mean_us)
{
    return (int64_t)(-log(1 - rng_unit(&s->rng)) * mean_us);
}

/* ---- a worker ---- */

static void count_lanes(struct sim *s, struct node *n)
{
    int64_t passed = s->now - n->since;

    n->lane_us += passed * (int64_t)n->running;
    n->any_us += n->running ? passed : 0;
    n->since = s->now;
}

static void pump(struct sim *s);
static void on_verdict(struct sim *s, struct event *e);

static void run_next(struct sim *s, struct node *n)
{
    while (n->first && n->running < (size_t)s->v->lanes) {
        struct lease *l = n->first;
        double ms = (double)s->v->verdict_ms * l->task->weight;

        n->first = l->next;
        if (!n->first)
            n->last = &n->first;
        count_lanes(s, n);
        n->running++;
        s->wait = xgrow(s->wait, &s->wait_cap, s->waits, sizeof(*s->wait));
        s->wait[s->waits++] = (double)(s->now - l->task->asked) / SECOND;
        if (!l->cached)
            ms += (double)s->v->truth_ms;
        at(s, s->now + spread(s, ms),
           (struct event){
               .fn = on_verdict, .who = n, .life = n->life, .lease = l});
    }
}

static void on_answer(struct sim *s, struct event *e);

static void begin_attempt(struct sim *s, struct task *t)
{
    if (t->left-- <= 0) { /* the next one that nobody has begun */
        if (s->next_task == (size_t)s->v->tasks)
            return;
        t = &s->task[s->next_task++];
        t->left--;
    }
    at(s, s->now + spread(s, (double)s->v->model_ms),
       (struct event){.fn = on_answer, .who = t});
}

/* The model has answered. */
static void on_answer(struct sim *s, struct event *e)
{
    struct task *t = e->who;
    int64_t start = tick_used_ns();

    t->asked = s->now;
    fleet_add(s->fleet, t->name, t);
    s->spent_ns += tick_used_ns() - start;
    pump(s);
}

static void on_verdict(struct sim *s, struct event *e)
{
    struct node *n = e->who;
    struct task *t;
    int64_t start = tick_used_ns();

    if (e->life != n->life) { /* it ended in the middle of it */
        free(e->lease);
        return;
    }
    t = fleet_answer(s->fleet, n->worker, e->lease->fence,
                     e->lease->task->peak);
    s->spent_ns += tick_used_ns() - start;
    if (!t)
        BUG("a lease that holds was refused");
    count_lanes(s, n);
    n->running--;
    s->verdicts++;
    free(e->lease);
    begin_attempt(s, t);
    run_next(s, n);
    pump(s);
}

/* ---- coming and going ---- */

static void on_join(struct sim *s, struct event *e);

/* The orchestrator knows. */
static void on_gone(struct sim *s, struct event *e)
{
    struct node *n = e->who;
    struct worker *w = n->worker;
    void *work;

    while (n->first) {
        struct lease *l = n->first;

        n->first = l->next;
        free(l);
    }
    n->last = &n->first;
    n->worker = NULL;
    fleet_leave(s->fleet, w);
    while (fleet_next_lost(s->fleet, &work)) {
        s->given_up++;
        begin_attempt(s, work);
    }
    at(s, s->now + AWAY, (struct event){.fn = on_join, .who = n});
    pump(s);
}

static void on_loss(struct sim *s, struct event *e)
{
    struct node *n = e->who;
    bool silent = rng_unit(&s->rng) < 0.3;

    count_lanes(s, n);
    n->alive_us += s->now - n->joined;
    n->running = 0;
    n->up = false;
    n->life++;
    s->lost++;
    s->silent += silent;
    at(s, s->now + (silent ? HEARTBEAT : 0),
       (struct event){.fn = on_gone, .who = n, .life = n->life});
}

static void on_join(struct sim *s, struct event *e)
{
    struct node *n = e->who;

    n->worker = fleet_join(s->fleet, (size_t)s->v->lanes + 1, n->memory, n);
    n->joined = n->since = s->now;
    n->up = true;
    if (s->v->life_s)
        at(s, s->now + exponential(s, (double)s->v->life_s * SECOND),
           (struct event){.fn = on_loss, .who = n});
    pump(s);
}

static void pump(struct sim *s)
{
    int64_t start = tick_used_ns();
    size_t cached = fleet_counts(s->fleet).cached;
    struct lease *l = xcalloc(1, sizeof(*l));
    void *work, *who;

    while (fleet_lease(s->fleet, &work, &who, l->fence)) {
        struct node *n = who;
        size_t now = fleet_counts(s->fleet).cached;

        s->spent_ns += tick_used_ns() - start;
        l->task = work;
        l->cached = now > cached;
        cached = now;
        s->overfull += worker_counts(n->worker).memory_taken > n->memory;
        *n->last = l;
        n->last = &l->next;
        if (n->up) /* else it has ended, and nobody knows */
            run_next(s, n);
        l = xcalloc(1, sizeof(*l));
        start = tick_used_ns();
    }
    s->spent_ns += tick_used_ns() - start;
    free(l);
}

/* ---- all of it ---- */

static void make(struct sim *s)
{
    static const uint64_t memories[] = {24 * GB, 48 * GB, 80 * GB, 141 * GB};
    static const uint64_t peaks[] = {1 * GB, 4 * GB, 12 * GB, 40 * GB};
    const struct values *v = s->v;

    s->fleet = fleet_new(FLEET_DEATHS);
    s->task = xcalloc((size_t)v->tasks, sizeof(*s->task));
    s->node = xcalloc((size_t)v->workers, sizeof(*s->node));
    for (size_t i = 0; i < (size_t)v->tasks; i++) {
        struct task *t = &s->task[i];

        snprintf(t->name, sizeof(t->name), "t%zu fp32", i);
        t->left = v->attempts;
        t->peak = peaks[rng_below(&s->rng, 16) ? rng_below(&s->rng, 3) : 3];
        t->weight = pow(2, 2 * rng_unit(&s->rng) - 1);
    }
    for (size_t i = 0; i < (size_t)v->workers; i++) {
        struct node *n = &s->node[i];

        n->sim = s;
        n->last = &n->first;
        n->memory = memories[rng_below(&s->rng, 4)];
        at(s, 0, (struct event){.fn = on_join, .who = n});
    }
}

static size_t tasks_at_a_time(const struct values *v)
{
    double lanes = (double)(v->workers * v->lanes);
    double cycle = 1 + (double)v->model_ms / (double)v->verdict_ms;
    double n = v->in_flight ? (double)v->in_flight : lanes * cycle * 1.5;

    return n < (double)v->tasks ? (size_t)n : (size_t)v->tasks;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double wait_of(const struct sim *s, double share)
{
    return s->waits ? s->wait[(size_t)((double)(s->waits - 1) * share)] : 0;
}

static void print(struct sim *s, size_t at_a_time)
{
    struct fleet_counts c = fleet_counts(s->fleet);
    double lanes = 0, any = 0, alive = 0;

    for (size_t i = 0; i < (size_t)s->v->workers; i++) {
        struct node *n = &s->node[i];

        count_lanes(s, n);
        if (n->worker && n->up)
            n->alive_us += s->now - n->joined;
        lanes += (double)n->lane_us;
        any += (double)n->any_us;
        alive += (double)n->alive_us;
    }
    if (s->waits)
        qsort(s->wait, s->waits, sizeof(*s->wait), by_size);
    printf("SIMULATION: %lld workers of 24 to 141 GB with %lld lanes, %zu "
           "tasks at a time, %.0f s\n",
           (long long)s->v->workers, (long long)s->v->lanes, at_a_time,
           (double)s->now / SECOND);
    printf("  %zu verdicts, %.0f a second; lanes busy %.1f %%, workers with "
           "work %.1f %%\n",
           s->verdicts, (double)s->verdicts / ((double)s->now / SECOND),
           100 * lanes / alive / (double)s->v->lanes, 100 * any / alive);
    printf("  %zu workers lost (%zu silently), %zu leases, %zu given up, "
           "memory exceeded %zu times\n",
           s->lost, s->silent, c.leases, s->given_up, s->overfull);
    printf("  truth cached: %.1f %% of leases\n",
           c.leases ? 100.0 * (double)c.cached / (double)c.leases : 0);
    printf("  wait for a lane: median %.2f s, 90 %% %.2f s, 99 %% %.2f s, "
           "longest %.1f s; %zu wait at the end\n",
           wait_of(s, 0.5), wait_of(s, 0.9), wait_of(s, 0.99), wait_of(s, 1),
           c.waiting);
    printf("  placement: %.2f us of a processor per verdict\n",
           s->verdicts ? (double)s->spent_ns / 1e3 / (double)s->verdicts : 0);
}

static void release(struct sim *s)
{
    while (s->len) {
        struct event e = take(s);

        free(e.lease);
    }
    for (size_t i = 0; i < (size_t)s->v->workers; i++)
        for (struct lease *l = s->node[i].first, *next; l; l = next) {
            next = l->next;
            free(l);
        }
    fleet_free(s->fleet);
    free(s->heap);
    free(s->task);
    free(s->node);
    free(s->wait);
}

static void simulate(const struct values *v)
{
    struct sim s = {.v = v};
    size_t at_a_time = tasks_at_a_time(v);

    rng_init(&s.rng, "fleet/%lld", (long long)v->seed);
    make(&s);
    for (size_t i = 0; i < at_a_time; i++) {
        s.next_task = i + 1;
        s.task[i].left--;
        at(&s, spread(&s, (double)v->model_ms),
           (struct event){.fn = on_answer, .who = &s.task[i]});
    }
    while (s.len && s.heap[0].at <= v->seconds * SECOND) {
        struct event e = take(&s);

        s.now = e.at;
        e.fn(&s, &e);
    }
    print(&s, at_a_time);
    release(&s);
}

int sim_fleet(int argc, char **argv)
{
    struct values v = {.workers = 1000,
                       .lanes = 2,
                       .tasks = 10000,
                       .attempts = 1000,
                       .seconds = 600,
                       .verdict_ms = 2000,
                       .truth_ms = 1000,
                       .model_ms = 5000,
                       .life_s = 3600,
                       .seed = 1};
    struct opt_result r = {0};
    struct err e = ERR_INIT;
    int rc = opt_parse(table, &v, argc, argv, &r, &e);

    if (rc < 0 || r.rest_len || r.common.help)
        fprintf(stderr, "bench-sim: %s\n",
                rc < 0 ? e.text : "see the head of bench/sim/fleet.c");
    else
        simulate(&v);
    rc = rc < 0 || r.rest_len;
    opt_result_release(&r);
    return rc ? 2 : 0;
}
