/* analysis.h: the tables of the paper, and others, from the logs of runs. Each is a
 * query (tables/NAME.sql), over rows of all the runs in one database in memory.
 * docs/ANALYZE.md says what each one means.
 *
 * Runs are read one by one (SQLite attaches ten at most): merge/NAME.sql selects rows of
 * a run, which go into a table of that name; derived/NAME.sql makes one of others. Both
 * are made when the first statement names them. A query of merge/ is put after tried.sql,
 * so it begins with SELECT, or with a comma for another table of that WITH; its first
 * parameter is :nr, the number of the run. Sums are taken in merge/ where the rows of a
 * run would be many. programs.c has the functions that read programs. */
#ifndef ANALYZE_ANALYSIS_H
#define ANALYZE_ANALYSIS_H

#include "analyze/programs.h"
#include "analyze/table.h"
#include "base/opt.h"

#include <stddef.h>
#include <stdint.h>

/* What is analysed. In queries a run has a number, from 0. */
struct analysis {
    struct programs_run *run;
    size_t runs;
    struct arena memory;
    /* private */
    struct sqlite3 *db;
    struct programs programs;
};

/* Opens the runs; ERR_INPUT names the folder that holds none. `a` does not move, and
 * `dir` stays, until they are closed. */
int analysis_open(struct analysis *a, const char *const *dir, size_t n,
                  struct err *e);
void analysis_close(struct analysis *a);

/* What the command line says, or a model: a row of the table `given`, with a value as
 * JSON, which is taken. */
int analysis_give(struct analysis *a, const char *name, json_t *value,
                  struct err *e);
json_t *analysis_list(const struct opt_list *list);
/* The rows of a file's statements, in which :nr is `nr`: see query_rows(). */
json_t *analysis_ask(struct analysis *a, const char *name, int64_t nr,
                     struct err *e);

/* Every table, in the order of printing. */
#define ANALYSIS_KINDS(X)                                                      \
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

struct analysis_kind {
    const char *name, *what;
};
extern const struct analysis_kind analysis_kinds[]; /* name NULL at the end */

/* Fills a table by tables/NAME.sql; on failure it is released. The first column of a
 * statement says what its rows are: `note`: a note each; `missing`: why there is no
 * table; `empty`: the same, if it has no rows; `usage`: what is wrong with the command
 * line. Others are the rows of the table. A column's name is its heading; at its end
 * ":%" makes shares of the values, ":N" numbers with N digits for people. A column "*"
 * has an object, whose members are the columns; those of "*%" are shares. */
int analysis_fill(const struct analysis_kind *k, struct analysis *a,
                  struct table *out, struct err *e);

/* ---- comparing runs on the tasks that they have in common ---- */

/* What makes the runs incomparable: a line for each difference in tasks,
 * precision or protocol. 1: there is one; 0: there is none. */
int compare_differences(struct analysis *a, struct buf *out, struct err *e);
/* Leaves only the tasks that all runs have, the same source in each; ERR_INPUT when
 * there are none. */
int compare_align(struct analysis *a, struct err *e);
extern const struct analysis_kind compare_kinds[]; /* after compare_align() */

/* Appends, as Markdown, what runs tell the author of a language: what goes wrong, which
 * primitives nobody finds, which hints help, which names models make up. */
int author_report(struct analysis *a, struct buf *out, struct err *e);

#endif
