/* analyze.h: the tables of the paper, and others, from the logs of runs. What is
 * selection, joining and grouping is a query (tables/NAME.sql, see merged.h); what
 * reads programs is a function over opened runs. The list below has them all.
 * docs/ANALYZE.md says what each one means. */
#ifndef ANALYZE_ANALYZE_H
#define ANALYZE_ANALYZE_H

#include "analyze/merged.h"
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
    int64_t solved_at; /* the attempt that solved it, or 0 */
};

/* A run. What follows `store` is there after analysis_read(). */
struct analyze_run {
    const char *dir, *name; /* its folder's, made different from the others' */
    struct store *store;
    bool read;
    struct run_view view;
    const char *method, *model, *dsl;
    struct analyze_task *task; /* in the run's order */
    struct map solved_by_hash; /* solved ones, by the hash of their source */
    size_t tasks, solved;
    /* private: primitives of programs that were read, see words_add() */
    struct map words, names;
    struct arena memory;
};

/* What is analysed, and how. */
struct analysis {
    struct analyze_run *run;
    size_t runs;
    struct merged *merged;
    struct arena memory;
};

/* Opens the runs; ERR_INPUT names the folder that holds none. `dir` stays until
 * they are closed. */
int analysis_open(struct analysis *a, const char *const *dir, size_t n,
                  struct err *e);
void analysis_close(struct analysis *a);
/* Reads the runs as a whole, for tables that are made in C. analyze_fill() does it
 * where it must. */
int analysis_read(struct analysis *a, struct err *e);

/* The attempt that solved it; NULL: none did. */
const struct run_attempt *analyze_solution(const struct analyze_task *t);

/* Every table, in the order of printing: made by SQL (Q), or in C. */
#define ANALYZE_KINDS(Q, C)                                                    \
    Q(solved, "tasks solved within the attempts, by method (Table 2)")         \
    Q(samples, "pass@1, accuracy and coverage of N samples (Table 3)")         \
    Q(bars, "pass@1 of each language and model (Figure 2)")                    \
    Q(retrieval, "tasks solved by strategy of retrieval (Table 7)")            \
    Q(iterations, "tasks correct and compiled up to an attempt (Table 8)")     \
    Q(tuned, "tasks solved by fine-tuned models (Table 9)")                    \
    Q(novelty, "success by the number of examples that changed (Table 10)")    \
    Q(fast, "share of tasks that are solved and fast, by attempt (Figure 5)")  \
    Q(speed, "fast_p of the whole run, for several p")                         \
    C(coverage,                                                                \
      "are the components of unsolved tasks in solved ones? (section 2)")      \
    C(unsolved, "unsolved tasks, and what they could see (appendix O)")        \
    Q(curriculum,                                                              \
      "pieces and tasks solved, without a curriculum and with one (Table 11)") \
    C(features, "lines and primitives of each solved kernel (P.4)")            \
    C(primitives, "how often each primitive is used")                          \
    Q(cost, "attempts, tokens and dollars per solved task")                    \
    Q(credit, "examples, and whether attempts that saw them did better")       \
    Q(borrowing,                                                               \
      "how much of a kernel comes from its examples (N.1); asks a model")

struct analyze_kind {
    const char *name, *what;
    /* NULL: tables/NAME.sql */
    int (*fill)(struct analysis *a, struct table *out, struct err *e);
};
extern const struct analyze_kind analyze_kinds[]; /* name NULL at the end */

/* Fills the table of this kind; on failure it is released. */
int analyze_fill(const struct analyze_kind *k, struct analysis *a,
                 struct table *out, struct err *e);

#endif
