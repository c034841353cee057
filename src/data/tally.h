/* tally.h: what was counted: files, bytes, characters and tokens, by the extension
 * of the file's name, or by the sources of a language's documents. */
#ifndef DATA_TALLY_H
#define DATA_TALLY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/tokenizer.h"

#include <stddef.h>

struct tally {
    char *name; /* ".py", or "(none)" */
    size_t files, bytes, characters, tokens;
};

struct tallies {
    struct tally *item; /* in the order they came up */
    size_t len, cap;
    struct tally total; /* without a name */
};

/* One text: its size, and its tokens. */
struct tally tally_text(struct tokenizer *t, struct str text,
                        struct token_ids *ids);

/* Adds a text under the extension of `path`. */
void tallies_add(struct tallies *t, const char *path, const struct tally *what);
void tallies_sort(struct tallies *t); /* most tokens first, then by name */
void tallies_release(struct tallies *t);

/* ---- documents: those that the `sources.json` of a pack names, fetched into a folder
 * by the user ---- */

struct document_source {
    const char *repo, *commit;
    struct tally sum;
    const char **missing; /* paths that are not in the folder */
    size_t missing_len, missing_cap;
};

struct documents {
    struct document_source *item; /* in the order of the file */
    size_t len;
    struct tally total;
    size_t missing;
    struct arena memory;
};

/* The documents of https://host/OWNER/NAME are in ROOT/OWNER/NAME or in ROOT/NAME; a
 * path is a file, or a folder with all below it. A path that two sources name
 * counts once for each. Release in any case. */
int documents_count(struct documents *d, const char *sources, const char *root,
                    struct tokenizer *t, struct err *e);
void documents_release(struct documents *d);

#endif
