/* query.c: SQL over the rows of runs.
 *
 * The functions are given to each connection that is asked, so that a run's own
 * database answers like the one in memory that several runs are merged into. They are
 * deterministic, and read nothing but their arguments and blobs, which never change. */
#include "run/query.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/stats.h"
#include "io/term.h"
#include "search/method.h"
#include "verify/verdict.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Made from the .sql files; name NULL at the end. */
extern const struct sql_file {
    const char *name, *text;
} sql_files[];

const char *query_text(const char *name)
{
    for (const struct sql_file *f = sql_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->text;
    return NULL;
}

/* ---- what SQL can ask of the other folders ---- */

static void sql_wilson_low(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_double(
        c,
        stats_wilson(sqlite3_value_int64(v[0]), sqlite3_value_int64(v[1])).lo);
}

static void sql_wilson_high(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_double(
        c,
        stats_wilson(sqlite3_value_int64(v[0]), sqlite3_value_int64(v[1])).hi);
}

static void sql_mcnemar(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_double(
        c, stats_mcnemar(sqlite3_value_int64(v[0]), sqlite3_value_int64(v[1])));
}

static void sql_pass_at_k(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_double(c, stats_pass_at_k(sqlite3_value_int64(v[0]),
                                             sqlite3_value_int64(v[1]),
                                             sqlite3_value_int64(v[2])));
}

/* speedup(times, over): see verdict_speedup(). */
static void sql_speedup(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *times = (const char *)sqlite3_value_text(v[0]);
    json_t *record = times ? json_loads(times, 0, NULL) : NULL;

    (void)n; /* NaN becomes NULL */
    sqlite3_result_double(
        c, verdict_speedup(record, (const char *)sqlite3_value_text(v[1])));
    json_decref(record);
}

/* fixed(x, places): as printf rounds it; SQLite's own format() differs in ties. */
static void sql_fixed(sqlite3_context *c, int n, sqlite3_value **v)
{
    char text[400];

    (void)n;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL)
        return;
    snprintf(text, sizeof(text), "%.*f", sqlite3_value_int(v[1]),
             sqlite3_value_double(v[0]));
    sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

/* cut(text, columns): for a terminal. */
static void sql_cut(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *text = (const char *)sqlite3_value_text(v[0]);
    struct buf b = BUF_INIT;

    (void)n;
    term_cut(text ? text : "", (size_t)sqlite3_value_int(v[1]), &b);
    sqlite3_result_text(c, buf_str(&b), (int)b.len, SQLITE_TRANSIENT);
    buf_release(&b);
}

/* block(text): each line behind four blanks: whatever it says, it cannot pass for a
 * heading. */
static void sql_block(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct str text = {(const char *)sqlite3_value_text(v[0]),
                       (size_t)sqlite3_value_bytes(v[0])},
               line;
    struct buf b = BUF_INIT;

    (void)n;
    if (!text.p)
        return;
    if (!text.n)
        buf_puts(&b, "    (empty)\n");
    while (text.n && str_part(&text, '\n', &line)) {
        buf_puts(&b, line.n ? "    " : "");
        buf_put(&b, line.p, line.n);
        buf_putc(&b, '\n');
    }
    sqlite3_result_text64(c, b.data, b.len - 1, SQLITE_TRANSIENT, SQLITE_UTF8);
    buf_release(&b);
}

/* stripped(text): without white space around it. */
static void sql_stripped(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct str text = {(const char *)sqlite3_value_text(v[0]),
                       (size_t)sqlite3_value_bytes(v[0])};

    (void)n;
    text = text.p ? str_trim(text) : text;
    sqlite3_result_text64(c, text.p, text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* hint(feedback): the hint that ends it, or NULL. */
static void sql_hint(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *text = (const char *)sqlite3_value_text(v[0]);

    (void)n;
    sqlite3_result_text(c, text ? verdict_hint(text) : NULL, -1,
                        SQLITE_TRANSIENT);
}

/* verdict_place(name): where it is listed; NULL for another program's word. */
static void sql_verdict_place(sqlite3_context *c, int n, sqlite3_value **v)
{
    enum verdict place = verdict_of((const char *)sqlite3_value_text(v[0]));

    (void)n;
    if (place < VERDICTS)
        sqlite3_result_int(c, (int)place);
}

/* two_stages(method): whether its attempts have a plan and then code. */
static void sql_two_stages(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *name = (const char *)sqlite3_value_text(v[0]);
    const struct method *m = name ? method_find(name) : NULL;

    (void)n;
    sqlite3_result_int(c, m && m->two_stage);
}

static json_t *sql_lines(sqlite3_value *v)
{
    const char *text = (const char *)sqlite3_value_text(v);
    struct str rest = str_of(text ? text : ""), line;
    json_t *list = json_array();

    while (str_cut(&rest, '\n', &line))
        json_array_append_new(list, jsn_text(line.p, line.n));
    return list;
}

/* piece(kind, level, depth, parents, needs): what a piece is, as JSON; NULL for a task. */
static void sql_piece(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *kind = (const char *)sqlite3_value_text(v[0]);
    json_t *piece;

    (void)n;
    if (!kind)
        return;
    piece = json_pack("{s:s, s:s?, s:I, s:o, s:o}", "kind", kind, "level",
                      (const char *)sqlite3_value_text(v[1]), "depth",
                      (json_int_t)sqlite3_value_int64(v[2]), "parents",
                      sql_lines(v[3]), "needs", sql_lines(v[4]));
    sqlite3_result_text(c, json_dumps(piece, JSON_COMPACT), -1, free);
    json_decref(piece);
}

/* What an aggregate has seen so far. */
struct numbers {
    double *v;
    size_t len, cap;
};

static void query_add_number(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct numbers *x = sqlite3_aggregate_context(c, sizeof(*x));

    (void)n;
    if (!x || sqlite3_value_type(v[0]) == SQLITE_NULL)
        return;
    x->v = xgrow(x->v, &x->cap, x->len, sizeof(*x->v));
    x->v[x->len++] = sqlite3_value_double(v[0]);
}

static void query_end_geomean(sqlite3_context *c)
{
    struct numbers *x = sqlite3_aggregate_context(c, 0);

    if (x && x->len)
        sqlite3_result_double(c, stats_geomean(x->v, x->len));
    if (x)
        free(x->v);
}

/* randomise(n, hits, marked, marked_hits, rounds, seed), over strata in their order:
 * the p of stats_randomise(). */
struct strata {
    struct stats_stratum *v;
    size_t len, cap, rounds;
    char *seed;
};

static void query_add_stratum(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct strata *x = sqlite3_aggregate_context(c, sizeof(*x));
    const char *seed = (const char *)sqlite3_value_text(v[5]);

    (void)n;
    if (!x)
        return;
    if (!x->seed)
        x->seed = xstrdup(seed ? seed : "");
    x->rounds = (size_t)sqlite3_value_int64(v[4]);
    x->v = xgrow(x->v, &x->cap, x->len, sizeof(*x->v));
    x->v[x->len++] = (struct stats_stratum){
        .n = (size_t)sqlite3_value_int64(v[0]),
        .hits = (size_t)sqlite3_value_int64(v[1]),
        .marked = (size_t)sqlite3_value_int64(v[2]),
        .marked_hits = (size_t)sqlite3_value_int64(v[3])};
}

static void query_end_randomise(sqlite3_context *c)
{
    struct strata *x = sqlite3_aggregate_context(c, 0);

    if (!x)
        return;
    sqlite3_result_double(c,
                          stats_randomise(x->v, x->len, x->rounds, x->seed).p);
    free(x->v);
    free(x->seed);
}

static const struct query_function sql_functions[] = {
    {"wilson_low", 2, sql_wilson_low, NULL},
    {"wilson_high", 2, sql_wilson_high, NULL},
    {"mcnemar", 2, sql_mcnemar, NULL},
    {"pass_at_k", 3, sql_pass_at_k, NULL},
    {"speedup", 2, sql_speedup, NULL},
    {"fixed", 2, sql_fixed, NULL},
    {"cut", 2, sql_cut, NULL},
    {"block", 1, sql_block, NULL},
    {"stripped", 1, sql_stripped, NULL},
    {"hint", 1, sql_hint, NULL},
    {"verdict_place", 1, sql_verdict_place, NULL},
    {"two_stages", 1, sql_two_stages, NULL},
    {"piece", 5, sql_piece, NULL},
    {"geomean", 1, query_add_number, query_end_geomean},
    {"randomise", 6, query_add_stratum, query_end_randomise},
    {0},
};

void query_define(sqlite3 *db, const struct query_function *f, void *arg,
                  void (*drop)(void *))
{
    for (; f->name; f++, drop = NULL)
        sqlite3_create_function_v2(
            db, f->name, f->args, SQLITE_UTF8 | SQLITE_DETERMINISTIC, arg,
            f->end ? NULL : f->fn, f->end ? f->fn : NULL, f->end, drop);
}

void query_functions(sqlite3 *db)
{
    query_define(db, sql_functions, NULL, NULL);
}

/* ---- a run ---- */

struct store *query_open(const char *dir, struct err *e)
{
    char *file = fs_join(dir, "run.db");
    struct store *s = store_open(file, STORE_READ, NULL, e);

    free(file);
    if (s)
        query_texts(s);
    return s;
}

void query_close(struct store *s)
{
    struct err late = ERR_INIT;

    if (s)
        store_close(s, &late);
}

/* ---- statements ---- */

int query_fail(sqlite3 *db, const char *name, struct err *e)
{
    if (sqlite3_errcode(db) == QUERY_BAD_TEXT)
        return err_set(e, ERR_INPUT, "%s", sqlite3_errmsg(db));
    return err_set(e, ERR_SYSTEM, "%s.sql: %s", name, sqlite3_errmsg(db));
}

static int query_run(sqlite3_stmt *q, const char *name, query_fn *fn, void *arg,
                     struct err *e)
{
    int rc = 0, state = SQLITE_DONE;

    while (q && rc == 0 && (state = sqlite3_step(q)) == SQLITE_ROW)
        rc = fn(q, arg, e);
    if (state != SQLITE_DONE && state != SQLITE_ROW)
        rc = query_fail(sqlite3_db_handle(q), name, e);
    return rc;
}

int query_step(sqlite3_stmt *q, const char *name, query_fn *fn, void *arg,
               struct err *e)
{
    int rc = query_run(q, name, fn, arg, e);

    sqlite3_finalize(q);
    return rc;
}

/* Names the table that the last statement lacks; false: it failed otherwise, or
 * making this table did not help. */
static bool query_lacks(sqlite3 *db, char *table, size_t size)
{
    static const char lacks[] = "no such table: ";
    const char *why = sqlite3_errmsg(db);

    if (!str_starts(str_of(why), lacks))
        return false;
    why += sizeof(lacks) - 1;
    if (str_starts(str_of(why), "main.")) /* a view names it */
        why += strlen("main.");
    if (strcmp(table, why) == 0)
        return false;
    snprintf(table, size, "%s", why);
    return true;
}

static int query_prepare(const struct query_db *d, const char *name,
                         const char *sql, sqlite3_stmt **q, const char **rest,
                         struct err *e)
{
    char table[64] = "";

    while (sqlite3_prepare_v2(d->db, sql, -1, q, rest) != SQLITE_OK)
        if (!d->make || !query_lacks(d->db, table, sizeof(table)))
            return query_fail(d->db, name, e);
        else if (d->make(d->arg, table, e) < 0)
            return -1;
    return 0;
}

/* A statement of this text that was kept and is not in use; NULL: there is none. */
static sqlite3_stmt *query_kept(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *q = NULL;

    while ((q = sqlite3_next_stmt(db, q)))
        if (!sqlite3_stmt_busy(q) &&
            strncmp(sql, sqlite3_sql(q), strlen(sqlite3_sql(q))) == 0)
            break;
    return q;
}

static void query_bind(sqlite3_stmt *q, const json_t *given)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(q); i++) {
        const char *name = sqlite3_bind_parameter_name(q, i);
        const json_t *v = json_object_get(given, name ? name + 1 : "");

        if (json_is_string(v))
            sqlite3_bind_text(q, i, json_string_value(v),
                              (int)json_string_length(v), SQLITE_TRANSIENT);
        else if (json_is_real(v))
            sqlite3_bind_double(q, i, json_real_value(v));
        else if (json_is_integer(v))
            sqlite3_bind_int64(q, i, json_integer_value(v));
        else if (json_is_boolean(v))
            sqlite3_bind_int(q, i, json_is_true(v));
    }
}

int query_each(const struct query_db *d, const char *name, const json_t *given,
               query_fn *fn, void *arg, struct err *e)
{
    const char *sql = query_text(name);
    int rc = 0;

    if (!sql)
        BUG("%s.sql does not exist", name);
    while (rc == 0 && *sql) {
        sqlite3_stmt *q = d->keep ? query_kept(d->db, sql) : NULL;

        if (q)
            sql += strlen(sqlite3_sql(q));
        else if (query_prepare(d, name, sql, &q, &sql, e) < 0)
            return -1;
        query_bind(q, given);
        rc = query_run(q, name, fn, arg, e);
        if (!d->keep)
            sqlite3_finalize(q);
        else if (q && sqlite3_reset(q) >= 0)
            sqlite3_clear_bindings(q);
    }
    return rc;
}

/* ---- rows as JSON ---- */

/* Names come from files, so they may be no UTF-8. */
static json_t *query_json(const char *p, size_t n)
{
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *v = json_loadb(p, n, flags, NULL), *mended;

    if (v)
        return v;
    mended = jsn_text(p, n);
    v = json_loadb(json_string_value(mended), json_string_length(mended), flags,
                   NULL);
    json_decref(mended);
    return v ? v : json_null();
}

static json_t *query_value(sqlite3_stmt *q, int i, char format)
{
    const char *text;

    switch (sqlite3_column_type(q, i)) {
    case SQLITE_NULL:
        return format == '?' || format == 'o' ? NULL : json_null();
    case SQLITE_INTEGER:
        return format == 'b' ? json_boolean(sqlite3_column_int(q, i))
                             : json_integer(sqlite3_column_int64(q, i));
    case SQLITE_FLOAT:
        return json_real(sqlite3_column_double(q, i));
    default:
        text = (const char *)sqlite3_column_text(q, i);
        return format == 'j' || format == 'o'
                   ? query_json(text, (size_t)sqlite3_column_bytes(q, i))
                   : jsn_text(text, (size_t)sqlite3_column_bytes(q, i));
    }
}

static int query_add_row(sqlite3_stmt *q, void *arg, struct err *e)
{
    json_t *row = json_object();

    (void)e;
    for (int i = 0; i < sqlite3_column_count(q); i++) {
        const char *name = sqlite3_column_name(q, i), *end = strrchr(name, ':');
        size_t n = end ? (size_t)(end - name) : strlen(name);
        json_t *v = query_value(q, i, end ? end[1] : '\0');

        if (v)
            json_object_setn_new(row, name, n, v);
    }
    json_array_append_new(arg, row);
    return 0;
}

json_t *query_rows(const struct query_db *d, const char *name, json_t *given,
                   struct err *e)
{
    json_t *list = json_array();
    int rc = query_each(d, name, given, query_add_row, list, e);

    json_decref(given);
    if (rc == 0)
        return list;
    json_decref(list);
    return NULL;
}

json_t *query_list(struct store *s, const char *name, json_t *given,
                   struct err *e)
{
    struct query_db d = {.db = store_reader(s), .keep = true};

    return query_rows(&d, name, given, e);
}

json_t *query_row(struct store *s, const char *name, json_t *given,
                  struct err *e)
{
    json_t *list = query_list(s, name, given, e),
           *row = json_incref(json_array_get(list, 0));

    json_decref(list);
    return row;
}

/* Appends what `put` makes of each row. */
static int query_append(struct store *s, const char *name, json_t *given,
                        query_fn *put, struct buf *out, struct err *e)
{
    struct query_db d = {.db = store_reader(s), .keep = true};
    int rc = query_each(&d, name, given, put, out, e);

    json_decref(given);
    return rc;
}

static int query_put_line(sqlite3_stmt *q, void *arg, struct err *e)
{
    (void)e;
    buf_put(arg, sqlite3_column_text(q, 0), (size_t)sqlite3_column_bytes(q, 0));
    buf_putc(arg, '\n');
    return 0;
}

int query_lines(struct store *s, const char *name, json_t *given,
                struct buf *out, struct err *e)
{
    return query_append(s, name, given, query_put_line, out, e);
}

static int query_put_bytes(sqlite3_stmt *q, void *arg, struct err *e)
{
    (void)e;
    if (sqlite3_column_type(q, 0) == SQLITE_NULL)
        return 0;
    buf_put(arg, sqlite3_column_text(q, 0), (size_t)sqlite3_column_bytes(q, 0));
    return 1;
}

int query_bytes(struct store *s, const char *name, json_t *given,
                struct buf *out, struct err *e)
{
    return query_append(s, name, given, query_put_bytes, out, e);
}

/* ---- a task of a run ---- */

static json_t *query_task_given(int64_t task, int64_t attempt)
{
    return json_pack("{s:I, s:o}", "task", (json_int_t)task, "attempt",
                     attempt ? json_integer(attempt) : json_null());
}

int query_task_best(struct store *s, int64_t task, int64_t *out, struct err *e)
{
    json_t *best = query_row(s, "run/task/best", query_task_given(task, 0), e);

    *out = json_integer_value(json_object_get(best, "attempt"));
    json_decref(best);
    return e->kind == ERR_NONE ? 0 : -1;
}

json_t *query_task_attempt(struct store *s, int64_t task, int64_t attempt,
                           struct err *e)
{
    json_t *one =
        query_row(s, "run/task/attempts", query_task_given(task, attempt), e);
    json_t *more = one ? query_row(s, "run/task/attempt",
                                   query_task_given(task, attempt), e)
                       : NULL;

    if (more && json_object_update_new(one, more) == 0 &&
        json_object_set_new(one, "examples",
                            query_list(s, "run/task/examples",
                                       query_task_given(task, attempt), e)) ==
            0 &&
        json_object_set_new(one, "calls",
                            query_list(s, "run/task/calls",
                                       query_task_given(task, attempt), e)) ==
            0)
        return one;
    json_decref(one);
    return NULL;
}

json_t *query_task(struct store *s, int64_t task, struct err *e)
{
    json_t *j = query_row(s, "run/task/task", query_task_given(task, 0), e);

    if (!j ||
        json_object_set_new(j, "attempts",
                            query_list(s, "run/task/attempts",
                                       query_task_given(task, 0), e)) == 0)
        return j;
    json_decref(j);
    return NULL;
}

json_t *query_task_diff(struct store *s, int64_t task, int64_t attempt,
                        struct err *e)
{
    return query_row(s, "run/task/diff", query_task_given(task, attempt), e);
}
