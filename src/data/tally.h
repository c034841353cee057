/* tally.h: what was counted: files, bytes, characters and tokens, by the extension
 * of the file's name, or by the sources of a language's documents. */
#ifndef DATA_TALLY_H
#define DATA_TALLY_H

#include "base/err.h"
#include "base/json.h"
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

/* The documents of https://host/OWNER/NAME are in ROOT/OWNER/NAME or in ROOT/NAME; a
 * path is a file, or a folder with all below it. A path that two sources name
 * counts once for each. A list, with an object for each source in the order of the
 * file: {"repo", "commit", "files", "bytes", "characters", "tokens", "missing"}, of
 * which the last are paths that are not there; the caller owns it. */
json_t *documents_count(const char *sources, const char *root,
                        struct tokenizer *t, struct err *e);

#endif
