/* db_schema.h: the tables as numbered steps, and how a file comes to the last; what
 * SQLite's complaints mean to a user. Private to the store and its tests. */
#ifndef STORE_DB_SCHEMA_H
#define STORE_DB_SCHEMA_H

#include "store/store.h"

#include <sqlite3.h>

/* SQLite's error about `path` as one line that says what to do. */
int store_sql_err(struct err *e, sqlite3 *db, const char *path,
                  const char *doing);
int store_exec(sqlite3 *db, const char *path, const char *sql, struct err *e);
/* The number that `sql` selects. */
int store_number(sqlite3 *db, const char *path, const char *sql, int64_t *out,
                 struct err *e);

#define STORE_APPLICATION 0x4d6f6e6b /* "Monk", in SQLite's header */

/* steps[v] migrates from version v to v + 1. */
struct store_step {
    const char *make; /* run on the file */
    const char *view; /* temporary views that let a reader see an older file
                         so; NULL: it must be migrated */
};
extern const struct store_step store_steps[];
extern const size_t store_version;

int store_migrate(sqlite3 *db, const char *path, const struct store_step *steps,
                  size_t version, struct err *e);
/* Migrates a file to `version` (a reader only makes views), or says why it is not
 * a run's database or cannot be migrated. */
int store_check_schema(sqlite3 *db, const char *path, enum store_mode mode,
                       const struct store_step *steps, size_t version,
                       struct err *e);

#endif
