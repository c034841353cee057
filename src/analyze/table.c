/* table.c: a table: filled, and printed as text, JSON Lines, CSV or Markdown. */
#include "analyze/table.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/term.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void table_init(struct table *t, const char *name, const char *what)
{
    *t = (struct table){.name = name, .what = what};
    arena_init(&t->memory);
}

void table_release(struct table *t)
{
    free(t->cell);
    free(t->column);
    free(t->note);
    arena_release(&t->memory);
    *t = (struct table){0};
}

void table_column(struct table *t, const char *name)
{
    if (t->cells)
        BUG("table %s: a column too late", t->name);
    t->column =
        xgrow(t->column, &t->column_cap, t->columns, sizeof(*t->column));
    t->column[t->columns++] = arena_strdup(&t->memory, name);
}

void table_columns(struct table *t, const char *names)
{
    struct str rest = str_of(names), name;

    while (str_part(&rest, '|', &name)) {
        char *one = xstrndup(name.p, name.n);

        table_column(t, one);
        free(one);
    }
}

static void table_add(struct table *t, struct cell c)
{
    t->cell = xgrow(t->cell, &t->cap, t->cells, sizeof(*t->cell));
    t->cell[t->cells++] = c;
}

void table_empty(struct table *t)
{
    table_add(t, (struct cell){.kind = CELL_EMPTY});
}

void table_int(struct table *t, int64_t v)
{
    table_add(t, (struct cell){.kind = CELL_INT, .i = v});
}

void table_real(struct table *t, double v, int places)
{
    if (isnan(v))
        table_empty(t);
    else
        table_add(t,
                  (struct cell){.kind = CELL_REAL, .x = v, .places = places});
}

void table_share(struct table *t, double v)
{
    if (isnan(v))
        table_empty(t);
    else
        table_add(t, (struct cell){.kind = CELL_SHARE, .x = v});
}

void table_text(struct table *t, const char *s)
{
    if (!s)
        table_empty(t);
    else
        table_add(t, (struct cell){.kind = CELL_TEXT,
                                   .s = arena_strdup(&t->memory, s)});
}

/* A list's texts, or an object's numbers with their names. */
static void table_joined(struct table *t, const json_t *v)
{
    const char *name;
    struct buf b;
    json_t *x;
    size_t i;

    buf_init(&b, BUF_UNLIMITED);
    json_array_foreach(v, i, x)
        buf_printf(&b, "%s%s", i ? ", " : "", json_string_value(x));
    json_object_foreach((json_t *)v, name, x)
        buf_printf(&b, "%s%lld %s", b.len ? ", " : "",
                   (long long)json_integer_value(x), name);
    table_text(t, b.len ? buf_str(&b) : NULL);
    buf_release(&b);
}

static void table_value(struct table *t, const json_t *row, const json_t *v,
                        char format)
{
    long long n = json_integer_value(v);

    if (json_is_number(v) && format == 'x')
        table_figure(t, "%.2fx%s", json_number_value(v),
                     json_is_string(json_object_get(row, "implausible")) ? "?"
                                                                         : "");
    else if (json_is_number(v) && format == 's')
        table_figure(t, "%.2f s", json_number_value(v));
    else if (json_is_number(v) && format == 'g')
        table_figure(t, "%.3g", json_number_value(v));
    else if (json_is_integer(v) && format == '$')
        table_figure(t, "$%lld.%06lld", n / 1000000, n % 1000000);
    else if (json_is_integer(v))
        table_int(t, n);
    else if (json_is_string(v))
        table_text(t, json_string_value(v));
    else
        table_joined(t, v);
}

void table_from(struct table *t, const char *columns, const json_t *rows)
{
    struct {
        char *key, format;
    } column[TABLE_FROM];
    struct str rest = str_of(columns), name, key;
    const json_t *row;
    size_t n = 0, i;

    for (; n < TABLE_FROM && str_part(&rest, '|', &name); n++) {
        bool formatted = name.n > 2 && name.p[name.n - 2] == ':';
        char *heading;

        column[n].format = formatted ? name.p[name.n - 1] : '\0';
        name.n -= formatted ? 2 : 0;
        key = name;
        if (str_cut(&key, '=', &name))
            column[n].key = xstrndup(key.p, key.n);
        else
            column[n].key = xstrndup(name.p, name.n);
        heading = xstrndup(name.p, name.n);
        table_column(t, heading);
        free(heading);
    }
    json_array_foreach(rows, i, row) for (size_t k = 0; k < n; k++) table_value(
        t, row, json_object_get(row, column[k].key), column[k].format);
    while (n)
        free(column[--n].key);
}

