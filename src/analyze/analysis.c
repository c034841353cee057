/* analysis.c: SQLite over the rows of several runs. */
#include "analyze/analysis.h"

#include "base/json.h"
#include "base/mem.h"
#include "run/query.h"
#include "run/settings.h"
#include "store/lock.h"
#include "verify/verdict.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- merging ---- */

static int analysis_make(void *arg, const char *table, struct err *e);

/* The files of this folder. What no statement names is not read. */
static int analysis_rows(struct analysis *a, const char *name, int64_t nr,
                         query_fn *fn, void *arg, struct err *e)
{
    struct query_db d = {.db = a->db, .make = analysis_make, .arg = a};
    json_t *given = json_pack("{s:I}", "nr", (json_int_t)nr);
    char *file = xasprintf("analyze/%s", name);
    int rc = query_each(&d, file, given, fn, arg, e);

    json_decref(given);
    free(file);
    return rc;
}

/* Into a table with the columns of a selection, which the first run makes. */
static int analysis_prepare_into(sqlite3 *db, const char *name,
                                 sqlite3_stmt *from, bool make,
                                 sqlite3_stmt **into)
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

static int analysis_copy_row(sqlite3_stmt *q, void *arg, struct err *e)
{
    sqlite3_stmt *into = arg;

    for (int i = 0; i < sqlite3_column_count(q); i++)
        sqlite3_bind_value(into, i + 1, sqlite3_column_value(q, i));
    if (sqlite3_step(into) != SQLITE_DONE)
        return query_fail(sqlite3_db_handle(into), "merge", e);
    sqlite3_reset(into);
    return 0;
}

static int analysis_merge(struct analysis *a, size_t nr, const char *table,
                          const char *sql, struct err *e)
{
    const struct programs_run *r = &a->run[nr];
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
    if (analysis_prepare_into(a->db, table, q, nr == 0, &into) != SQLITE_OK) {
        sqlite3_finalize(q);
        return query_fail(a->db, table, e);
    }
    sqlite3_exec(a->db, "BEGIN", NULL, NULL, NULL);
    rc = query_step(q, table, analysis_copy_row, into, e);
    sqlite3_finalize(into);
    sqlite3_exec(a->db, "COMMIT", NULL, NULL, NULL);
    return rc;
}

static int analysis_merge_all(struct analysis *a, const char *table,
                              const char *query, struct err *e)
{
    char *sql = xasprintf("%s%s", query_text("analyze/tried"), query);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < a->runs; i++) {
        rc = store_hold(a->run[i].store, e);
        if (rc == 0) {
            rc = analysis_merge(a, i, table, sql, e);
            store_let_go(a->run[i].store);
        }
        if (rc < 0)
            err_wrap(e, "%s", a->run[i].dir);
    }
    free(sql);
    return rc;
}

static int analysis_make(void *arg, const char *table, struct err *e)
{
    struct analysis *a = arg;
    char *merge = xasprintf("analyze/merge/%s", table);
    char *derived = xasprintf("analyze/derived/%s", table);
    const char *query = query_text(merge);
    int rc;

    if (query)
        rc = analysis_merge_all(a, table, query, e);
    else if (query_text(derived))
        rc = analysis_rows(a, derived + strlen("analyze/"), 0, NULL, NULL, e);
    else
        rc = query_fail(a->db, table, e);
    free(merge);
    free(derived);
    return rc;
}

/* ---- opening ---- */

static bool analysis_has_name(const struct analysis *a, const char *name)
{
    for (size_t i = 0; i < a->runs; i++)
        if (strcmp(a->run[i].name, name) == 0)
            return true;
    return false;
}

/* That of its folder, made different from the others'. */
static const char *analysis_name(struct analysis *a, const char *dir)
{
    size_t n = strlen(dir), from;
    const char *base, *name;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    for (from = n; from > 0 && dir[from - 1] != '/'; from--)
        ;
    base = name = arena_strndup(&a->memory, dir + from, n - from);
    for (int i = 2; analysis_has_name(a, name); i++)
        name = arena_printf(&a->memory, "%s-%d", base, i);
    return name;
}

