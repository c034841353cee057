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
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_context;
struct sqlite3_stmt;
struct sqlite3_value;

/* A database that is asked. `make`, if any, is called for a table that a statement
 * names and that is not there. */
struct query_db {
    struct sqlite3 *db;
    int (*make)(void *arg, const char *table, struct err *e);
    void *arg;
    bool keep; /* the statements, for the next time */
};

/* The result code of a function of ours that could not read a text: the query then fails
 * with its message alone, as ERR_INPUT. SQLite itself never returns it. */
#define QUERY_BAD_TEXT 12 /* SQLITE_NOTFOUND */

/* The text of a file; NULL: there is none of this name. */
const char *query_text(const char *name);
/* A function for queries; with `end`, an aggregate, of which `fn` is the step. */
struct query_function {
    const char *name; /* NULL ends a list */
    int args;
    void (*fn)(struct sqlite3_context *c, int n, struct sqlite3_value **v);
    void (*end)(struct sqlite3_context *c);
};
/* Adds a list of them to a database; `drop` frees `arg` when it is closed, or is NULL. */
void query_define(struct sqlite3 *db, const struct query_function *list,
                  void *arg, void (*drop)(void *arg));
/* Adds those of query.c. */
void query_functions(struct sqlite3 *db);

/* Runs a file. Calls back for each row, until it returns other than 0, which is then
 * returned. The statement's parameter :NAME is the member NAME of `given` (NULL: there
 * is none). */
typedef int query_fn(struct sqlite3_stmt *q, void *arg, struct err *e);
int query_each(const struct query_db *d, const char *name, const json_t *given,
               query_fn *fn, void *arg, struct err *e);
/* The rows as a list of objects, whose members are the columns: as they are, or by the
 * end of a column's name: ":b" true or false, ":j" the value of JSON, ":?" no member for
 * NULL, ":o" the value of JSON or no member. Takes the reference to `given`; the caller owns the list. NULL: an error. */
json_t *query_rows(const struct query_db *d, const char *name, json_t *given,
                   struct err *e);
/* As query_each(), for a statement that is prepared, which is freed. */
int query_step(struct sqlite3_stmt *q, const char *name, query_fn *fn,
               void *arg, struct err *e);
int query_fail(struct sqlite3 *db, const char *name, struct err *e);

/* ---- a run: its database, with functions that read its texts (saved.c) ---- */

/* The run in `dir`, opened for reading with these functions; ERR_INPUT if there is none. */
struct store *query_open(const char *dir, struct err *e);
void query_close(struct store *s); /* may be NULL */
/* The same functions for a store that is open. */
void query_texts(struct store *s);
/* The same for a run. */
json_t *query_list(struct store *s, const char *name, json_t *given,
                   struct err *e);
/* The first row; NULL without an error: there is none. */
json_t *query_row(struct store *s, const char *name, json_t *given,
                  struct err *e);
/* Appends the first column of each row, as a line. */
int query_lines(struct store *s, const char *name, json_t *given,
                struct buf *out, struct err *e);
/* Appends the first column of the first row, byte for byte: 1; 0: there is none, or NULL. */
int query_bytes(struct store *s, const char *name, json_t *given,
                struct buf *out, struct err *e);
/* Calls `add` for each message of a stored prompt: its role, its text, and the length of the
 * text's first part, which in a system message is what all prompts with the pack start
 * with. 1; 0: there is no hash; -1: an error. */
typedef void query_message_fn(const char *role, struct str text, size_t first,
                              void *arg);
int query_messages(struct store *s, const char *hash, query_message_fn *add,
                   void *arg, struct err *e);

/* ---- a task of a run and its attempts as JSON, from the queries in task/. What a model
 * wrote is given as it was stored: treat it as untrusted ---- */

/* The number of the attempt that stands for the task: of those that solved it the one with
 * the highest fitness (of equals the first), else the last; 0: none is finished. */
int query_task_best(struct store *s, int64_t task, int64_t *out, struct err *e);
/* {"task", "skipped", "reference", "attempts": a line each, "attempt": null}, as
 * docs/PAGE.md says. */
json_t *query_task(struct store *s, int64_t task, struct err *e);
/* An attempt in full, for the last member. NULL without an error: there is none. */
json_t *query_task_attempt(struct store *s, int64_t task, int64_t attempt,
                           struct err *e);
/* {"before", "diff"}: what changed in the code since the last attempt before that has
 * some. NULL without an error: there is none. */
json_t *query_task_diff(struct store *s, int64_t task, int64_t attempt,
                        struct err *e);

#endif