size_t table_rows(const struct table *t)
{
    if (t->columns ? t->cells % t->columns : t->cells)
        BUG("table %s: a row is not complete", t->name);
    return t->columns ? t->cells / t->columns : 0;
}

static const struct cell *table_cell(const struct table *t, size_t row,
                                     size_t column)
{
    return &t->cell[row * t->columns + column];
}

__attribute__((format(printf, 2, 0))) static const char *
format(struct table *t, const char *fmt, va_list ap)
{
    char text[1024];

    vsnprintf(text, sizeof(text), fmt, ap);
    return arena_strdup(&t->memory, text);
}

void table_figure(struct table *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    table_add(t, (struct cell){.kind = CELL_FIGURE, .s = format(t, fmt, ap)});
    va_end(ap);
}

void table_note(struct table *t, const char *fmt, ...)
{
    va_list ap;

    t->note = xgrow(t->note, &t->note_cap, t->notes, sizeof(*t->note));
    va_start(ap, fmt);
    t->note[t->notes++] = format(t, fmt, ap);
    va_end(ap);
}

int table_lacks(struct table *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    t->missing = format(t, fmt, ap);
    va_end(ap);
    t->cells = 0;
    t->notes = 0;
    return 0;
}

/* ---- printing ---- */

#define TEXT_COLUMNS 100  /* of a cell for people */
#define TEXT_BYTES   4096 /* of a cell for programs */

void table_put_line(struct str s, size_t longest, struct buf *out)
{
    size_t n = s.n < longest ? s.n : longest;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    buf_put(&b, s.p, n);
    for (size_t i = 0; i < b.len; i++)
        if (b.data[i] && strchr("\n\r\t\v\f", b.data[i]))
            b.data[i] = ' ';
    term_quote((struct str){buf_str(&b), b.len}, longest, out);
    buf_release(&b);
    if (n < s.n)
        buf_puts(out, "...");
}

static void table_put_quoted(const char *s, size_t longest, struct buf *out)
{
    table_put_line(str_of(s), longest, out);
}

/* ---- text ---- */

static void table_put_cell(const struct cell *c, struct buf *out)
{
    struct buf b;

    switch (c->kind) {
    case CELL_EMPTY:
        buf_putc(out, '-');
        break;
    case CELL_INT:
        buf_printf(out, "%lld", (long long)c->i);
        break;
    case CELL_REAL:
        buf_printf(out, "%.*f", c->places, c->x);
        break;
    case CELL_SHARE:
        buf_printf(out, "%.1f%%", 100 * c->x);
        break;
    case CELL_FIGURE:
        buf_puts(out, c->s);
        break;
    case CELL_TEXT:
        buf_init(&b, BUF_UNLIMITED);
        table_put_quoted(c->s, TEXT_BYTES, &b);
        term_cut(buf_str(&b), TEXT_COLUMNS, out);
        buf_release(&b);
    }
}

/* Its columns on the screen. */
static size_t table_width_of(const char *text)
{
    struct buf b;
    size_t n;

    buf_init(&b, BUF_UNLIMITED);
    n = term_cut(text, TEXT_BYTES, &b);
    buf_release(&b);
    return n;
}

static void table_put_padded(const char *text, size_t width, bool right,
                             struct buf *out)
{
    size_t used = table_width_of(text), fill = width > used ? width - used : 0;

    if (right)
        buf_printf(out, "%*s", (int)fill, "");
    buf_puts(out, text);
    if (!right)
        buf_printf(out, "%*s", (int)fill, "");
}

/* Numbers stand at the right. */
static bool table_is_number_column(const struct table *t, size_t column)
{
    for (size_t r = 0; r < table_rows(t); r++)
        if (table_cell(t, r, column)->kind == CELL_TEXT)
            return false;
    return true;
}

/* The cells of a line; line 0 has the headings. */
static struct cell table_at(const struct table *t, size_t line, size_t column)
{
    return line ? *table_cell(t, line - 1, column)
                : (struct cell){.kind = CELL_TEXT, .s = t->column[column]};
}