static int analysis_open_runs(struct analysis *a, const char *const *dir,
                              size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        struct store *s = query_open(dir[i], e);

        if (!s)
            return -1;
        a->run[i] = (struct programs_run){s, dir[i], analysis_name(a, dir[i]),
                                          lock_owner(dir[i])};
        a->runs++;
    }
    return 0;
}

static int analysis_open_db(struct analysis *a, struct err *e)
{
    struct buf b;
    int rc = 0;

    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "CREATE TABLE given (name, value);"
                 "CREATE TABLE verdict (place, verdict)");
    for (enum verdict i = 0; i < VERDICTS; i++)
        buf_printf(&b, ";INSERT INTO verdict VALUES (%d, '%s')", (int)i,
                   verdicts[i].name);
    buf_printf(&b, ";%s", query_text("analyze/merged"));
    if (sqlite3_open(":memory:", &a->db) != SQLITE_OK ||
        sqlite3_exec(a->db, buf_str(&b), NULL, NULL, NULL) != SQLITE_OK)
        rc = query_fail(a->db, "merged", e);
    buf_release(&b);
    query_functions(a->db);
    programs_functions(&a->programs, a->db);
    return rc;
}

int analysis_open(struct analysis *a, const char *const *dir, size_t n,
                  struct err *e)
{
    *a = (struct analysis){.run = xcalloc(n, sizeof(*a->run))};
    arena_init(&a->memory);
    programs_init(&a->programs, a->run);
    if (analysis_open_runs(a, dir, n, e) == 0 && analysis_open_db(a, e) == 0)
        return 0;
    analysis_close(a);
    return -1;
}

void analysis_close(struct analysis *a)
{
    struct err late = ERR_INIT;

    sqlite3_close(a->db);
    for (size_t i = 0; i < a->runs; i++)
        store_close(a->run[i].store, &late);
    programs_release(&a->programs);
    free(a->run);
    arena_release(&a->memory);
    *a = (struct analysis){0};
}

/* ---- asking ---- */

int analysis_give(struct analysis *a, const char *name, json_t *value,
                  struct err *e)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    char *sql =
        sqlite3_mprintf("INSERT INTO given VALUES (%Q, %Q)", name, text);
    int rc = sqlite3_exec(a->db, sql, NULL, NULL, NULL);

    sqlite3_free(sql);
    free(text);
    json_decref(value);
    return rc == SQLITE_OK ? 0 : query_fail(a->db, "given", e);
}

json_t *analysis_list(const struct opt_list *list)
{
    json_t *out = json_array();

    for (size_t i = 0; i < list->len; i++)
        json_array_append_new(out,
                              jsn_text(list->item[i], strlen(list->item[i])));
    return out;
}

json_t *analysis_ask(struct analysis *a, const char *name, int64_t nr,
                     struct err *e)
{
    struct query_db d = {.db = a->db, .make = analysis_make, .arg = a};
    char *file = xasprintf("analyze/%s", name);
    json_t *rows =
        query_rows(&d, file, json_pack("{s:I}", "nr", (json_int_t)nr), e);

    free(file);
    return rows;
}

/* ---- tables ---- */

/* How a column's values are printed: '%' as shares, a digit with so many places;
 * 0: as they are. `heading` is what is left of its name. */
static char analysis_format(const char *column, struct str *heading)
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

static void analysis_put_number(struct table *t, double x, char format)
{
    if (format == '%')
        table_share(t, x);
    else
        table_real(t, x, format ? format - '0' : 0);
}

static void analysis_put_member(struct table *t, const json_t *v, char format)
{
    if (json_is_integer(v) && !format)
        table_int(t, json_integer_value(v));
    else if (json_is_number(v))
        analysis_put_number(t, json_number_value(v), format);
    else
        table_text(t, json_string_value(v));
}

