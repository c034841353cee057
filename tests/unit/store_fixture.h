/* store_fixture.h: a store in a temporary folder, for tests. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include "base/buf.h"
#include "store/store.h"

/* Opens DIR/run.db; a failure is a BUG. */
struct store *db_open(const char *dir, enum store_mode mode, struct loop *l);
void db_close(struct store *s); /* and that it went well */
/* An error line, or "" when it opened after all (and was closed). */
const char *db_refusal(const char *path, enum store_mode mode, struct err *e);

/* All rows of a query, a line each, columns separated by '|'. */
void db_query(const char *path, const char *sql, struct buf *out);
int64_t db_number(const char *path, const char *sql);
void db_exec(const char *path, const char *sql);

#endif
