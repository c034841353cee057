/* table.h: a table as a value: columns, rows of cells, notes; and the one place
 * that prints tables. Texts are copied and may hold anything: what a task, a
 * model or a compiler wrote is escaped for the place where it is printed. */
#ifndef ANALYZE_TABLE_H
#define ANALYZE_TABLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum cell_kind {
    CELL_EMPTY,
    CELL_INT,
    CELL_REAL,
    CELL_SHARE,
    CELL_TEXT,
    CELL_FIGURE, /* a number with its unit, as text */
};

struct cell {
    enum cell_kind kind;
    int64_t i;
    double x;
    int places; /* CELL_REAL: digits for people */
    const char *s;
};

struct table {
    const char *name, *what; /* borrowed; NULL: it has no heading */
    const char **column;
    size_t columns, column_cap;
    struct cell *cell; /* rows * columns of them */
    size_t cells, cap;
    const char **note;
    size_t notes, note_cap;
    const char *missing; /* why the data cannot carry it; NULL: they can */
    struct arena memory;
};

void table_init(struct table *t, const char *name, const char *what);
void table_release(struct table *t);

/* Before the first row: "first|second|…". */
void table_columns(struct table *t, const char *names);
void table_column(struct table *t, const char *name); /* one more */
/* Cells from left to right, row by row. */
void table_empty(struct table *t);
void table_int(struct table *t, int64_t v);
void table_real(struct table *t, double v, int places); /* NaN: empty */
/* In [0, 1]: a percentage for people, the number itself for programs. */
void table_share(struct table *t, double v);
void table_text(struct table *t, const char *s); /* NULL: empty */
/* A number as people want to read it, with its unit; not for programs. */
void table_figure(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Columns, and a row for each object of a list: "HEADING=KEY:FORMAT|…", where a heading
 * alone is its key, too. FORMAT is x for a speed-up (with ? in a row that is
 * `implausible`), s for seconds, g for three digits, $ for millionths of a dollar; none:
 * by the value, of which a list is joined, and an object of counts told in words. At most
 * TABLE_FROM columns. */
enum { TABLE_FROM = 16 };
void table_from(struct table *t, const char *columns, const json_t *rows);
size_t table_rows(const struct table *t);
void table_note(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The data cannot carry the table, and why; drops its rows. Returns 0. */
int table_lacks(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV, TABLE_MD };
/* JSON Lines: an object per row, {"table": NAME, COLUMN: …}, then one per note.
 * CSV: the rows, below the names of the columns. */
void table_print(const struct table *t, enum table_format f, struct buf *out);

/* Prints it as text. */
void table_show(const struct table *t);

/* A text within Markdown: as it is, or as code (`x`) if a part of it could be
 * markup, HTML, a link, a mention or the end of a cell. */
void table_put_md(const char *s, struct buf *out);
/* A line of at most `longest` bytes that cannot control a terminal. */
void table_put_line(struct str s, size_t longest, struct buf *out);

#endif
