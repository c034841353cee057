/* kinds_solved.c: how many tasks were solved: by method, by strategy of
 * retrieval, by attempt, by what a model was tuned on. */
#include "analyze/kinds.h"
#include "base/str.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

static double share(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : (double)NAN;
}

/* ---- Table 2 ---- */

int kind_solved(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"seeds", "attempts", "tasks", "solved",
                                        "share", "low",      "high",  NULL};

    (void)e;
    kind_run_columns(t);
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];
        struct stats_interval in =
            stats_wilson((int64_t)r->solved, (int64_t)r->tasks);

        kind_run_cells(t, r);
        table_int(t, r->seeds);
        table_int(t, r->attempts);
        table_int(t, (int64_t)r->tasks);
        table_int(t, (int64_t)r->solved);
        table_share(t, share(r->solved, r->tasks));
        table_share(t, in.lo);
        table_share(t, in.hi);
        if (r->skipped)
            table_note(t, "%s: tasks that cannot be judged do not count: %zu",
                       r->name, r->skipped);
        if (r->view.state != RUN_FINISHED && r->view.state != RUN_UNKNOWN)
            table_note(t, "%s is not finished: %s", r->name,
                       run_states[r->view.state]);
    }
    table_note(t, "low and high: Wilson's 95 %% interval");
    return 0;
}

/* ---- Table 7 ---- */

int kind_retrieval(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const strategy[] = {"random", "similar", "alternating",
                                           "coverage"};
    static const char *const names[] = {
        "retrieval", "run", "attempts", "tasks", "solved", "share", NULL};
    size_t kinds = 0;

    (void)e;
    table_columns(t, names);
    for (size_t k = 0; k < 4; k++) {
        bool any = false;

        for (size_t i = 0; i < a->runs; i++) {
            const struct analyze_run *r = &a->run[i];

            if (strcmp(r->retrieval, strategy[k]) != 0)
                continue;
            any = true;
            table_text(t, strategy[k]);
            table_text(t, r->name);
            table_int(t, r->attempts);
            table_int(t, (int64_t)r->tasks);
            table_int(t, (int64_t)r->solved);
            table_share(t, share(r->solved, r->tasks));
        }
        kinds += any;
    }
    return kinds >= 2 ? 0
                      : table_lacks(t, "it needs runs with two or more "
                                       "strategies of retrieval");
}

/* ---- Table 8 ---- */

static size_t compiled_by(const struct analyze_run *r, int64_t attempt)
{
    size_t n = 0;

    for (size_t i = 0; i < r->tasks; i++)
        n += r->task[i].compiled_at && r->task[i].compiled_at <= attempt;
    return n;
}

int kind_iterations(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"run",      "attempt", "correct",
                                        "compiled", "tasks",   NULL};

    (void)e;
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++)
        for (int64_t k = 1; k <= a->run[i].attempts; k++) {
            const struct analyze_run *r = &a->run[i];

            table_text(t, r->name);
            table_int(t, k);
            table_int(t, (int64_t)analyze_solved(r, k));
            table_int(t, (int64_t)compiled_by(r, k));
            table_int(t, (int64_t)r->tasks);
        }
    table_note(t, "a task counts as compiled from its first attempt that "
                  "compiled, correct or not");
    return 0;
}

/* ---- Table 9 ---- */

struct training {
    struct str source;
    int64_t problems, samples;
};

static int read_training(const char *item, struct str *model,
                         struct training *out, struct err *e)
{
    struct str rest = str_of(item), number;

    if (str_cut(&rest, '=', model) && str_cut(&rest, ',', &out->source) &&
        str_cut(&rest, ',', &number) &&
        str_to_i64(number, 0, INT64_MAX, &out->problems) &&
        str_to_i64(rest, 0, INT64_MAX, &out->samples))
        return 0;
    return err_set(e, ERR_USAGE,
                   "--training '%s' is not MODEL=SOURCE,PROBLEMS,SAMPLES",
                   item);
}

/* What --training says of the model: 1; 0: nothing. */
static int training_of(const struct analysis *a, const char *model,
                       struct training *out, struct err *e)
{
    for (size_t i = 0; a->training && i < a->training->len; i++) {
        struct str name;

        if (read_training(a->training->item[i], &name, out, e) < 0)
            return -1;
        if (str_eq(name, model))
            return 1;
    }
    return 0;
}

/* Solved tasks that reach eager or compiled PyTorch: at least as fast, or
 * (`ties` false) faster. */
static size_t count_reach(const struct analyze_run *r, bool ties, bool *timed)
{
    size_t n = 0;

    for (size_t i = 0; i < r->tasks; i++) {
        double eager =
                   analyze_speedup(&r->task[i], r->attempts, "reference_ms"),
               compile =
                   analyze_speedup(&r->task[i], r->attempts, "compile_ms");

        *timed |= !isnan(eager) || !isnan(compile);
        n += ties ? eager >= 1 || compile >= 1 : eager > 1 || compile > 1;
    }
    return n;
}

static void put_reach(struct table *t, const struct analyze_run *r)
{
    bool timed = false;
    size_t at_least = count_reach(r, true, &timed),
           above = count_reach(r, false, &timed);

    if (!timed) {
        for (int i = 0; i < 3; i++)
            table_empty(t);
        return;
    }
    table_int(t, (int64_t)at_least);
    table_share(t, share(at_least, r->solved));
    table_int(t, (int64_t)above);
}

int kind_tuned(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {
        "model",  "run",     "source of data", "problems", "samples",
        "solved", "reach 1", "share",          "above 1",  NULL};
    struct training x = {0};
    bool any = false;

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];
        int known = training_of(a, r->model, &x, e);

        if (known < 0)
            return -1;
        any |= known;
        table_text(t, r->model);
        table_text(t, r->name);
        table_text(t, known ? arena_strndup(&a->memory, x.source.p, x.source.n)
                            : NULL);
        table_int(t, known ? x.problems : 0);
        table_int(t, known ? x.samples : 0);
        table_int(t, (int64_t)r->solved);
        put_reach(t, r);
    }
    table_note(t, "reach 1: solved, and at least as fast as eager or compiled "
                  "PyTorch; above 1: faster; share: of the solved");
    return any ? 0
               : table_lacks(t, "no model is described as tuned: give "
                                "--training MODEL=SOURCE,PROBLEMS,SAMPLES");
}
