/* table_print.c: a table as text, JSON Lines, CSV or Markdown. */
#include "analyze/table.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/term.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static void put_quoted(const char *s, size_t longest, struct buf *out)
{
    table_put_line(str_of(s), longest, out);
}

/* ---- text ---- */

static void put_cell(const struct cell *c, struct buf *out)
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
        put_quoted(c->s, TEXT_BYTES, &b);
        term_cut(buf_str(&b), TEXT_COLUMNS, out);
        buf_release(&b);
    }
}

/* Its columns on the screen. */
static size_t width_of(const char *text)
{
    struct buf b;
    size_t n;

    buf_init(&b, BUF_UNLIMITED);
    n = term_cut(text, TEXT_BYTES, &b);
    buf_release(&b);
    return n;
}

static void put_padded(const char *text, size_t width, bool right,
                       struct buf *out)
{
    size_t used = width_of(text), fill = width > used ? width - used : 0;

    if (right)
        buf_printf(out, "%*s", (int)fill, "");
    buf_puts(out, text);
    if (!right)
        buf_printf(out, "%*s", (int)fill, "");
}

/* Numbers stand at the right. */
static bool is_number_column(const struct table *t, size_t column)
{
    for (size_t r = 0; r < table_rows(t); r++)
        if (table_cell(t, r, column)->kind == CELL_TEXT)
            return false;
    return true;
}

static size_t column_width(const struct table *t, size_t column)
{
    size_t width;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    put_quoted(t->column[column], TEXT_BYTES, &b);
    width = width_of(buf_str(&b));
    for (size_t r = 0; r < table_rows(t); r++) {
        size_t w;

        buf_reset(&b);
        put_cell(table_cell(t, r, column), &b);
        w = width_of(buf_str(&b));
        width = w > width ? w : width;
    }
    buf_release(&b);
    return width;
}

static void trim_line(struct buf *out)
{
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_putc(out, '\n');
}

static void print_text(const struct table *t, struct buf *out)
{
    size_t *width = xcalloc(t->columns + 1, sizeof(*width));
    bool *right = xcalloc(t->columns + 1, sizeof(*right));
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (t->name)
        buf_printf(out, "%s: %s\n", t->name, t->what);
    for (size_t c = 0; c < t->columns; c++) {
        width[c] = column_width(t, c);
        right[c] = is_number_column(t, c);
        buf_puts(out, c ? "  " : "");
        buf_reset(&b);
        put_quoted(t->column[c], TEXT_BYTES, &b);
        put_padded(buf_str(&b), width[c], right[c], out);
    }
    trim_line(out);
    for (size_t r = 0; r < table_rows(t); r++) {
        for (size_t c = 0; c < t->columns; c++) {
            buf_reset(&b);
            put_cell(table_cell(t, r, c), &b);
            buf_puts(out, c ? "  " : "");
            put_padded(buf_str(&b), width[c], right[c], out);
        }
        trim_line(out);
    }
    for (size_t i = 0; i < t->notes; i++) {
        put_quoted(t->note[i], TEXT_BYTES, out);
        buf_putc(out, '\n');
    }
    buf_release(&b);
    free(width);
    free(right);
}

/* ---- Markdown ---- */

/* Text that means itself: no markup, HTML, link, mention or reference. An
 * underscore within a word is none. */
static bool is_plain_md(const char *s)
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
static void put_code_span(const char *s, struct buf *out)
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
    put_quoted(s, TEXT_BYTES, &clean);
    if (is_plain_md(buf_str(&clean)))
        buf_puts(out, buf_str(&clean));
    else
        put_code_span(buf_str(&clean), out);
    buf_release(&clean);
}

static void put_md_cell(const struct cell *c, struct buf *out)
{
    if (c->kind == CELL_TEXT)
        table_put_md(c->s, out);
    else if (c->kind != CELL_EMPTY)
        put_cell(c, out);
}

