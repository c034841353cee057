/* book_rows.c: a file or a folder as rows. */
#include "data/book_rows.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/book_stream.h"
#include "lex/py_lex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct book_rows {
    char *path;
    FILE *in; /* NULL: a folder */
    struct book_stream stream;
    struct fs_names names; /* of the folder: its programs, by number */
    size_t number;
    uint64_t total;
    json_t *row;
};

/* "12_SumAggregator.py": the class's name, or NULL. */
static const char *class_in(const char *name)
{
    const char *at = name;

    while (isdigit((unsigned char)*at))
        at++;
    return at > name && *at == '_' && str_ends(str_of(at), ".py") &&
                   strlen(at) > 4
               ? at + 1
               : NULL;
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    unsigned long long m = strtoull(x, NULL, 10), n = strtoull(y, NULL, 10);

    return m != n ? (m < n ? -1 : 1) : strcmp(x, y);
}

static int open_folder(struct book_rows *r, struct err *e)
{
    size_t kept = 0;

    if (fs_list(r->path, false, &r->names, e) < 0)
        return -1;
    for (size_t i = 0; i < r->names.len; i++) {
        if (class_in(r->names.name[i]))
            r->names.name[kept++] = r->names.name[i];
        else
            free(r->names.name[i]);
    }
    r->names.len = kept;
    if (!kept)
        return err_set(e, ERR_INPUT,
                       "%s: no programs named NUMBER_CLASS.py in this folder",
                       r->path);
    qsort(r->names.name, kept, sizeof(*r->names.name), by_number);
    r->total = kept;
    return 0;
}

static int open_file(struct book_rows *r, struct err *e)
{
    struct stat st;

    if (str_ends(str_of(r->path), ".parquet"))
        return err_set(e, ERR_INPUT,
                       "%s: convert Parquet first: python3 "
                       "recipes/parquet_to_jsonl.py FILE.parquet FILE.jsonl",
                       r->path);
    r->in = fopen(r->path, "re");
    if (!r->in || fstat(fileno(r->in), &st) < 0)
        return err_sys(e, "%s", r->path);
    r->total = (uint64_t)st.st_size;
    book_stream_init(&r->stream, r->in, r->path);
    return 0;
}

struct book_rows *book_rows_open(const char *path, struct err *e)
{
    struct book_rows *r = xcalloc(1, sizeof(*r));

    r->path = xstrdup(path);
    if ((fs_is_dir(path) ? open_folder(r, e) : open_file(r, e)) == 0)
        return r;
    book_rows_close(r);
    return NULL;
}

void book_rows_close(struct book_rows *r)
{
    if (!r)
        return;
    json_decref(r->row);
    if (r->in) {
        book_stream_release(&r->stream);
        fclose(r->in);
    }
    fs_names_release(&r->names);
    free(r->path);
    free(r);
}

/* A program that is too large or no text is a row without code. */
static json_t *read_program(struct book_rows *r, const char *name)
{
    const char *class = class_in(name);
    char *path = fs_join(r->path, name);
    json_t *row = json_pack("{s:s, s:s%}", "file", name, "entry_point", class,
                            strlen(class) - 3);
    struct err e = ERR_INIT;
    struct buf text;

    buf_init(&text, PY_MAX_BYTES);
    if (fs_read(path, &text, &e) == 0)
        json_object_set_new(row, "python_code",
                            json_stringn(buf_str(&text), text.len));
    buf_release(&text);
    free(path);
    return row ? row : json_object();
}

int book_rows_next(struct book_rows *r, struct book_row *row, struct err *e)
{
    struct err one = ERR_INIT;

    json_decref(r->row);
    r->row = NULL;
    if (r->in)
        r->row = book_stream_next(&r->stream, &one);
    else if (r->number < r->names.len)
        r->row = read_program(r, r->names.name[r->number]);
    if (one.kind != ERR_NONE) {
        *e = one;
        return -1;
    }
    if (!r->row)
        return 0;
    *row = (struct book_row){.fields = r->row};
    if (!r->in)
        row->file = r->names.name[r->number];
    row->number = ++r->number;
    return 1;
}

uint64_t book_rows_done(const struct book_rows *r)
{
    return r->in ? r->stream.bytes : r->number;
}

uint64_t book_rows_total(const struct book_rows *r)
{
    return r->total;
}
