/* row.c: the one list of columns a table, for writing and for reading.
 *
 * A column that is written but not read, or the other way round, would lose data
 * in silence; so both directions, the copy into the queue, and the comparison with
 * a row that is stored already follow from the same list. */
#include "store/row.h"

#include "base/mem.h"
#include "store/db_schema.h"

#include <math.h>
#include <string.h>

/* ---- the columns ---- */

#define AT(field) offsetof(struct ROW, field)
#define COL(name, type, flags, at)      \
    {                                   \
        name, type, flags, AT(at), 0, 0 \
    }
#define INT(f)      COL(#f, COL_INT, 0, f)
#define BOOL(f)     COL(#f, COL_BOOL, 0, f)
#define REAL(f)     COL(#f, COL_REAL, 0, f)
#define TEXT(f)     COL(#f, COL_TEXT, 0, f)
#define KEY_INT(f)  COL(#f, COL_INT, COL_KEY, f)
#define KEY_TEXT(f) COL(#f, COL_TEXT, COL_KEY, f)
#define CLOCK(f)    COL(#f, COL_INT, COL_LOOSE, f)

#define ROW row_fact
static const struct col fact_cols[] = {KEY_TEXT(name), TEXT(value)};
#undef ROW

#define ROW row_task
static const struct col task_cols[] = {
    KEY_INT(ord), TEXT(id),      TEXT(hash), TEXT(source), TEXT(path),
    TEXT(ops),    TEXT(skipped), TEXT(kind), TEXT(level),  TEXT(title),
    TEXT(needs),  TEXT(parents), INT(depth),
};
#undef ROW

/* The bytes depend on the compressor's version; the hash identifies the text. */
#define ROW row_blob
static const struct col blob_cols[] = {
    KEY_TEXT(hash),
    INT(size),
    {"data", COL_BYTES, COL_LOOSE, AT(data), AT(len), 1},
};
#undef ROW

#define ROW row_call
static const struct col call_cols[] = {
    KEY_TEXT(purpose),
    KEY_TEXT(asked),
    KEY_INT(try),
    INT(task),
    INT(attempt),
    TEXT(state),
    TEXT(prompt),
    TEXT(prompt_hash),
    TEXT(reply),
    TEXT(thought),
    TEXT(finish),
    TEXT(model),
    TEXT(error),
    INT(input),
    INT(cached),
    INT(output),
    INT(reasoning),
    BOOL(estimated),
    INT(reserved_usd_micro),
    INT(reserved_tokens),
    INT(cost_usd_micro),
    INT(cost_tokens),
    INT(assumed_usd_micro),
    INT(requests),
    CLOCK(wall_us),
    CLOCK(asked_at),
    CLOCK(answered_at),
};
#undef ROW

#define ROW row_attempt
static const struct col attempt_cols[] = {
    KEY_INT(task), KEY_INT(attempt),     TEXT(method),    INT(iteration),
    INT(batch),    INT(archive_version), TEXT(retrieval), INT(parent),
    INT(island),   TEXT(plan),           TEXT(code),      TEXT(code_hash),
    TEXT(stage),   TEXT(verdict),        TEXT(rule),      REAL(fitness),
    INT(same_as),  BOOL(solved),
};
#undef ROW

#define ROW row_shown
static const struct col shown_cols[] = {
    KEY_INT(task), KEY_INT(attempt), KEY_INT(rank),
    INT(entry),    REAL(cosine),     TEXT(reason),
};
#undef ROW

/* What repeats and what does not are tables of their own. */
#define ROW row_verdict
#define VERDICT_COLS                                                           \
    KEY_INT(task), KEY_INT(attempt), TEXT(verdict), TEXT(stage),               \
        TEXT(evidence), BOOL(compiled), BOOL(kernelbench_pass), REAL(max_abs), \
        REAL(max_rel), REAL(error_ratio), TEXT(feedback), TEXT(record)
#define VERDICT_TIME_COLS \
    COL("times", COL_TEXT, COL_LOOSE, times), CLOCK(wall_us), CLOCK(judged_at)
static const struct col verdict_cols[] = {VERDICT_COLS};
static const struct col verdict_time_cols[] = {KEY_INT(task), KEY_INT(attempt),
                                               VERDICT_TIME_COLS};
static const struct col verdict_read_cols[] = {VERDICT_COLS, VERDICT_TIME_COLS};
#undef ROW

#define ROW row_entry
#define ENTRY_COLS                                                       \
    KEY_INT(entry), INT(version), TEXT(origin), INT(task), INT(attempt), \
        TEXT(name), TEXT(task_hash), TEXT(problem), TEXT(plan),          \
        TEXT(solution), TEXT(evidence), TEXT(ported)
static const struct col entry_cols[] = {ENTRY_COLS};
static const struct col entry_read_cols[] = {
    ENTRY_COLS, COL("coalesce(left_version, 0)", COL_INT, 0, withdrawn)};
#undef ROW

