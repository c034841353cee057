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
        int (*entry)(const struct row_entry *, void *);
        int (*review)(const struct row_review *, void *);
        int (*recheck)(const struct row_recheck *, void *);
        int (*look)(const struct row_look *, void *);
        int (*vector)(const struct row_vector *, void *);
    } fn;
    void *arg;
    int (*give)(const struct reading *r, const void *row);
    /* Only rows of which this holds, such as "task ="; NULL: all. */
    const char *where, *text; /* text NULL: the number counts */
    int64_t number;
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
        struct row_entry entry;
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
    if (r->where)
        buf_printf(&sql, " WHERE %s ?1", r->where);
    buf_puts(&sql, " ORDER BY ");
    store_put_keys(&sql, t);
    if (sqlite3_prepare_v2(s->reader, sql.data, (int)sql.len, &q, NULL) !=
        SQLITE_OK)
        state = SQLITE_ERROR;
    else if (r->text)
        sqlite3_bind_text(q, 1, r->text, -1, SQLITE_STATIC);
    else if (r->where)
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

READ(task, &store_tables[TABLE_TASK])
READ(call, &store_tables[TABLE_CALL])
READ(attempt, &store_tables[TABLE_ATTEMPT])
READ(shown, &store_tables[TABLE_SHOWN])
READ(verdict, &store_verdict_read)
READ(entry, &store_entry_read)
READ(review, &store_tables[TABLE_REVIEW])
READ(recheck, &store_tables[TABLE_RECHECK])
READ(look, &store_tables[TABLE_LOOK])

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
                        .where = "source =",
                        .text = source};

    return each(s, &store_tables[TABLE_VECTOR], &r, e);
}

/* ---- lists ---- */

static const struct {
    const struct table *table;
    const char *where;
} listed[STORE_WHATS] = {
    [STORE_TASKS] = {&store_tables[TABLE_TASK], "ord ="},
    [STORE_CALLS] = {&store_tables[TABLE_CALL], "task ="},
    [STORE_ATTEMPTS] = {&store_tables[TABLE_ATTEMPT], "task ="},
    [STORE_SHOWN] = {&store_tables[TABLE_SHOWN], "task ="},
    [STORE_VERDICTS] = {&store_verdict_read, "task ="},
    [STORE_ENTRIES] = {&store_entry_read, "entry ="},
    [STORE_RECHECKS] = {&store_tables[TABLE_RECHECK], "pass ="},
    [STORE_LOOKS] = {&store_tables[TABLE_LOOK], "look ="},
    [STORE_EVENTS] = {&store_tables[TABLE_EVENT], "seq >"},
    [STORE_CHANGES] = {&store_change_read, "seq >"},
};

struct listing {
    const struct table *table;
    struct store_list *list;
    struct arena *memory;
};

static int list_row(const struct reading *r, const void *row)
{
    const struct listing *g = r->arg;
    struct store_list *l = g->list;
    char *to, *before;

    l->row = xgrow(l->row, &l->cap, l->len, l->size);
    to = (char *)l->row + l->len++ * l->size;
    before = l->len > 1 ? to - l->size : NULL;
    memset(to, 0, l->size);
    memcpy(to, row, g->table->size);
    for (size_t i = 0; i < g->table->cols; i++) {
        size_t at = g->table->col[i].at;
        const char *text, *last = NULL;

        if (g->table->col[i].type != COL_TEXT)
            continue;
        memcpy(&text, to + at, sizeof(text));
        if (before)
            memcpy(&last, before + at, sizeof(last));
        if (text && last && strcmp(text, last) == 0)
            text = last;
        else if (text)
            text = arena_strdup(g->memory, text);
        memcpy(to + at, &text, sizeof(text));
    }
    return 0;
}

int store_list(struct store *s, enum store_what what, int64_t of,
               struct store_list *l, struct arena *a, struct err *e)
{
    struct listing g = {listed[what].table, l, a};
    struct reading r = {.arg = &g,
                        .give = list_row,
                        .where = of == STORE_ALL ? NULL : listed[what].where,
                        .number = of};

    l->size = l->size ? l->size : g.table->size;
    return each(s, g.table, &r, e);
}

/* ---- following a run ---- */

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
