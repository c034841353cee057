/* summary.h: how far a run is, counted from a view of it. */
#ifndef RUN_SUMMARY_H
#define RUN_SUMMARY_H

#include "base/arena.h"
#include "base/json.h"
#include "run/view.h"
#include "verify/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUMMARY_ERRORS 5 /* that are printed */

/* A kind of error (verdict_error_kind()) that tasks without a solution have in
 * common. */
struct summary_error {
    const char *verdict, *error; /* of the first of them */
    size_t tasks;
};

struct summary {
    enum run_state state;
    long pid; /* while it runs, else 0 */
    size_t tasks, skipped, solved, doubted, aside, implausible;
    size_t proven; /* solved at E3: the others passed the trials, no more */
    int64_t rules; /* of truth, that the verdicts follow (verdict.h) */
    /* Pieces of a curriculum are no tasks: only calls, tokens, dollars, events
     * and entries include theirs. */
    size_t pieces, pieces_skipped, pieces_solved;
    int64_t piece_attempts;
    int64_t attempts, calls, answered, lost, failed, duplicates, infra;
    int64_t usd_micro, tokens_in, tokens_out, reserved_usd_micro;
    int64_t assumed_usd_micro; /* of usd_micro: what no provider metered */
    bool estimated;            /* the provider did not report all usage */
    int64_t entries;
    int64_t seeds;   /* of these: all that the run did not add; imported and
                        shared ones, too */
    int64_t kernels; /* entries that the run has added and that have not left;
                        archives_kernel_of() says what export writes */
    int64_t verdict[VERDICTS];   /* attempts by verdict */
    size_t unsolved[VERDICTS];   /* tasks without a solution, by verdict */
    size_t untried;              /* those without a finished attempt */
    struct summary_error *error; /* the most common first */
    size_t errors;
    int64_t first_at, last_at;
    struct arena memory;
};

/* Texts are borrowed from the view. Reads the record of each task that has no
 * solution, or one that was timed. */
int summary_make(struct run_view *v, struct summary *out, struct err *e);
void summary_release(struct summary *m);

/* The number of the first attempt that solved the task, or 0. */
int64_t summary_solved_at(const struct run_task *t);
/* How many times faster than the eager reference an attempt is, from its row
 * alone; NaN: not measured. */
double summary_speedup(const struct run_attempt *a);

/* As --json prints it; the caller owns the reference. */
json_t *summary_run_json(const struct summary *m, const char *dir);

#endif
