/* sources.h: the documents that a guide is made from: a folder of text files,
 * read once. Its path inside the folder identifies a document; places in it are
 * lines, counted from 1. */
#ifndef PROMPT_SOURCES_H
#define PROMPT_SOURCES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct heading {
    size_t line;
    int level; /* 1: the highest */
    struct str text;
};

struct source {
    const char *name;
    struct str text;
    size_t
        *line_at; /* where line i + 1 begins; one more than there are lines */
    size_t lines;
    struct heading *heading;
    size_t headings, heading_cap;
};

struct sources {
    struct source *item; /* by name */
    size_t len, cap;
    size_t bytes;
    struct arena memory;
};

/* Whole lines of one document. */
struct span {
    size_t source, from, to;
};

/* Reads the folder and those below it. Hidden files, and files that are not
 * text, are passed over. Release in any case. A folder without a document, or
 * with more than 64 MiB of them, is ERR_INPUT. */
int sources_read(struct sources *s, const char *dir, struct err *e);
void sources_release(struct sources *s);

/* NULL: there is none of that name. */
const struct source *sources_find(const struct sources *s, const char *name);
struct str sources_text(const struct sources *s, struct span x);
/* All of a document. */
struct span sources_whole(const struct sources *s, size_t source);
/* Names, sizes and headings, in at most about `tokens` tokens: the deepest
 * headings are left out first. `only` NULL: of all documents. */
void sources_manifest(const struct sources *s, const struct span *only,
                      int64_t tokens, struct buf *out);

#endif
