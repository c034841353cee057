/* query.h: queries, and the one way from their rows to C. A query is a
 * file NAME.sql under src/, which is compiled in; it may have several statements.
 *
 * A list or a table that is selection, joining and grouping is a query, so that no
 * code repeats what SQLite does better. What SQLite cannot do is a function that
 * queries may call, listed in query.c: intervals and tests (base/stats.h), what a stored
 * record says, how a number is rounded. */
#ifndef RUN_QUERY_H
#define RUN_QUERY_H

#include "base/err.h"
#include "base/json.h"

struct sqlite3;
struct sqlite3_stmt;

/* A database that is asked. `make`, if any, is called for a table that a statement
 * names and that is not there. */
struct query_db {
    struct sqlite3 *db;
    int (*make)(void *arg, const char *table, struct err *e);
    void *arg;
};

/* The text of a file; NULL: there is none of this name. */
const char *query_text(const char *name);
/* Lets queries to a database call the functions. */
void query_functions(struct sqlite3 *db);

/* Runs a file. Calls back for each row, until it returns other than 0, which is then
 * returned. The statement's parameter :NAME is the member NAME of `given` (NULL: there
 * is none). */
typedef int query_fn(struct sqlite3_stmt *q, void *arg, struct err *e);
int query_each(const struct query_db *d, const char *name, const json_t *given,
               query_fn *fn, void *arg, struct err *e);
/* The same for a statement that is prepared, which is freed. */
int query_step(struct sqlite3_stmt *q, const char *name, query_fn *fn,
               void *arg, struct err *e);
int query_fail(struct sqlite3 *db, const char *name, struct err *e);

#endif
