/* table.c: filling a table. */
#include "analyze/table.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

void table_columns(struct table *t, const char *const *names)
{
    for (; *names; names++)
        table_column(t, *names);
}

static void add(struct table *t, struct cell c)
{
    t->cell = xgrow(t->cell, &t->cap, t->cells, sizeof(*t->cell));
    t->cell[t->cells++] = c;
}

void table_empty(struct table *t)
{
    add(t, (struct cell){.kind = CELL_EMPTY});
}

void table_int(struct table *t, int64_t v)
{
    add(t, (struct cell){.kind = CELL_INT, .i = v});
}

void table_real(struct table *t, double v, int places)
{
    if (isnan(v))
        table_empty(t);
    else
        add(t, (struct cell){.kind = CELL_REAL, .x = v, .places = places});
}

void table_share(struct table *t, double v)
{
    if (isnan(v))
        table_empty(t);
    else
        add(t, (struct cell){.kind = CELL_SHARE, .x = v});
}

void table_text(struct table *t, const char *s)
{
    if (!s)
        table_empty(t);
    else
        add(t,
            (struct cell){.kind = CELL_TEXT, .s = arena_strdup(&t->memory, s)});
}

size_t table_rows(const struct table *t)
{
    if (t->columns ? t->cells % t->columns : t->cells)
        BUG("table %s: a row is not complete", t->name);
    return t->columns ? t->cells / t->columns : 0;
}

const struct cell *table_cell(const struct table *t, size_t row, size_t column)
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
    add(t, (struct cell){.kind = CELL_FIGURE, .s = format(t, fmt, ap)});
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
