/* merged.c: SQLite over the rows of several runs. */
#include "analyze/merged.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/stats.h"
#include "io/term.h"
#include "verify/verdict.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merged {
    sqlite3 *db;
    const struct merged_run *run;
    size_t runs;
};

/* Made from the .sql files of this folder; name NULL at the end. */
extern const struct sql_file {
    const char *name, *text;
} sql_files[];

const char *merged_sql(const char *name)
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
    snprintf(text, sizeof(text), "%.*f", sqlite3_value_int(v[1]),
             sqlite3_value_double(v[0]));
    sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

/* cut(text, columns): for a terminal. */
static void sql_cut(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *text = (const char *)sqlite3_value_text(v[0]);
    struct buf b;

    (void)n;
    buf_init(&b, BUF_UNLIMITED);
    term_cut(text ? text : "", (size_t)sqlite3_value_int(v[1]), &b);
    sqlite3_result_text(c, buf_str(&b), (int)b.len, SQLITE_TRANSIENT);
    buf_release(&b);
}

/* What an aggregate has seen so far. */
struct numbers {
    double *v;
    size_t len, cap;
};

static void add_number(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct numbers *x = sqlite3_aggregate_context(c, sizeof(*x));

    (void)n;
    if (!x || sqlite3_value_type(v[0]) == SQLITE_NULL)
        return;
    x->v = xgrow(x->v, &x->cap, x->len, sizeof(*x->v));
    x->v[x->len++] = sqlite3_value_double(v[0]);
}

static void end_geomean(sqlite3_context *c)
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

static void add_stratum(sqlite3_context *c, int n, sqlite3_value **v)
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

static void end_randomise(sqlite3_context *c)
{
    struct strata *x = sqlite3_aggregate_context(c, 0);

    if (!x)
        return;
    sqlite3_result_double(c,
                          stats_randomise(x->v, x->len, x->rounds, x->seed).p);
    free(x->v);
    free(x->seed);
}