#define ROW row_entry_left
static const struct col entry_left_cols[] = {
    KEY_INT(entry),
    COL("left_version", COL_INT, 0, version),
    TEXT(why),
};
#undef ROW

#define ROW row_review
static const struct col review_cols[] = {KEY_TEXT(hash), REAL(score),
                                         TEXT(reply)};
#undef ROW

#define ROW row_vector
static const struct col vector_cols[] = {
    KEY_TEXT(source),
    KEY_TEXT(hash),
    {"v", COL_BYTES, 0, AT(v), AT(dim), sizeof(float)}};
#undef ROW

#define ROW row_change
static const struct col change_cols[] = {KEY_INT(seq), TEXT(name), INT(number)};
#undef ROW

#define ROW row_event
static const struct col event_cols[] = {
    KEY_INT(seq), TEXT(kind), INT(task),
    INT(attempt), TEXT(text), COL("told_at", COL_INT, COL_LOOSE, at),
};
#undef ROW

#define ROW row_recheck
static const struct col recheck_cols[] = {
    KEY_INT(pass), KEY_TEXT(problem), KEY_TEXT(solution),
    TEXT(under),   TEXT(verdict),     TEXT(evidence),
    TEXT(why),     CLOCK(judged_at),  INT(rules),
};
#undef ROW

#define ROW row_look
static const struct col look_cols[] = {KEY_INT(look), INT(round),
                                       INT(shared_version), INT(version)};
#undef ROW

#define TABLE(name, cols, row, frozen)                                    \
    {                                                                     \
        name, cols, sizeof(cols) / sizeof((cols)[0]), sizeof(struct row), \
            frozen                                                        \
    }

const struct table store_tables[TABLES] = {
    [TABLE_FACT] = TABLE("fact", fact_cols, row_fact, NULL),
    [TABLE_TASK] = TABLE("task", task_cols, row_task, NULL),
    [TABLE_BLOB] = TABLE("blob", blob_cols, row_blob, NULL),
    [TABLE_CALL] = TABLE("call", call_cols, row_call, "state = 'answered'"),
    [TABLE_ATTEMPT] = TABLE("attempt", attempt_cols, row_attempt, NULL),
    [TABLE_SHOWN] = TABLE("shown", shown_cols, row_shown, NULL),
    [TABLE_VERDICT] = TABLE("verdict", verdict_cols, row_verdict, NULL),
    [TABLE_VERDICT_TIME] =
        TABLE("verdict_time", verdict_time_cols, row_verdict, NULL),
    [TABLE_ENTRY] = TABLE("entry", entry_cols, row_entry, NULL),
    [TABLE_ENTRY_LEFT] =
        TABLE("entry_left", entry_left_cols, row_entry_left, NULL),
    [TABLE_REVIEW] = TABLE("review", review_cols, row_review, NULL),
    [TABLE_VECTOR] = TABLE("vector", vector_cols, row_vector, NULL),
    [TABLE_RECHECK] = TABLE("recheck", recheck_cols, row_recheck, NULL),
    [TABLE_EVENT] = TABLE("event", event_cols, row_event, NULL),
    [TABLE_LOOK] = TABLE("look", look_cols, row_look, NULL),
};

/* For reading only: joins, and what triggers write. */
static const struct table store_change_read =
    TABLE("change", change_cols, row_change, NULL);
static const struct table store_verdict_read =
    TABLE("verdict JOIN verdict_time USING (task, attempt)", verdict_read_cols,
          row_verdict, NULL);
static const struct table store_entry_read =
    TABLE("entry LEFT JOIN entry_left USING (entry)", entry_read_cols,
          row_entry, NULL);

static void store_put_names(struct buf *sql, const struct table *t)
{
    for (size_t i = 0; i < t->cols; i++)
        buf_printf(sql, "%s%s", i ? ", " : "", t->col[i].name);
}

static void store_put_keys(struct buf *sql, const struct table *t)
{
    const char *sep = "";

    for (size_t i = 0; i < t->cols; i++) {
        if (!(t->col[i].flags & COL_KEY))
            continue;
        buf_printf(sql, "%s%s", sep, t->col[i].name);
        sep = ", ";
    }
}

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

size_t row_bytes(const struct table *t, const void *row)
{
    size_t n = t->size;

    for (size_t i = 0; i < t->cols; i++)
        n += far_bytes(&t->col[i], row);
    return n;
}

void row_copy(const struct table *t, const void *row, void *into)
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

