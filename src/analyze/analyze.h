/* analyze.h: the tables of the paper, and others, from the logs of runs. A
 * table is a function over opened runs that fills a `struct table`; the list
 * below has them all. docs/ANALYZE.md says what each one means. */
#ifndef ANALYZE_ANALYZE_H
#define ANALYZE_ANALYZE_H

#include "analyze/table.h"
#include "base/err.h"
#include "base/map.h"
#include "base/opt.h"
#include "run/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A task that takes part in a run: the gate did not skip it. */
struct analyze_task {
    const struct run_task *task;
    const char *level;   /* "level1" of "level1/19_ReLU"; "" without one */
    int64_t solved_at;   /* the attempt that solved it, or 0 */
    int64_t compiled_at; /* the first attempt that compiled, or 0 */
    int64_t correct;     /* attempts that solved it */
};

/* A run, and what most tables ask of it. */
struct analyze_run {
    struct run_view view;
    const char *name; /* its folder's, made different from the others' */
    const char *method, *model, *dsl;
    const char *retrieval;     /* "alternating", …; "" when none is used */
    int64_t attempts;          /* the most that a task may make */
    int64_t seeds;             /* kernels in the archive at the start */
    struct analyze_task *task; /* in the run's order */
    struct map by_id;          /* the same */
    struct map solved_by_hash; /* solved ones, by the hash of their source */
    size_t tasks, solved, skipped;
    bool full; /* every task made the same number of attempts, `attempts` */
    /* private: primitives of programs that were read, see words_add() */
    struct map words, names;
    struct arena memory;
};

/* What is analysed, and how. */
struct analysis {
    struct analyze_run *run;
    size_t runs;
    const struct opt_list *training; /* MODEL=SOURCE,PROBLEMS,SAMPLES */
    int64_t rounds;                  /* of a randomisation test */
    struct arena memory;
};

/* Opens the runs; ERR_INPUT names the folder that holds none. */
int analysis_open(struct analysis *a, const char *const *dir, size_t n,
                  struct err *e);
void analysis_close(struct analysis *a);

/* The best speed-up of a task up to an attempt, over "reference_ms" or
 * "compile_ms"; NaN: not solved by then, or not measured. */
double analyze_speedup(const struct analyze_task *t, int64_t attempt,
                       const char *over);
/* Tasks solved within that many attempts. */
size_t analyze_solved(const struct analyze_run *r, int64_t attempts);
/* The attempt that solved it; NULL: none did. */
const struct run_attempt *analyze_solution(const struct analyze_task *t);

/* Every table, in the order of printing. */
#define ANALYZE_KINDS(X)                                                       \
    X(solved, "tasks solved within the attempts, by method (Table 2)")         \
    X(samples, "pass@1, accuracy and coverage of N samples (Table 3)")         \
    X(bars, "pass@1 of each language and model (Figure 2)")                    \
    X(retrieval, "tasks solved by strategy of retrieval (Table 7)")            \
    X(iterations, "tasks correct and compiled up to an attempt (Table 8)")     \
    X(tuned, "tasks solved by fine-tuned models (Table 9)")                    \
    X(novelty, "success by the number of examples that changed (Table 10)")    \
    X(fast, "share of tasks that are solved and fast, by attempt (Figure 5)")  \
    X(speed, "fast_p of the whole run, for several p")                         \
    X(coverage,                                                                \
      "are the components of unsolved tasks in solved ones? (section 2)")      \
    X(unsolved, "unsolved tasks, and what they could see (appendix O)")        \
    X(curriculum,                                                              \
      "pieces and tasks solved, without a curriculum and with one (Table 11)") \
    X(features, "lines and primitives of each solved kernel (P.4)")            \
    X(primitives, "how often each primitive is used")                          \
    X(cost, "attempts, tokens and dollars per solved task")                    \
    X(credit, "examples, and whether attempts that saw them did better")       \
    X(borrowing,                                                               \
      "how much of a kernel comes from its examples (N.1); asks a model")

struct analyze_kind {
    const char *name, *what;
    int (*fill)(struct analysis *a, struct table *out, struct err *e);
};
extern const struct analyze_kind analyze_kinds[]; /* name NULL at the end */

/* Fills the table of this kind; on failure it is released. */
int analyze_fill(const struct analyze_kind *k, struct analysis *a,
                 struct table *out, struct err *e);

#endif
