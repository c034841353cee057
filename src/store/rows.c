/* rows.c: structs to rows. */
#include "store/store_int.h"

#include "base/tick.h"

#include <string.h>

/* ---- fields of a struct, by their column ---- */

static const void *field_pointer(const struct col *c, const void *row)
{
    const void *p;

    memcpy(&p, (const char *)row + c->at, sizeof(p));
    return p;
}

static size_t field_bytes(const struct col *c, const void *row)
{
    size_t count;

    memcpy(&count, (const char *)row + c->count_at, sizeof(count));
    return count * c->unit;
}

static int64_t field_int(const struct col *c, const void *row)
{
    int64_t v;

    memcpy(&v, (const char *)row + c->at, sizeof(v));
    return v;
}

/* What a pointer of the row points to, in bytes; 0 for other fields. */
static size_t far_bytes(const struct col *c, const void *row)
{
    if (c->type != COL_TEXT && c->type != COL_BYTES)
        return 0;
    if (!field_pointer(c, row))
        return 0;
    return c->type == COL_TEXT ? strlen(field_pointer(c, row)) + 1
                               : field_bytes(c, row);
}

size_t store_row_bytes(const struct table *t, const void *row)
{
    size_t n = t->size;

    for (size_t i = 0; i < t->cols; i++)
        n += far_bytes(&t->col[i], row);
    return n;
}

void store_row_copy(const struct table *t, const void *row, void *into)
{
    char *tail = (char *)into + t->size;

    memcpy(into, row, t->size);
    for (size_t i = 0; i < t->cols; i++) {
        const struct col *c = &t->col[i];
        size_t n = far_bytes(c, row);

        if (!n)
            continue;
        memcpy(tail, field_pointer(c, row), n);
        memcpy((char *)into + c->at, &tail, sizeof(tail));
        tail += n;
    }
}

/* ---- writing ---- */

static void put_insert(struct buf *sql, const struct table *t)
{
    const char *sep = "";

    buf_printf(sql, "INSERT INTO %s (", t->name);
    store_put_names(sql, t);
    buf_puts(sql, ") VALUES (");
    for (size_t i = 0; i < t->cols; i++)
        buf_printf(sql, "%s?%zu", i ? ", " : "", i + 1);
    buf_puts(sql, ") ON CONFLICT (");
    store_put_keys(sql, t);
    if (!t->frozen) {
        buf_puts(sql, ") DO NOTHING");
        return;
    }
    buf_puts(sql, ") DO UPDATE SET ");
    for (size_t i = 0; i < t->cols; i++) {
        const char *name = t->col[i].name;

        if (t->col[i].flags & COL_KEY)
            continue;
        buf_printf(sql, "%s%s = excluded.%s", sep, name, name);
        sep = ", ";
    }
    buf_printf(sql, " WHERE NOT (%s.%s)", t->name, t->frozen);
}

/* Finds an identical row, apart from times. */
static void put_same(struct buf *sql, const struct table *t)
{
    const char *sep = "";

    buf_printf(sql, "SELECT 1 FROM %s WHERE ", t->name);
    for (size_t i = 0; i < t->cols; i++) {
        if (t->col[i].flags & COL_LOOSE)
            continue;
        buf_printf(sql, "%s%s IS ?%zu", sep, t->col[i].name, i + 1);
        sep = " AND ";
    }
}

static sqlite3_stmt *store_prepare(struct store *s, const struct table *t,
                                   void (*put)(struct buf *,
                                               const struct table *),
                                   sqlite3_stmt **kept, struct err *e)
{
    struct buf sql;

    if (*kept)
        return *kept;
    buf_init(&sql, BUF_UNLIMITED);
    put(&sql, t);
    if (sqlite3_prepare_v3(s->writer, sql.data, (int)sql.len,
                           SQLITE_PREPARE_PERSISTENT, kept, NULL) != SQLITE_OK)
        store_sql_err(e, s->writer, s->path, t->name);
    buf_release(&sql);
    return *kept;
}