static sqlite3_stmt *row_prepare(struct row_writer *w, const struct table *t,
                                 void (*put)(struct buf *,
                                             const struct table *),
                                 sqlite3_stmt **kept, struct err *e)
{
    struct buf sql = BUF_INIT;

    if (*kept)
        return *kept;
    put(&sql, t);
    if (sqlite3_prepare_v3(w->db, sql.data, (int)sql.len,
                           SQLITE_PREPARE_PERSISTENT, kept, NULL) != SQLITE_OK)
        store_sql_err(e, w->db, w->path, t->name);
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
static int row_run(sqlite3_stmt *q, const struct table *t, const void *row,
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

static int conflict(const struct row_writer *w, const struct table *t,
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
            "%s: BUG: %s with%s is already stored with other contents", w->path,
            t->name, buf_str(&key));
    buf_release(&key);
    return -1;
}

int row_insert(struct row_writer *w, const struct table *t, const void *row,
               struct err *e)
{
    size_t k = (size_t)(t - store_tables);
    sqlite3_stmt *q = row_prepare(w, t, put_insert, &w->insert[k], e);
    int rc;

    if (!q)
        return -1;
    if (row_run(q, t, row, 0) != SQLITE_DONE)
        return store_sql_err(e, w->db, w->path, t->name);
    if (sqlite3_changes(w->db) > 0)
        return 0;
    q = row_prepare(w, t, put_same, &w->same[k], e);
    if (!q)
        return -1;
    rc = row_run(q, t, row, COL_LOOSE);
    if (rc == SQLITE_ROW)
        return 0;
    return rc == SQLITE_DONE ? conflict(w, t, row, e)
                             : store_sql_err(e, w->db, w->path, t->name);
}

void row_writer_release(struct row_writer *w)
{
    for (size_t i = 0; i < TABLES; i++) {
        sqlite3_finalize(w->insert[i]);
        sqlite3_finalize(w->same[i]);
    }
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

/* ---- reading ---- */

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

/* Which rows a number selects. */
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
    [STORE_REVIEWS] = {&store_tables[TABLE_REVIEW], NULL},
    [STORE_VECTORS] = {&store_tables[TABLE_VECTOR], NULL},
};

static sqlite3_stmt *store_select(struct store *s, enum store_what what,
                                  int64_t of)
{
    const struct table *t = listed[what].table;
    sqlite3_stmt *q = NULL;
    struct buf sql = BUF_INIT;

    buf_puts(&sql, "SELECT ");
    store_put_names(&sql, t);
    buf_printf(&sql, " FROM %s", t->name);
    if (of != STORE_ALL)
        buf_printf(&sql, " WHERE %s ?1", listed[what].where);
    buf_puts(&sql, " ORDER BY ");
    store_put_keys(&sql, t);
    if (sqlite3_prepare_v2(store_reader(s), sql.data, (int)sql.len, &q, NULL) ==
            SQLITE_OK &&
        of != STORE_ALL)
        sqlite3_bind_int64(q, 1, of);
    buf_release(&sql);
    return q;
}

/* Those of one task, entry, … or all. */
static int store_each_of(struct store *s, enum store_what what, int64_t of,
                         store_row_fn *fn, void *arg, struct err *e)
{
    const struct table *t = listed[what].table;
    union { /* large and aligned enough for every row */
        struct row_call call;
        struct row_entry entry;
        struct row_attempt attempt;
        struct row_verdict verdict;
    } row;
    sqlite3_stmt *q = store_select(s, what, of);
    struct buf aligned = BUF_INIT;
    int rc = 0, state = SQLITE_ERROR;

    if (t->size > sizeof(row))
        BUG("%s: a row of %zu bytes", t->name, t->size);
    memset(&row, 0, sizeof(row));
    while (q && rc == 0 && (state = sqlite3_step(q)) == SQLITE_ROW) {
        for (size_t i = 0; i < t->cols; i++)
            store_load(q, (int)i, &t->col[i], &row, &aligned);
        rc = fn(&row, arg);
    }
    if (state != SQLITE_DONE && state != SQLITE_ROW)
        rc = store_sql_err(e, store_reader(s), store_path(s), t->name);
    sqlite3_finalize(q);
    buf_release(&aligned);
    return rc;
}

int store_each(struct store *s, enum store_what what, store_row_fn *fn,
               void *arg, struct err *e)
{
    return store_each_of(s, what, STORE_ALL, fn, arg, e);
}

/* ---- lists ---- */

struct listing {
    const struct table *table;
    struct store_list *list;
    struct arena *memory;
};

static int list_row(const void *row, void *arg)
{
    const struct listing *g = arg;
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

    l->size = l->size ? l->size : g.table->size;
    return store_each_of(s, what, of, list_row, &g, e);
}

int store_get(struct store *s, const char *name, struct buf *out, struct err *e)
{
    static const char sql[] = "SELECT value FROM fact WHERE name = ?1";
    sqlite3_stmt *q = NULL;
    int rc = -1, got = SQLITE_ERROR;

    if (sqlite3_prepare_v2(store_reader(s), sql, -1, &q, NULL) == SQLITE_OK) {
        sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
        got = sqlite3_step(q);
    }
    if (got == SQLITE_DONE)
        rc = 0;
    else if (got != SQLITE_ROW)
        store_sql_err(e, store_reader(s), store_path(s), "fact");
    else if (buf_add(out, sqlite3_column_text(q, 0),
                     (size_t)sqlite3_column_bytes(q, 0), e) == 0)
        rc = 1;
    sqlite3_finalize(q);
    return rc;
}
