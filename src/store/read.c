/* read.c: reads rows into structs and calls back for each. */
#include "store/store_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* One reading: the caller's function under its own type, and its argument. */
struct reading {
    union {
        int (*task)(const struct row_task *, void *);
        int (*call)(const struct row_call *, void *);
        int (*attempt)(const struct row_attempt *, void *);
        int (*shown)(const struct row_shown *, void *);
        int (*verdict)(const struct row_verdict *, void *);
        int (*entry)(const struct row_entry *, int64_t, void *);
        int (*review)(const struct row_review *, void *);
        int (*recheck)(const struct row_recheck *, void *);
        int (*look)(const struct row_look *, void *);
        int (*vector)(const struct row_vector *, void *);
        int (*change)(const struct row_change *, void *);
        int (*event)(const char *, int64_t, int64_t, const char *, int64_t,
                     void *);
    } fn;
    void *arg;
    int (*give)(const struct reading *r, const void *row);
    /* Only rows with this value in this column (or, with `after`, with a greater
     * one); NULL: all. */
    const char *column, *text; /* text NULL: the number counts */
    int64_t number;
    bool after;
};

/* Floats may lie at an odd address in SQLite's page: `aligned` gets a copy. */
static void store_load(sqlite3_stmt *q, int i, const struct col *c, void *row,
                       struct buf *aligned)
{
    char *field = (char *)row + c->at;
    const void *p;
    size_t count;

    switch (c->type) {
    case COL_INT:
        memcpy(field, &(int64_t){sqlite3_column_int64(q, i)}, sizeof(int64_t));
        break;
    case COL_BOOL:
        memcpy(field, &(bool){sqlite3_column_int(q, i) != 0}, sizeof(bool));
        break;
    case COL_REAL:
        memcpy(field,
               &(double){sqlite3_column_type(q, i) == SQLITE_NULL
                             ? (double)NAN
                             : sqlite3_column_double(q, i)},
               sizeof(double));
        break;
    case COL_TEXT:
        p = sqlite3_column_text(q, i);
        memcpy(field, &p, sizeof(p));
        break;
    case COL_BYTES:
        buf_reset(aligned);
        p = sqlite3_column_blob(q, i);
        count = (size_t)sqlite3_column_bytes(q, i) / c->unit;
        buf_put(aligned, p, count * c->unit);
        p = aligned->data;
        memcpy(field, &p, sizeof(p));
        memcpy((char *)row + c->count_at, &count, sizeof(count));
        break;
    }
}

static int store_each_row(sqlite3_stmt *q, const struct table *t,
                          const struct reading *r, int *state)
{
    union { /* large and aligned enough for every row */
        struct row_call call;
        struct row_entry_read entry;
        struct row_attempt attempt;
        struct row_verdict verdict;
    } row;
    struct buf aligned;
    int rc = 0;

    if (t->size > sizeof(row))
        BUG("%s: a row of %zu bytes", t->name, t->size);
    buf_init(&aligned, BUF_UNLIMITED);
    memset(&row, 0, sizeof(row));
    while (rc == 0 && (*state = sqlite3_step(q)) == SQLITE_ROW) {
        for (size_t i = 0; i < t->cols; i++)
            store_load(q, (int)i, &t->col[i], &row, &aligned);
        rc = r->give(r, &row);
    }
    buf_release(&aligned);
    return rc;
}

static int each(struct store *s, const struct table *t, const struct reading *r,
                struct err *e)
{
    sqlite3_stmt *q = NULL;
    struct buf sql;
    int rc = -1, state = SQLITE_DONE;

    buf_init(&sql, BUF_UNLIMITED);
    buf_puts(&sql, "SELECT ");
    store_put_names(&sql, t);
    buf_printf(&sql, " FROM %s", t->name);
    if (r->column)
        buf_printf(&sql, " WHERE %s %s ?1", r->column, r->after ? ">" : "=");
    buf_puts(&sql, " ORDER BY ");
    store_put_keys(&sql, t);
    if (sqlite3_prepare_v2(s->reader, sql.data, (int)sql.len, &q, NULL) !=
        SQLITE_OK)
        state = SQLITE_ERROR;
    else if (r->text)
        sqlite3_bind_text(q, 1, r->text, -1, SQLITE_STATIC);
    else if (r->column)
        sqlite3_bind_int64(q, 1, r->number);
    if (q)
        rc = store_each_row(q, t, r, &state);
    if (state != SQLITE_DONE && state != SQLITE_ROW)
        rc = store_sql_err(e, s->reader, s->path, t->name);
    sqlite3_finalize(q);
    buf_release(&sql);
    return rc;
}