static size_t table_column_width(const struct table *t, size_t column)
{
    size_t width = 0;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t line = 0; line <= table_rows(t); line++) {
        struct cell cell = table_at(t, line, column);
        size_t w;

        buf_reset(&b);
        table_put_cell(&cell, &b);
        w = table_width_of(buf_str(&b));
        width = w > width ? w : width;
    }
    buf_release(&b);
    return width;
}

static void table_trim_line(struct buf *out)
{
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_putc(out, '\n');
}

static void table_print_text(const struct table *t, struct buf *out)
{
    size_t *width = xcalloc(t->columns + 1, sizeof(*width));
    bool *right = xcalloc(t->columns + 1, sizeof(*right));
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (t->name)
        buf_printf(out, "%s: %s\n", t->name, t->what);
    for (size_t c = 0; c < t->columns; c++) {
        width[c] = table_column_width(t, c);
        right[c] = table_is_number_column(t, c);
    }
    for (size_t line = 0; t->columns && line <= table_rows(t); line++) {
        for (size_t c = 0; c < t->columns; c++) {
            struct cell cell = table_at(t, line, c);

            buf_reset(&b);
            table_put_cell(&cell, &b);
            buf_puts(out, c ? "  " : "");
            table_put_padded(buf_str(&b), width[c], right[c], out);
        }
        table_trim_line(out);
    }
    for (size_t i = 0; i < t->notes; i++) {
        table_put_quoted(t->note[i], TEXT_BYTES, out);
        buf_putc(out, '\n');
    }
    buf_release(&b);
    free(width);
    free(right);
}

/* ---- Markdown ---- */

/* Text that means itself: no markup, HTML, link, mention or reference. An
 * underscore within a word is none. */
static bool table_is_plain_md(const char *s)
{
    if (strchr("-+=> ", *s))
        return *s == '\0';
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;

        if (isalnum(c) || c >= 0x80)
            continue;
        if (c == '_' ? p == s || !isalnum((unsigned char)p[-1]) ||
                           !isalnum((unsigned char)p[1])
                     : !strchr(" .,:;-+=?!\"()/'%>", c))
            return false;
        if (strncmp(p, "://", 3) == 0 ||
            (c == '.' && p - s >= 3 && strncasecmp(p - 3, "www", 3) == 0))
            return false;
    }
    return true;
}

/* The fence is longer than any row of backticks inside. In a table a bar ends
 * the cell unless a backslash stands before it, and that backslash must not be
 * escaped itself. */
static void table_put_code_span(const char *s, struct buf *out)
{
    size_t fence = 1, row = 0, n = strlen(s);
    bool pad = *s == '`' || *s == ' ' || s[n - 1] == '`';

    for (const char *p = s; *p; p++) {
        row = *p == '`' ? row + 1 : 0;
        fence = row >= fence ? row + 1 : fence;
    }
    for (size_t i = 0; i < fence; i++)
        buf_putc(out, '`');
    buf_puts(out, pad ? " " : "");
    for (const char *p = s; *p; p++) {
        if (*p != '|')
            buf_putc(out, *p);
        else
            buf_puts(out, p > s && p[-1] == '\\' ? "<7C>" : "\\|");
    }
    buf_puts(out, pad ? " " : "");
    for (size_t i = 0; i < fence; i++)
        buf_putc(out, '`');
}

void table_put_md(const char *s, struct buf *out)
{
    struct buf clean;

    buf_init(&clean, BUF_UNLIMITED);
    table_put_quoted(s, TEXT_BYTES, &clean);
    if (table_is_plain_md(buf_str(&clean)))
        buf_puts(out, buf_str(&clean));
    else
        table_put_code_span(buf_str(&clean), out);
    buf_release(&clean);
}

static void table_put_md_cell(const struct cell *c, struct buf *out)
{
    if (c->kind == CELL_TEXT)
        table_put_md(c->s, out);
    else if (c->kind != CELL_EMPTY)
        table_put_cell(c, out);
}

static void table_print_md(const struct table *t, struct buf *out)
{
    if (t->name)
        buf_printf(out, "### %s\n\n%s.\n\n", t->name, t->what);
    for (size_t line = 0; t->columns && line <= table_rows(t); line++) {
        for (size_t c = 0; c < t->columns; c++) {
            struct cell cell = table_at(t, line, c);

            buf_puts(out, c ? " | " : "| ");
            table_put_md_cell(&cell, out);
        }
        buf_puts(out, " |\n");
        for (size_t c = 0; line == 0 && c < t->columns; c++)
            buf_puts(out, table_is_number_column(t, c) ? "|---:" : "|---");
        buf_puts(out, line ? "" : "|\n");
    }
    for (size_t i = 0; i < t->notes; i++) {
        buf_putc(out, '\n');
        table_put_md(t->note[i], out);
        buf_putc(out, '\n');
    }
}