static const struct {
    const char *name;
    int args;
    void (*fn)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {
    {"wilson_low", 2, sql_wilson_low},
    {"wilson_high", 2, sql_wilson_high},
    {"mcnemar", 2, sql_mcnemar},
    {"pass_at_k", 3, sql_pass_at_k},
    {"speedup", 2, sql_speedup},
    {"fixed", 2, sql_fixed},
    {"cut", 2, sql_cut},
};

static void add_functions(sqlite3 *db)
{
    int how = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        sqlite3_create_function(db, functions[i].name, functions[i].args, how,
                                NULL, functions[i].fn, NULL, NULL);
    sqlite3_create_function(db, "geomean", 1, how, NULL, NULL, add_number,
                            end_geomean);
    sqlite3_create_function(db, "randomise", 6, how, NULL, NULL, add_stratum,
                            end_randomise);
}

/* ---- statements ---- */

static int fail(sqlite3 *db, const char *name, struct err *e)
{
    return err_set(e, ERR_SYSTEM, "%s.sql: %s", name, sqlite3_errmsg(db));
}

/* Calls back for each row of a statement, until it returns other than 0. Frees it. */
static int step_rows(sqlite3_stmt *q, const char *name,
                     int (*fn)(sqlite3_stmt *q, void *arg, struct err *e),
                     void *arg, struct err *e)
{
    int rc = 0, state = SQLITE_DONE;

    while (q && rc == 0 && (state = sqlite3_step(q)) == SQLITE_ROW)
        rc = fn(q, arg, e);
    if (state != SQLITE_DONE && state != SQLITE_ROW)
        rc = fail(sqlite3_db_handle(q), name, e);
    sqlite3_finalize(q);
    return rc;
}

/* What no statement names is not read. */
static int make_table(struct merged *m, const char *table, struct err *e);

/* Names the table that the last statement lacks; false: it failed otherwise, or
 * making this table did not help. */
static bool lacks_table(struct merged *m, char *table, size_t size)
{
    static const char lacks[] = "no such table: ";
    const char *why = sqlite3_errmsg(m->db);

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

/* The same for each statement of a file; :nr is `nr` there. */
static int each_row(struct merged *m, const char *name, int64_t nr,
                    int (*fn)(sqlite3_stmt *q, void *arg, struct err *e),
                    void *arg, struct err *e)
{
    const char *sql = merged_sql(name);
    int rc = 0, at;

    while (rc == 0 && *sql) {
        sqlite3_stmt *q = NULL;
        const char *rest;
        char table[64] = "";

        while (sqlite3_prepare_v2(m->db, sql, -1, &q, &rest) != SQLITE_OK)
            if (!lacks_table(m, table, sizeof(table)))
                return fail(m->db, name, e);
            else if (make_table(m, table, e) < 0)
                return -1;
        if (q && (at = sqlite3_bind_parameter_index(q, ":nr")))
            sqlite3_bind_int64(q, at, nr);
        rc = step_rows(q, name, fn, arg, e);
        sql = rest;
    }
    return rc;
}

/* ---- merging ---- */

struct merged *merged_new(const struct merged_run *run, size_t runs,
                          struct err *e)
{
    struct merged *m = xcalloc(1, sizeof(*m));
    struct buf b;

    *m = (struct merged){.run = run, .runs = runs};
    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "CREATE TABLE given (item); CREATE TABLE asked (rounds);"
                 "INSERT INTO asked VALUES (10000);"
                 "CREATE TABLE verdict (place, verdict)");
    for (enum verdict i = 0; i < VERDICTS; i++)
        buf_printf(&b, ";INSERT INTO verdict VALUES (%d, '%s')", (int)i,
                   verdicts[i].name);
    buf_printf(&b, ";%s", merged_sql("merged"));
    if (sqlite3_open(":memory:", &m->db) != SQLITE_OK ||
        sqlite3_exec(m->db, buf_str(&b), NULL, NULL, NULL) != SQLITE_OK) {
        fail(m->db, "merged", e);
        merged_free(m);
        m = NULL;
    } else {
        add_functions(m->db);
        for (size_t i = 0; i < runs; i++)
            add_functions(store_reader(run[i].store));
    }
    buf_release(&b);
    return m;
}

void merged_free(struct merged *m)
{
    if (m)
        sqlite3_close(m->db);
    free(m);
}

/* Into a table with the columns of a selection, which the first run makes. */
static int prepare_into(sqlite3 *db, const char *name, sqlite3_stmt *from,
                        bool make, sqlite3_stmt **into)
{
    int columns = sqlite3_column_count(from), rc = SQLITE_OK;
    struct buf table, insert;

    buf_init(&table, BUF_UNLIMITED);
    buf_init(&insert, BUF_UNLIMITED);
    buf_printf(&table, "CREATE TABLE %s (", name);
    buf_printf(&insert, "INSERT INTO %s VALUES (", name);
    for (int i = 0; i < columns; i++) {
        buf_printf(&table, "%s\"%s\"", i ? ", " : "",
                   sqlite3_column_name(from, i));
        buf_puts(&insert, i ? ", ?" : "?");
    }
    buf_putc(&table, ')');
    buf_putc(&insert, ')');
    if (make)
        rc = sqlite3_exec(db, buf_str(&table), NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, buf_str(&insert), -1, into, NULL);
    buf_release(&table);
    buf_release(&insert);
    return rc;
}

static int copy_row(sqlite3_stmt *q, void *arg, struct err *e)
{
    sqlite3_stmt *into = arg;

    for (int i = 0; i < sqlite3_column_count(q); i++)
        sqlite3_bind_value(into, i + 1, sqlite3_column_value(q, i));
    if (sqlite3_step(into) != SQLITE_DONE)
        return fail(sqlite3_db_handle(into), "merge", e);
    sqlite3_reset(into);
    return 0;
}

static int merge_run(struct merged *m, size_t nr, const char *table,
                     const char *sql, struct err *e)
{
    const struct merged_run *r = &m->run[nr];
    sqlite3 *from = store_reader(r->store);
    sqlite3_stmt *q, *into = NULL;
    int rc, at;

    if (sqlite3_prepare_v2(from, sql, -1, &q, NULL) != SQLITE_OK)
        return fail(from, table, e);
    sqlite3_bind_int64(q, 1, (int64_t)nr);
    if ((at = sqlite3_bind_parameter_index(q, ":name")))
        sqlite3_bind_text(q, at, r->name, -1, SQLITE_STATIC);
    if ((at = sqlite3_bind_parameter_index(q, ":pid")))
        sqlite3_bind_int64(q, at, r->pid);
    if (prepare_into(m->db, table, q, nr == 0, &into) != SQLITE_OK) {
        sqlite3_finalize(q);
        return fail(m->db, table, e);
    }
    sqlite3_exec(m->db, "BEGIN", NULL, NULL, NULL);
    rc = step_rows(q, table, copy_row, into, e);
    sqlite3_finalize(into);
    sqlite3_exec(m->db, "COMMIT", NULL, NULL, NULL);
    return rc;
}

static int merge_runs(struct merged *m, const char *table, const char *query,
                      struct err *e)
{
    char *sql = xasprintf("%s%s", merged_sql("tried"), query);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < m->runs; i++) {
        rc = store_hold(m->run[i].store, e);
        if (rc == 0) {
            rc = merge_run(m, i, table, sql, e);
            store_let_go(m->run[i].store);
        }
        if (rc < 0)
            err_wrap(e, "%s", m->run[i].dir);
    }
    free(sql);
    return rc;
}

static int make_table(struct merged *m, const char *table, struct err *e)
{
    char *merge = xasprintf("merge/%s", table);
    char *made = xasprintf("made/%s", table);
    const char *query = merged_sql(merge);
    int rc;

    if (query)
        rc = merge_runs(m, table, query, e);
    else if (merged_sql(made))
        rc = each_row(m, made, 0, NULL, NULL, e);
    else
        rc = fail(m->db, table, e);
    free(merge);
    free(made);
    return rc;
}

