/* merged.h: rows of several runs in one database in memory, and what SQL makes of
 * them. Runs are read one by one (SQLite attaches ten at most): merge/NAME.sql
 * selects rows of a run, which go into a table of that name. Times and sums are
 * taken there, so a run of 50,000 attempts is a few rows per task here. A table of
 * merge/ or made/ is made when the first statement names it. */
#ifndef ANALYZE_MERGED_H
#define ANALYZE_MERGED_H

#include "analyze/table.h"
#include "base/err.h"
#include "base/opt.h"
#include "store/store.h"

#include <stdint.h>

struct merged;

/* Its folder, its name, its process (0: none). In queries it has a number, from 0. */
struct merged_run {
    struct store *store;
    const char *dir, *name;
    long pid;
};
struct merged *merged_new(const struct merged_run *run, size_t runs,
                          struct err *e); /* `run` stays */
void merged_free(struct merged *m);       /* NULL: nothing */

/* What the command line says: the items of the table `given`, and in the one row of
 * `asked` the rounds of a randomisation test. */
int merged_give(struct merged *m, const struct opt_list *training,
                int64_t rounds, struct err *e);

/* Runs src/analyze/NAME.sql. Calls back for each row of each statement of a file, in which :nr is `nr`: with
 * its first column as text ("" for NULL), and its second as a number. */
int merged_each(struct merged *m, const char *name, int64_t nr,
                void (*fn)(const char *text, int64_t number, void *arg),
                void *arg, struct err *e);

/* Fills a table by tables/NAME.sql. The first column of a statement says what its
 * rows are: `note`: a note each; `missing`: why there is no table; `empty`: the
 * same, if it has no rows; `usage`: what is wrong with the command line. Others are
 * the rows of the table. A column's name is its heading; at its end ":%" makes
 * shares of the values, ":N" numbers with N digits for people. A column "*" has an
 * object, whose members are the columns; those of "*%" are shares. */
int merged_table(struct merged *m, const char *name, struct table *t,
                 struct err *e);

#endif