static void analysis_put_value(struct table *t, sqlite3_stmt *q, int i)
{
    const char *name = sqlite3_column_name(q, i), *text;
    int type = sqlite3_column_type(q, i);
    struct str heading;
    char format = analysis_format(name, &heading);
    json_t *members;
    const char *key;
    json_t *v;

    text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(q, i) : NULL;
    if (name[0] == '*') {
        members = json_loads(text ? text : "{}", 0, NULL);
        json_object_foreach(members, key, v) analysis_put_member(t, v, name[1]);
        json_decref(members);
    } else if (type == SQLITE_INTEGER && !format) {
        table_int(t, sqlite3_column_int64(q, i));
    } else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        analysis_put_number(t, sqlite3_column_double(q, i), format);
    } else {
        table_text(t, text);
    }
}

/* The columns of the table; those of an object are known by its first row. */
static void analysis_put_columns(struct table *t, sqlite3_stmt *q)
{
    for (int i = 0; i < sqlite3_column_count(q); i++) {
        const char *name = sqlite3_column_name(q, i), *key;
        const char *object = (const char *)sqlite3_column_text(q, i);
        struct str heading;
        json_t *members, *v;

        if (name[0] != '*') {
            analysis_format(name, &heading);
            table_column(t, arena_strndup(&t->memory, heading.p, heading.n));
            continue;
        }
        members = object ? json_loads(object, 0, NULL) : NULL;
        json_object_foreach(members, key, v) table_column(t, key);
        json_decref(members);
    }
}

static bool analysis_is_remark(const char *column)
{
    static const char *const remarks[] = {"note", "missing", "empty", "usage"};

    for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++)
        if (strcmp(column, remarks[i]) == 0)
            return true;
    return false;
}

/* 1: the table is not there. */
static int analysis_put_remark(struct table *t, const char *what,
                               const char *text, struct err *e)
{
    if (strcmp(what, "usage") == 0)
        return err_set(e, ERR_USAGE, "%s", text);
    if (strcmp(what, "note") == 0)
        table_note(t, "%s", text);
    else if (strcmp(what, "missing") == 0 || table_rows(t) == 0)
        return 1 + table_lacks(t, "%s", text);
    return 0;
}

static int analysis_put_row(sqlite3_stmt *q, void *arg, struct err *e)
{
    const char *first = sqlite3_column_name(q, 0);
    struct table *t = arg;

    if (analysis_is_remark(first))
        return analysis_put_remark(t, first,
                                   (const char *)sqlite3_column_text(q, 0), e);
    if (!t->columns)
        analysis_put_columns(t, q);
    for (int i = 0; i < sqlite3_column_count(q); i++)
        analysis_put_value(t, q, i);
    return 0;
}

#define ANALYSIS_ENTRY(name, what) {#name, what},
const struct analysis_kind analysis_kinds[] = {
    ANALYSIS_KINDS(ANALYSIS_ENTRY){0}};

int analysis_fill(const struct analysis_kind *k, struct analysis *a,
                  struct table *out, struct err *e)
{
    char *file = xasprintf("tables/%s", k->name);
    int rc;

    table_init(out, k->name, k->what);
    rc = analysis_rows(a, file, 0, analysis_put_row, out, e);
    free(file);
    if (rc < 0)
        table_release(out);
    return rc < 0 ? -1 : 0;
}

/* ---- comparing: what must agree ---- */

static void compare_option(const char *option, const char *x, const char *y,
                           const char *a, const char *b, struct buf *out)
{
    if (strcmp(x ? x : "", y ? y : "") != 0)
        buf_printf(out, "  %s: %.200s in %s, %.200s in %s\n", option,
                   x ? x : "not given", a, y ? y : "not given", b);
}

static const char *compare_flag(bool flag)
{
    return flag ? "given" : NULL;
}

/* What run.ini says; a folder without one says nothing. */
static void compare_options(struct analysis *an, struct programs_run *a,
                            struct programs_run *b, struct buf *out)
{
    struct run_settings x = run_defaults, y = run_defaults;
    struct err e = ERR_INIT;

    if (run_settings_read(a->dir, &x, &an->memory, &e) == 0 &&
        run_settings_read(b->dir, &y, &an->memory, &e) == 0) {
        compare_option("--guide", x.guide, y.guide, a->name, b->name, out);
        compare_option("--prompts", x.prompts, y.prompts, a->name, b->name,
                       out);
        compare_option("--no-card", compare_flag(x.no_card),
                       compare_flag(y.no_card), a->name, b->name, out);
        compare_option("--no-stop", compare_flag(x.no_stop),
                       compare_flag(y.no_stop), a->name, b->name, out);
    }
    opt_release(run_table, &x);
    opt_release(run_table, &y);
}

