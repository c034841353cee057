/* kinds_speed.c: how fast solved kernels are. */
#include "analyze/kinds.h"
#include "base/json.h"
#include "base/mem.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

static const char *const over[] = {"reference_ms", "compile_ms"};

/* The speed-up of each task of the run by an attempt; how many are known. */
static size_t read_speed(const struct analyze_run *r, int64_t attempt,
                         const char *baseline, double *out)
{
    size_t known = 0;

    for (size_t i = 0; i < r->tasks; i++) {
        out[i] = analyze_speedup(&r->task[i], attempt, baseline);
        if (!isnan(out[i]))
            known++;
    }
    return known;
}

/* Both baselines, with > and with >=. */
static void put_fast(struct table *t, const struct analyze_run *r,
                     int64_t attempt, double p)
{
    double *v = xcalloc(r->tasks + 1, sizeof(*v));

    for (size_t k = 0; k < 2; k++) {
        bool any = read_speed(r, r->attempts, over[k], v) > 0;

        read_speed(r, attempt, over[k], v);
        table_share(t, any ? stats_fast_p(v, r->tasks, p, false) : (double)NAN);
        table_share(t, any ? stats_fast_p(v, r->tasks, p, true) : (double)NAN);
    }
    free(v);
}

static bool is_timed(const struct analyze_run *r)
{
    double *v = xcalloc(r->tasks + 1, sizeof(*v));
    bool timed = read_speed(r, r->attempts, over[0], v) +
                     read_speed(r, r->attempts, over[1], v) >
                 0;

    free(v);
    return timed;
}

/* The reason is in the records of the kernels that solved tasks. */
static int lacks_times(struct analysis *a, struct table *t)
{
    const char *why = "no task was solved";

    for (size_t i = 0; i < a->runs; i++)
        for (size_t k = 0; k < a->run[i].tasks; k++) {
            const struct run_attempt *s = analyze_solution(&a->run[i].task[k]);
            const char *times = s && s->verdict ? s->verdict->times : NULL;
            json_t *record = times ? json_loads(times, 0, NULL) : NULL;
            const char *told = jsn_str(record, "timing_why");

            if (s)
                why = arena_strdup(
                    &a->memory, told[0] ? told : "the records do not say why");
            json_decref(record);
        }
    return table_lacks(t, "no kernel was timed: %s", why);
}

int kind_fast(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {
        "run",        "attempt",     "solved",       "eager > 1",
        "eager >= 1", "compile > 1", "compile >= 1", NULL};
    bool timed = false;

    (void)e;
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];

        if (!is_timed(r))
            continue;
        timed = true;
        for (int64_t k = 1; k <= r->attempts; k++) {
            table_text(t, r->name);
            table_int(t, k);
            table_share(t, (double)analyze_solved(r, k) / (double)r->tasks);
            put_fast(t, r, k, 1);
        }
    }
    table_note(t, "shares of all tasks; > is KernelBench's fast_1, >= counts "
                  "parity; of several kernels of a task, the fastest so far");
    return timed ? 0 : lacks_times(a, t);
}

int kind_speed(struct analysis *a, struct table *t, struct err *e)
{
    static const double ps[] = {0, 0.5, 0.8, 1, 1.5, 2};
    static const char *const names[] = {
        "run",          "p", "eager > p", "eager >= p", "compile > p",
        "compile >= p", NULL};
    bool timed = false;

    (void)e;
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];
        double *v = xcalloc(r->tasks + 1, sizeof(*v));

        for (size_t k = 0; is_timed(r) && k < sizeof(ps) / sizeof(*ps); k++) {
            timed = true;
            table_text(t, r->name);
            table_real(t, ps[k], 1);
            put_fast(t, r, r->attempts, ps[k]);
        }
        for (size_t k = 0; k < 2; k++) {
            size_t known = read_speed(r, r->attempts, over[k], v);

            if (known)
                table_note(t,
                           "%s: geometric mean over %s %.2f, of %zu kernels "
                           "that were timed, of %zu solved tasks",
                           r->name, k ? "compile" : "eager",
                           stats_geomean(v, r->tasks), known, r->solved);
        }
        free(v);
    }
    return timed ? 0 : lacks_times(a, t);
}
