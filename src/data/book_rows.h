/* book_rows.h: the rows of KernelBook, from a file of JSON (an array of rows, or JSON
 * Lines) or from a folder of programs named NUMBER_CLASS.py. */
#ifndef DATA_BOOK_ROWS_H
#define DATA_BOOK_ROWS_H

#include "base/err.h"
#include "base/json.h"

#include <stddef.h>
#include <stdint.h>

struct book_row {
    size_t number;    /* from 1, in the order of the input */
    json_t *fields;   /* the row's columns */
    const char *file; /* the program's name in a folder; NULL: none */
};

struct book_rows;

/* NULL and an error when it is neither a file nor a folder with programs. */
struct book_rows *book_rows_open(const char *path, struct err *e);
void book_rows_close(struct book_rows *r); /* `r` may be NULL */

/* 1 with the next row, borrowed until the next call; 0 at the end. */
int book_rows_next(struct book_rows *r, struct book_row *row, struct err *e);

/* For progress: bytes of a file, or programs of a folder. */
uint64_t book_rows_done(const struct book_rows *r);
uint64_t book_rows_total(const struct book_rows *r);

#endif
