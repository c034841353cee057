/* tally.h: what was counted: files, bytes, characters and tokens, by the extension
 * of the file's name. */
#ifndef DATA_TALLY_H
#define DATA_TALLY_H

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
void tally_add(struct tally *to, const struct tally *what);

/* Adds a text under the extension of `path`. */
void tallies_add(struct tallies *t, const char *path, const struct tally *what);
void tallies_sort(struct tallies *t); /* most tokens first, then by name */
void tallies_release(struct tallies *t);

#endif