static void bind_column(sqlite3_stmt *q, int i, const struct col *c,
                        const void *row)
{
    const char *field = (const char *)row + c->at;
    double real;
    bool flag;

    switch (c->type) {
    case COL_INT:
        sqlite3_bind_int64(q, i, field_int(c, row));
        break;
    case COL_BOOL:
        memcpy(&flag, field, sizeof(flag));
        sqlite3_bind_int(q, i, flag);
        break;
    case COL_REAL: /* SQLite makes NULL of NaN itself */
        memcpy(&real, field, sizeof(real));
        sqlite3_bind_double(q, i, real);
        break;
    case COL_TEXT:
        sqlite3_bind_text(q, i, field_pointer(c, row), -1, SQLITE_STATIC);
        break;
    case COL_BYTES:
        sqlite3_bind_blob64(q, i, field_pointer(c, row), field_bytes(c, row),
                            SQLITE_STATIC);
        break;
    }
}

/* Runs a statement of ours with the row's values; SQLITE_DONE or SQLITE_ROW
 * when all is well. */
static int store_run(sqlite3_stmt *q, const struct table *t, const void *row,
                     unsigned but)
{
    int rc;

    for (size_t i = 0; i < t->cols; i++)
        if (!(t->col[i].flags & but))
            bind_column(q, (int)i + 1, &t->col[i], row);
    rc = sqlite3_step(q);
    sqlite3_reset(q);
    return rc;
}

static int conflict(const struct store *s, const struct table *t,
                    const void *row, struct err *e)
{
    struct buf key;

    buf_init(&key, sizeof(e->text) / 2);
    for (size_t i = 0; i < t->cols; i++) {
        const struct col *c = &t->col[i];

        if (!(c->flags & COL_KEY))
            continue;
        if (c->type == COL_TEXT)
            buf_printf(&key, " %s %.80s", c->name,
                       (const char *)field_pointer(c, row));
        else
            buf_printf(&key, " %s %lld", c->name, (long long)field_int(c, row));
    }
    err_set(e, ERR_SYSTEM,
            "%s: BUG: %s with%s is stored already and says something else",
            s->path, t->name, buf_str(&key));
    buf_release(&key);
    return -1;
}

int store_insert(struct store *s, const struct table *t, const void *row,
                 struct err *e)
{
    size_t k = (size_t)(t - store_tables);
    sqlite3_stmt *q = store_prepare(s, t, put_insert, &s->insert[k], e);
    int rc;

    if (!q)
        return -1;
    if (store_run(q, t, row, 0) != SQLITE_DONE)
        return store_sql_err(e, s->writer, s->path, t->name);
    if (sqlite3_changes(s->writer) > 0)
        return 0;
    q = store_prepare(s, t, put_same, &s->same[k], e);
    if (!q)
        return -1;
    rc = store_run(q, t, row, COL_LOOSE);
    if (rc == SQLITE_ROW)
        return 0;
    return rc == SQLITE_DONE ? conflict(s, t, row, e)
                             : store_sql_err(e, s->writer, s->path, t->name);
}

#define WRITE(name, number)                                        \
    void store_##name(struct store *s, const struct row_##name *r) \
    {                                                              \
        store_put(s, &store_tables[number], r);                    \
    }

WRITE(task, TABLE_TASK)
WRITE(call, TABLE_CALL)
WRITE(attempt, TABLE_ATTEMPT)
WRITE(shown, TABLE_SHOWN)
WRITE(entry, TABLE_ENTRY)
WRITE(review, TABLE_REVIEW)
WRITE(vector, TABLE_VECTOR)
WRITE(recheck, TABLE_RECHECK)
WRITE(look, TABLE_LOOK)

void store_verdict(struct store *s, const struct row_verdict *r)
{
    store_put(s, &store_tables[TABLE_VERDICT], r);
    store_put(s, &store_tables[TABLE_VERDICT_TIME], r);
}

void store_set(struct store *s, const char *name, const char *value)
{
    store_put(s, &store_tables[TABLE_FACT], &(struct row_fact){name, value});
}

void store_entry_leaves(struct store *s, int64_t entry, int64_t version,
                        const char *why)
{
    store_put(s, &store_tables[TABLE_ENTRY_LEFT],
              &(struct row_entry_left){entry, version, why});
}

void store_event(struct store *s, const char *kind, int64_t task,
                 int64_t attempt, const char *text)
{
    struct row_event r = {++s->events, kind, task,
                          attempt,     text, date_now_us()};

    store_put(s, &store_tables[TABLE_EVENT], &r);
}