int merged_give(struct merged *m, const struct opt_list *training,
                int64_t rounds, struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b, BUF_UNLIMITED);
    buf_printf(&b, "UPDATE asked SET rounds = %lld", (long long)rounds);
    for (size_t i = 0; i < training->len; i++) {
        char *sql = sqlite3_mprintf(";INSERT INTO given VALUES (%Q)",
                                    training->item[i]);

        buf_puts(&b, sql);
        sqlite3_free(sql);
    }
    rc = sqlite3_exec(m->db, buf_str(&b), NULL, NULL, NULL);
    buf_release(&b);
    return rc == SQLITE_OK ? 0 : fail(m->db, "given", e);
}

/* ---- asking ---- */

struct asking {
    void (*fn)(const char *text, int64_t number, void *arg);
    void *arg;
};

static int tell(sqlite3_stmt *q, void *arg, struct err *e)
{
    const char *text = (const char *)sqlite3_column_text(q, 0);
    struct asking *a = arg;

    (void)e;
    a->fn(text ? text : "", sqlite3_column_int64(q, 1), a->arg);
    return 0;
}

int merged_each(struct merged *m, const char *name, int64_t nr,
                void (*fn)(const char *text, int64_t number, void *arg),
                void *arg, struct err *e)
{
    struct asking a = {fn, arg};

    return each_row(m, name, nr, tell, &a, e);
}

/* ---- tables ---- */

/* How a column's values are printed: '%' as shares, a digit with so many places;
 * 0: as they are. `heading` is what is left of its name. */
static char format_of(const char *column, struct str *heading)
{
    size_t n = strlen(column);
    char last = n ? column[n - 1] : '\0';

    *heading = (struct str){column, n};
    if (n < 2 || column[n - 2] != ':' ||
        (last != '%' && !isdigit((unsigned char)last)))
        return '\0';
    heading->n = n - 2;
    return last;
}

static void put_number(struct table *t, double x, char format)
{
    if (format == '%')
        table_share(t, x);
    else
        table_real(t, x, format ? format - '0' : 0);
}

static void put_member(struct table *t, const json_t *v, char format)
{
    if (json_is_integer(v) && !format)
        table_int(t, json_integer_value(v));
    else if (json_is_number(v))
        put_number(t, json_number_value(v), format);
    else
        table_text(t, json_string_value(v));
}

static void put_value(struct table *t, sqlite3_stmt *q, int i)
{
    const char *name = sqlite3_column_name(q, i), *text;
    int type = sqlite3_column_type(q, i);
    struct str heading;
    char format = format_of(name, &heading);
    json_t *members;
    const char *key;
    json_t *v;

    text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(q, i) : NULL;
    if (name[0] == '*') {
        members = json_loads(text ? text : "{}", 0, NULL);
        json_object_foreach(members, key, v) put_member(t, v, name[1]);
        json_decref(members);
    } else if (type == SQLITE_INTEGER && !format) {
        table_int(t, sqlite3_column_int64(q, i));
    } else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        put_number(t, sqlite3_column_double(q, i), format);
    } else {
        table_text(t, text);
    }
}

/* The columns of the table; those of an object are known by its first row. */
static void put_columns(struct table *t, sqlite3_stmt *q)
{
    for (int i = 0; i < sqlite3_column_count(q); i++) {
        const char *name = sqlite3_column_name(q, i), *key;
        const char *object = (const char *)sqlite3_column_text(q, i);
        struct str heading;
        json_t *members, *v;

        if (name[0] != '*') {
            format_of(name, &heading);
            table_column(t, arena_strndup(&t->memory, heading.p, heading.n));
            continue;
        }
        members = object ? json_loads(object, 0, NULL) : NULL;
        json_object_foreach(members, key, v) table_column(t, key);
        json_decref(members);
    }
}

static bool is_remark(const char *column)
{
    static const char *const remarks[] = {"note", "missing", "empty", "usage"};

    for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++)
        if (strcmp(column, remarks[i]) == 0)
            return true;
    return false;
}

/* 1: the table is not there. */
static int put_remark(struct table *t, const char *what, const char *text,
                      struct err *e)
{
    if (strcmp(what, "usage") == 0)
        return err_set(e, ERR_USAGE, "%s", text);
    if (strcmp(what, "note") == 0)
        table_note(t, "%s", text);
    else if (strcmp(what, "missing") == 0 || table_rows(t) == 0)
        return 1 + table_lacks(t, "%s", text);
    return 0;
}

static int put_row(sqlite3_stmt *q, void *arg, struct err *e)
{
    const char *first = sqlite3_column_name(q, 0);
    struct table *t = arg;

    if (is_remark(first))
        return put_remark(t, first, (const char *)sqlite3_column_text(q, 0), e);
    if (!t->columns)
        put_columns(t, q);
    for (int i = 0; i < sqlite3_column_count(q); i++)
        put_value(t, q, i);
    return 0;
}

int merged_table(struct merged *m, const char *name, struct table *t,
                 struct err *e)
{
    char *file = xasprintf("tables/%s", name);
    int rc = each_row(m, file, 0, put_row, t, e);

    free(file);
    return rc < 0 ? -1 : 0;
}
