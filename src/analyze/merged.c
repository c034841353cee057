/* merged.c: SQLite over the rows of several runs. */
#include "analyze/merged.h"

#include "base/json.h"
#include "base/mem.h"
#include "run/query.h"
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

static int make_table(void *arg, const char *table, struct err *e);

/* The files of this folder. What no statement names is not read. */
static int each_row(struct merged *m, const char *name, int64_t nr,
                    query_fn *fn, void *arg, struct err *e)
{
    struct query_db d = {m->db, make_table, m};
    json_t *given = json_pack("{s:I}", "nr", (json_int_t)nr);
    char *file = xasprintf("analyze/%s", name);
    int rc = query_each(&d, file, given, fn, arg, e);

    json_decref(given);
    free(file);
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
    buf_printf(&b, ";%s", query_text("analyze/merged"));
    if (sqlite3_open(":memory:", &m->db) != SQLITE_OK ||
        sqlite3_exec(m->db, buf_str(&b), NULL, NULL, NULL) != SQLITE_OK) {
        query_fail(m->db, "merged", e);
        merged_free(m);
        m = NULL;
    } else {
        query_functions(m->db, NULL);
        for (size_t i = 0; i < runs; i++)
            query_functions(store_reader(run[i].store), run[i].store);
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
        return query_fail(sqlite3_db_handle(into), "merge", e);
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
        return query_fail(from, table, e);
    sqlite3_bind_int64(q, 1, (int64_t)nr);
    if ((at = sqlite3_bind_parameter_index(q, ":name")))
        sqlite3_bind_text(q, at, r->name, -1, SQLITE_STATIC);
    if ((at = sqlite3_bind_parameter_index(q, ":pid")))
        sqlite3_bind_int64(q, at, r->pid);
    if (prepare_into(m->db, table, q, nr == 0, &into) != SQLITE_OK) {
        sqlite3_finalize(q);
        return query_fail(m->db, table, e);
    }
    sqlite3_exec(m->db, "BEGIN", NULL, NULL, NULL);
    rc = query_step(q, table, copy_row, into, e);
    sqlite3_finalize(into);
    sqlite3_exec(m->db, "COMMIT", NULL, NULL, NULL);
    return rc;
}

static int merge_runs(struct merged *m, const char *table, const char *query,
                      struct err *e)
{
    char *sql = xasprintf("%s%s", query_text("analyze/tried"), query);
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

static int make_table(void *arg, const char *table, struct err *e)
{
    struct merged *m = arg;
    char *merge = xasprintf("analyze/merge/%s", table);
    char *made = xasprintf("analyze/made/%s", table);
    const char *query = query_text(merge);
    int rc;

    if (query)
        rc = merge_runs(m, table, query, e);
    else if (query_text(made))
        rc = each_row(m, made + strlen("analyze/"), 0, NULL, NULL, e);
    else
        rc = query_fail(m->db, table, e);
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
    return rc == SQLITE_OK ? 0 : query_fail(m->db, "given", e);
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