int compare_differences(struct analysis *a, struct buf *out, struct err *e)
{
    size_t before = out->len;

    for (size_t i = 1; i < a->runs; i++) {
        json_t *rows = analysis_ask(a, "differences", (int64_t)i, e), *row;
        size_t k;

        if (!rows)
            return -1;
        json_array_foreach(rows, k, row)
            buf_printf(out, "%s\n", jsn_str(row, "line"));
        json_decref(rows);
        compare_options(a, &a->run[0], &a->run[i], out);
    }
    return out->len > before;
}

int compare_align(struct analysis *a, struct err *e)
{
    json_t *rows = analysis_ask(a, "aligned", 0, e);
    json_int_t tasks = jsn_int(json_array_get(rows, 0), "tasks");

    json_decref(rows);
    if (rows && !tasks)
        err_set(e, ERR_INPUT, "the runs have no task in common");
    return tasks ? 0 : -1;
}

const struct analysis_kind compare_kinds[] = {
    {"runs", "what each run solved, and what it cost"},
    {"curve", "tasks solved within a number of attempts"},
    {"pairs", "each two of the runs on the same tasks"},
    {0},
};

/* ---- a report for the author of a language ---- */

#define SAMPLE_LINES 12
#define SAMPLE_WIDTH 160

/* The first lines of a feedback, indented: nothing in it is markup. */
static void author_put_sample(const char *run, const json_t *row,
                              struct buf *out)
{
    struct str rest = str_of(jsn_str(row, "text")), line;

    buf_printf(out,
               "\nWhat the model was told, for the diagnostic in row %lld of ",
               (long long)jsn_int(row, "place"));
    table_put_md(run, out);
    buf_puts(out, rest.n ? ":\n\n" : ":\n\n    (nothing)\n");
    for (int i = 0; rest.n && i < SAMPLE_LINES && str_part(&rest, '\n', &line);
         i++) {
        buf_puts(out, "    ");
        table_put_line(line, SAMPLE_WIDTH, out);
        buf_putc(out, '\n');
    }
}

static int author_put_samples(struct analysis *a, struct buf *out,
                              struct err *e)
{
    for (size_t i = 0; i < a->runs; i++) {
        json_t *rows = analysis_ask(a, "samples", (int64_t)i, e), *row;
        size_t k;

        if (!rows)
            return -1;
        json_array_foreach(rows, k, row)
            author_put_sample(a->run[i].name, row, out);
        json_decref(rows);
    }
    return 0;
}

static const struct analysis_kind author_kinds[] = {
    {"failures", "what went wrong, by diagnostic"},
    {"hints", "hints that fired, and whether the next attempt got further"},
    {"unused", "primitives that were taught and never worked"},
    {"invented", "names that nobody taught and that never worked"},
    {0},
};

int author_report(struct analysis *a, struct buf *out, struct err *e)
{
    json_t *rows = analysis_ask(a, "author", 0, e), *row;
    size_t i;

    if (!rows)
        return -1;
    buf_puts(out, "# What runs say about a language\n");
    json_array_foreach(rows, i, row)
    {
        if (jsn_int(row, "named"))
            table_put_md(jsn_str(row, "text"), out);
        else
            buf_puts(out, jsn_str(row, "text"));
    }
    json_decref(rows);
    for (const struct analysis_kind *k = author_kinds; k->name; k++) {
        struct table t;

        if (analysis_fill(k, a, &t, e) < 0)
            return -1;
        buf_putc(out, '\n');
        if (t.missing)
            buf_printf(out, "### %s\n\n%s: %s.\n", k->name, k->what, t.missing);
        table_print(&t, TABLE_MD, out);
        table_release(&t);
        if (k == author_kinds && author_put_samples(a, out, e) < 0)
            return -1;
    }
    return 0;
}
