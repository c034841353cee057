/* store_int.h: shared by the files of the store and by its tests. */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include "base/map.h"
#include "store/store.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>
#include <zstd.h>

/* ---- tables: how the fields of a struct map to columns ---- */

enum col_type {
    COL_INT,   /* int64_t */
    COL_BOOL,  /* bool */
    COL_REAL,  /* double; NaN is NULL */
    COL_TEXT,  /* const char *; NULL is NULL */
    COL_BYTES, /* a pointer, and how many `unit`s it points to */
};

enum {
    COL_KEY = 1,
    /* Times, and how a text was compressed: differences there do not count. */
    COL_LOOSE = 2,
};

struct col {
    const char *name;
    enum col_type type;
    unsigned flags;
    size_t at;             /* offset in the struct */
    size_t count_at, unit; /* COL_BYTES */
};

struct table {
    const char *name;
    const struct col *col;
    size_t cols;
    size_t size; /* of the struct */
    /* NULL: a row never changes. Otherwise a row with the same key replaces the
     * stored one, unless this condition holds for the stored one. */
    const char *frozen;
};

enum {
    TABLE_FACT,
    TABLE_TASK,
    TABLE_BLOB,
    TABLE_CALL,
    TABLE_ATTEMPT,
    TABLE_SHOWN,
    TABLE_VERDICT,
    TABLE_VERDICT_TIME,
    TABLE_ENTRY,
    TABLE_ENTRY_LEFT,
    TABLE_REVIEW,
    TABLE_VECTOR,
    TABLE_RECHECK,
    TABLE_EVENT,
    TABLE_LOOK,
    TABLES
};
extern const struct table store_tables[TABLES];
/* For reading only: joins, and what triggers write. */
extern const struct table store_verdict_read, store_entry_read,
    store_change_read;

void store_put_names(struct buf *sql, const struct table *t); /* a, b, c */
void store_put_keys(struct buf *sql, const struct table *t);

/* Rows with private structs. */
struct row_fact {
    const char *name, *value;
};

struct row_entry_left {
    int64_t entry, version;
    const char *why;
};

struct row_blob {
    const char *hash;
    int64_t size;     /* of the text */
    const void *data; /* the text until the writer compresses it */
    size_t len;
};

/* ---- the store ---- */

struct item; /* a queued row or mark */

/* For tests: the process ends instead of doing the N-th operation of the writer (a
 * row, a commit, a callback). */
struct store_fault {
    int64_t at, count; /* at 0: never */
};

struct store {
    char *path;
    enum store_mode mode;
    struct loop *loop;

    /* The caller's thread. */
    sqlite3 *reader;
    sqlite3_stmt *read_blob, *data_version;
    bool old;     /* the file has an older schema */
    dev_t device; /* which file it is */
    ino_t inode;
    ZSTD_DCtx *unpack;
    struct map known; /* hashes of blobs given so far */
    int64_t events;
    int64_t marks;  /* given so far */
    size_t waiting; /* callbacks to be called */
    uint64_t watch; /* the loop's source, while there are some */
    bool telling;
    struct store_waiting *waits; /* coroutines, a list */

    /* The writer's thread. */
    sqlite3 *writer;
    sqlite3_stmt *insert[TABLES], *same[TABLES], *begin, *commit;
    ZSTD_CCtx *pack;
    char *packed; /* what it made last */
    size_t packed_cap;
    struct store_fault fault;

    /* Both, under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* the writer: there is something to do */
    pthread_cond_t progress; /* the caller: something was done */
    pthread_t thread;
    struct item *first, **last;
    size_t bytes;   /* of rows that are not yet written */
    int64_t due_ns; /* when to write them */
    bool closing;
    int64_t marks_done;
    struct item *told, **told_last; /* marks whose callback is due */
    struct err failed;              /* the first failure */
    int wake_fd;
};

/* Call before the first row. */
void store_fault_set(struct store *s, int64_t n);

/* ---- store.c ---- */
/* SQLite's error about `path` as one line that says what to do. */
int store_sql_err(struct err *e, sqlite3 *db, const char *path,
                  const char *doing);
int store_exec(sqlite3 *db, const char *path, const char *sql, struct err *e);
/* The number that `sql` selects. */
int store_number(sqlite3 *db, const char *path, const char *sql, int64_t *out,
                 struct err *e);

/* ---- schema.c ---- */
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

/* ---- writer.c ---- */
int store_writer_start(struct store *s, struct err *e);
void store_writer_end(
    struct store *s); /* writes what is queued, then returns */
void store_put(struct store *s, const struct table *t, const void *row);

/* ---- rows.c ---- */
int store_insert(struct store *s, const struct table *t, const void *row,
                 struct err *e);
/* Copies a row to `into`, which has room for store_row_bytes(). */
size_t store_row_bytes(const struct table *t, const void *row);
void store_row_copy(const struct table *t, const void *row, void *into);

/* ---- blob.c ---- */
/* Compresses the row's text into the store's buffer, which the row then points
 * to. */
int store_pack(struct store *s, struct row_blob *row, struct err *e);

#endif