#define READ(name, table)                                                    \
    static int give_##name(const struct reading *r, const void *row)         \
    {                                                                        \
        return r->fn.name(row, r->arg);                                      \
    }                                                                        \
    int store_each_##name(struct store *s,                                   \
                          int (*fn)(const struct row_##name *, void *),      \
                          void *arg, struct err *e)                          \
    {                                                                        \
        struct reading r = {.fn.name = fn, .arg = arg, .give = give_##name}; \
        return each(s, table, &r, e);                                        \
    }

/* The same for one task alone, which `key` names. */
#define READ_OF(name, table, key)                                            \
    int store_each_##name##_of(struct store *s, int64_t task,                \
                               int (*fn)(const struct row_##name *, void *), \
                               void *arg, struct err *e)                     \
    {                                                                        \
        struct reading r = {.fn.name = fn,                                   \
                            .arg = arg,                                      \
                            .give = give_##name,                             \
                            .column = (key),                                 \
                            .number = task};                                 \
        return each(s, table, &r, e);                                        \
    }

READ(task, &store_tables[TABLE_TASK])
READ(call, &store_tables[TABLE_CALL])
READ(attempt, &store_tables[TABLE_ATTEMPT])
READ(shown, &store_tables[TABLE_SHOWN])
READ(verdict, &store_verdict_read)
READ(review, &store_tables[TABLE_REVIEW])
READ(recheck, &store_tables[TABLE_RECHECK])
READ(look, &store_tables[TABLE_LOOK])
READ_OF(task, &store_tables[TABLE_TASK], "ord")
READ_OF(call, &store_tables[TABLE_CALL], "task")
READ_OF(attempt, &store_tables[TABLE_ATTEMPT], "task")
READ_OF(shown, &store_tables[TABLE_SHOWN], "task")
READ_OF(verdict, &store_verdict_read, "task")

static int give_vector(const struct reading *r, const void *row)
{
    return r->fn.vector(row, r->arg);
}

int store_each_vector(struct store *s, const char *source,
                      int (*fn)(const struct row_vector *, void *), void *arg,
                      struct err *e)
{
    struct reading r = {.fn.vector = fn,
                        .arg = arg,
                        .give = give_vector,
                        .column = "source",
                        .text = source};

    return each(s, &store_tables[TABLE_VECTOR], &r, e);
}

static int give_entry(const struct reading *r, const void *row)
{
    const struct row_entry_read *x = row;

    return r->fn.entry(&x->entry, x->left, r->arg);
}

int store_each_entry(struct store *s,
                     int (*fn)(const struct row_entry *, int64_t left, void *),
                     void *arg, struct err *e)
{
    struct reading r = {.fn.entry = fn, .arg = arg, .give = give_entry};

    return each(s, &store_entry_read, &r, e);
}

int store_each_entry_of(struct store *s, int64_t entry,
                        int (*fn)(const struct row_entry *, int64_t left,
                                  void *),
                        void *arg, struct err *e)
{
    struct reading r = {.fn.entry = fn,
                        .arg = arg,
                        .give = give_entry,
                        .column = "entry",
                        .number = entry};

    return each(s, &store_entry_read, &r, e);
}

static int give_event(const struct reading *r, const void *row)
{
    const struct row_event *x = row;

    return r->fn.event(x->kind, x->task, x->attempt, x->text, x->at, r->arg);
}

int store_each_event(struct store *s,
                     int (*fn)(const char *kind, int64_t task, int64_t attempt,
                               const char *text, int64_t at, void *),
                     void *arg, struct err *e)
{
    return store_each_event_after(s, 0, fn, arg, e);
}

int store_each_event_after(struct store *s, int64_t seq,
                           int (*fn)(const char *kind, int64_t task,
                                     int64_t attempt, const char *text,
                                     int64_t at, void *),
                           void *arg, struct err *e)
{
    struct reading r = {.fn.event = fn,
                        .arg = arg,
                        .give = give_event,
                        .column = "seq",
                        .number = seq,
                        .after = true};

    return each(s, &store_tables[TABLE_EVENT], &r, e);
}

/* ---- following a run ---- */

static int give_change(const struct reading *r, const void *row)
{
    return r->fn.change(row, r->arg);
}

int store_each_change(struct store *s, int64_t seq,
                      int (*fn)(const struct row_change *, void *), void *arg,
                      struct err *e)
{
    struct reading r = {.fn.change = fn,
                        .arg = arg,
                        .give = give_change,
                        .column = "seq",
                        .number = seq,
                        .after = true};

    return each(s, &store_change_read, &r, e);
}

int store_last_change(struct store *s, int64_t *seq, struct err *e)
{
    return store_number(s->reader, s->path,
                        "SELECT coalesce(max(seq), 0) FROM change", seq, e);
}

bool store_has_no_log(const struct store *s)
{
    return s->old;
}

int store_data_version(struct store *s, int64_t *out, struct err *e)
{
    sqlite3_stmt **q = &s->data_version;
    int rc = -1;

    if (!*q)
        sqlite3_prepare_v3(s->reader, "PRAGMA data_version", -1,
                           SQLITE_PREPARE_PERSISTENT, q, NULL);
    if (*q && sqlite3_step(*q) == SQLITE_ROW) {
        *out = sqlite3_column_int64(*q, 0);
        rc = 0;
    } else {
        store_sql_err(e, s->reader, s->path, "look");
    }
    sqlite3_reset(*q);
    return rc;
}

int store_hold(struct store *s, struct err *e)
{
    return store_exec(s->reader, s->path, "BEGIN", e);
}

void store_let_go(struct store *s)
{
    sqlite3_exec(s->reader, "COMMIT", NULL, NULL, NULL);
}

int store_get(struct store *s, const char *name, struct buf *out, struct err *e)
{
    static const char sql[] = "SELECT value FROM fact WHERE name = ?1";
    sqlite3_stmt *q = NULL;
    int rc = -1, got = SQLITE_ERROR;

    if (sqlite3_prepare_v2(s->reader, sql, -1, &q, NULL) == SQLITE_OK) {
        sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
        got = sqlite3_step(q);
    }
    if (got == SQLITE_DONE)
        rc = 0;
    else if (got != SQLITE_ROW)
        store_sql_err(e, s->reader, s->path, "fact");
    else if (buf_add(out, sqlite3_column_text(q, 0),
                     (size_t)sqlite3_column_bytes(q, 0), e) == 0)
        rc = 1;
    sqlite3_finalize(q);
    return rc;
}