/* ---- for programs ---- */

/* "solved by 4" is solved_by_4 there. */
static char *table_key_of(const char *column)
{
    char *key = xstrdup(column);

    for (char *p = key; *p; p++)
        if (*p == ' ')
            *p = '_';
    return key;
}

/* What a spreadsheet may take for a formula, also behind spaces. */
static bool table_is_formula(const char *s)
{
    s += strspn(s, " \t\r\n\v\f");
    return *s && strchr("=+-@", *s);
}

static void table_put_csv(const char *s, struct buf *out)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (table_is_formula(s))
        buf_putc(&b, '\'');
    table_put_quoted(s, TEXT_BYTES, &b);
    if (!strpbrk(buf_str(&b), "\",;'")) {
        buf_puts(out, buf_str(&b));
    } else {
        buf_putc(out, '"');
        for (const char *p = buf_str(&b); *p; p++) {
            if (*p == '"')
                buf_putc(out, '"');
            buf_putc(out, *p);
        }
        buf_putc(out, '"');
    }
    buf_release(&b);
}

static void table_put_csv_cell(const struct cell *c, struct buf *out)
{
    if (c->kind == CELL_INT)
        buf_printf(out, "%lld", (long long)c->i);
    else if (c->kind == CELL_TEXT)
        table_put_csv(c->s, out);
    else if (c->kind != CELL_EMPTY)
        buf_printf(out, "%.10g", c->x);
}

static void table_print_csv(const struct table *t, struct buf *out)
{
    for (size_t c = 0; c < t->columns; c++) {
        char *key = table_key_of(t->column[c]);

        buf_puts(out, c ? "," : "");
        table_put_csv(key, out);
        free(key);
    }
    if (t->columns)
        buf_putc(out, '\n');
    for (size_t r = 0; r < table_rows(t); r++) {
        for (size_t c = 0; c < t->columns; c++) {
            buf_puts(out, c ? "," : "");
            table_put_csv_cell(table_cell(t, r, c), out);
        }
        buf_putc(out, '\n');
    }
}

static json_t *table_cell_json(const struct cell *c)
{
    if (c->kind == CELL_INT)
        return json_integer(c->i);
    if (c->kind == CELL_TEXT)
        return jsn_text(c->s, strlen(c->s));
    return c->kind == CELL_EMPTY || !isfinite(c->x) ? json_null()
                                                    : json_real(c->x);
}

static void table_put_json(json_t *v, struct buf *out)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(15));

    buf_puts(out, text ? text : "{}");
    buf_putc(out, '\n');
    free(text);
    json_decref(v);
}

static json_t *table_about(const struct table *t, const char *key,
                           const char *text)
{
    return json_pack("{s:s, s:o}", "table", t->name, key,
                     jsn_text(text, strlen(text)));
}

static void table_print_json(const struct table *t, struct buf *out)
{
    for (size_t r = 0; r < table_rows(t); r++) {
        json_t *v = json_pack("{s:s}", "table", t->name);

        for (size_t c = 0; c < t->columns; c++) {
            char *key = table_key_of(t->column[c]);

            json_object_set_new(v, key, table_cell_json(table_cell(t, r, c)));
            free(key);
        }
        table_put_json(v, out);
    }
    for (size_t i = 0; i < t->notes; i++)
        table_put_json(table_about(t, "note", t->note[i]), out);
}

void table_print(const struct table *t, enum table_format f, struct buf *out)
{
    static void (*const print[])(const struct table *, struct buf *) = {
        [TABLE_TEXT] = table_print_text,
        [TABLE_JSON] = table_print_json,
        [TABLE_CSV] = table_print_csv,
        [TABLE_MD] = table_print_md,
    };

    if (t->missing && f == TABLE_JSON)
        table_put_json(table_about(t, "missing", t->missing), out);
    else if (!t->missing)
        print[f](t, out);
}

void table_show(const struct table *t)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    table_print(t, TABLE_TEXT, &b);
    fputs(buf_str(&b), stdout);
    buf_release(&b);
}