static void print_md(const struct table *t, struct buf *out)
{
    buf_printf(out, "### %s\n\n%s.\n\n", t->name, t->what);
    for (size_t c = 0; c < t->columns; c++) {
        buf_puts(out, c ? " | " : "| ");
        table_put_md(t->column[c], out);
    }
    buf_puts(out, " |\n");
    for (size_t c = 0; c < t->columns; c++)
        buf_puts(out, is_number_column(t, c) ? "|---:" : "|---");
    buf_puts(out, "|\n");
    for (size_t r = 0; r < table_rows(t); r++) {
        for (size_t c = 0; c < t->columns; c++) {
            buf_puts(out, c ? " | " : "| ");
            put_md_cell(table_cell(t, r, c), out);
        }
        buf_puts(out, " |\n");
    }
    for (size_t i = 0; i < t->notes; i++) {
        buf_putc(out, '\n');
        table_put_md(t->note[i], out);
        buf_putc(out, '\n');
    }
}

/* ---- for programs ---- */

/* "solved by 4" is solved_by_4 there. */
static char *key_of(const char *column)
{
    char *key = xstrdup(column);

    for (char *p = key; *p; p++)
        if (*p == ' ')
            *p = '_';
    return key;
}

/* What a spreadsheet may take for a formula, also behind spaces. */
static bool is_formula(const char *s)
{
    s += strspn(s, " \t\r\n\v\f");
    return *s && strchr("=+-@", *s);
}

static void put_csv(const char *s, struct buf *out)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (is_formula(s))
        buf_putc(&b, '\'');
    put_quoted(s, TEXT_BYTES, &b);
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

static void put_csv_cell(const struct cell *c, struct buf *out)
{
    if (c->kind == CELL_INT)
        buf_printf(out, "%lld", (long long)c->i);
    else if (c->kind == CELL_TEXT)
        put_csv(c->s, out);
    else if (c->kind != CELL_EMPTY)
        buf_printf(out, "%.10g", c->x);
}

static void print_csv(const struct table *t, struct buf *out)
{
    for (size_t c = 0; c < t->columns; c++) {
        char *key = key_of(t->column[c]);

        buf_puts(out, c ? "," : "");
        put_csv(key, out);
        free(key);
    }
    buf_putc(out, '\n');
    for (size_t r = 0; r < table_rows(t); r++) {
        for (size_t c = 0; c < t->columns; c++) {
            buf_puts(out, c ? "," : "");
            put_csv_cell(table_cell(t, r, c), out);
        }
        buf_putc(out, '\n');
    }
}

static json_t *cell_json(const struct cell *c)
{
    if (c->kind == CELL_INT)
        return json_integer(c->i);
    if (c->kind == CELL_TEXT)
        return jsn_text(c->s, strlen(c->s));
    return c->kind == CELL_EMPTY || !isfinite(c->x) ? json_null()
                                                    : json_real(c->x);
}

static void put_json(json_t *v, struct buf *out)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(15));

    buf_puts(out, text ? text : "{}");
    buf_putc(out, '\n');
    free(text);
    json_decref(v);
}

static json_t *about(const struct table *t, const char *key, const char *text)
{
    return json_pack("{s:s, s:o}", "table", t->name, key,
                     jsn_text(text, strlen(text)));
}

static void print_json(const struct table *t, struct buf *out)
{
    for (size_t r = 0; r < table_rows(t); r++) {
        json_t *v = json_pack("{s:s}", "table", t->name);

        for (size_t c = 0; c < t->columns; c++) {
            char *key = key_of(t->column[c]);

            json_object_set_new(v, key, cell_json(table_cell(t, r, c)));
            free(key);
        }
        put_json(v, out);
    }
    for (size_t i = 0; i < t->notes; i++)
        put_json(about(t, "note", t->note[i]), out);
}

void table_print(const struct table *t, enum table_format f, struct buf *out)
{
    static void (*const print[])(const struct table *, struct buf *) = {
        [TABLE_TEXT] = print_text,
        [TABLE_JSON] = print_json,
        [TABLE_CSV] = print_csv,
        [TABLE_MD] = print_md,
    };

    if (t->missing && f == TABLE_JSON)
        put_json(about(t, "missing", t->missing), out);
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
