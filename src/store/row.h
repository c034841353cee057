/* row.h: structs to rows and back. One list of columns for each table serves the
 * queue (how much to copy), the writer and the readers. Private to the store. */
#ifndef STORE_ROW_H
#define STORE_ROW_H

#include "store/store.h"

#include <sqlite3.h>

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

/* Copies a row to `into`, which has room for row_bytes(). */
size_t row_bytes(const struct table *t, const void *row);
void row_copy(const struct table *t, const void *row, void *into);

/* What inserts rows on a connection, with the statements it has prepared. */
struct row_writer {
    sqlite3 *db;
    const char *path; /* for errors */
    sqlite3_stmt *insert[TABLES], *same[TABLES];
};
/* A row that is there already must be the same, apart from what is loose. */
int row_insert(struct row_writer *w, const struct table *t, const void *row,
               struct err *e);
void row_writer_release(struct row_writer *w);

/* In store.c: queues a row; what the rows are read from, and its name for errors. */
void store_put(struct store *s, const struct table *t, const void *row);
const char *store_path(const struct store *s);

#endif
