/* texts.h: texts out of files: each file of a folder, or each line of a JSONL
 * file. One is in memory at a time. Hidden files are skipped, and so are files
 * of a folder that are not text (they have a NUL); names come in byte order. */
#ifndef DATA_TEXTS_H
#define DATA_TEXTS_H

#include "base/err.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TEXTS_MAX_BYTES ((size_t)256 << 20) /* of a file; of a line */

struct texts;

struct texts_how {
    const char *suffix; /* of a folder only these files; NULL: all */
    bool jsonl;         /* files are JSONL */
    const char *field;  /* the member that is the text; NULL: none is */
};

/* Borrowed until the next call. */
struct text_row {
    const char *path;
    const char *name;  /* the path inside the folder; of a file, its path */
    size_t line;       /* JSONL: from 1; else 0 */
    struct str text;   /* the file; with a field, that member */
    struct str source; /* the bytes of the file or of the line */
    json_t *object;    /* JSONL */
};

/* `path` is a file, a folder or "-". NULL: it cannot be read. */
struct texts *texts_open(const char *path, const struct texts_how *how,
                         struct err *e);
/* 1: a row; 0: there are no more; -1: "FILE:LINE: …". Empty lines do not count. */
int texts_next(struct texts *r, struct text_row *out, struct err *e);
/* How many files were passed over because they are not text. */
size_t texts_skipped(const struct texts *r);
void texts_close(struct texts *r);

#endif
