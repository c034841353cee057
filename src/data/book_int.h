/* book_int.h: the steps of a conversion, for the files of it alone. */
#ifndef DATA_BOOK_INT_H
#define DATA_BOOK_INT_H

#include "data/book_convert.h"
#include "data/book_outline.h"

/* `len` bytes at `at` of the source become `text`. */
struct book_edit {
    size_t at, len;
    const char *text;
};

struct book_work {
    struct arena *a;
    struct str source, entry;
    struct py_tokens t;
    struct book_outline o;
    int model, init, forward;        /* class, its __init__ (or BOOK_NONE) */
    int get_inputs, get_init_inputs; /* functions */
    int64_t size;
    struct book_edit *edit;
    size_t len, cap;
    struct book_program *out;
};

/* Each step returns -1 once the row is refused. */
int book_names_step(struct book_work *w);
int book_imports_step(struct book_work *w);
int book_init_step(struct book_work *w);
int book_output_step(struct book_work *w);
int book_random_step(struct book_work *w);
int book_sizes_step(struct book_work *w);

/* Returns -1. */
int book_work_refuse(struct book_work *w, enum book_reason why, const char *fmt,
                     ...) __attribute__((format(printf, 3, 4)));
void book_work_edit(struct book_work *w, size_t at, size_t len,
                    const char *text);
/* Deletes tokens [from, to) and the blanks after them; nothing if there are none. */
void book_work_cut(struct book_work *w, size_t from, size_t to);
void book_work_changed(struct book_work *w, enum book_change what);
/* Where the token ends in the source. */
size_t book_work_end(const struct book_work *w, size_t token);
/* Where the line that a token stands on begins. */
size_t book_work_line_start(const struct book_work *w, size_t token);
/* The name at `i` means the entry class. */
bool book_work_is_entry(const struct book_work *w, size_t i);
/* A placeholder size: the number 4. */
bool book_work_is_size(const struct book_work *w, size_t i);

#endif
