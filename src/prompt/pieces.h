/* pieces.h: a prompt's texts as pieces, and its identity. Texts that many
 * prompts have are pieces of their own, so that each is hashed and kept once.
 * Private to src/prompt. */
#ifndef PROMPT_PIECES_H
#define PROMPT_PIECES_H

#include "prompt/prompt.h"

#define KEPT_HASHES 32

/* The hashes of texts used last: what stands between the pieces that differ is
 * the same in prompt after prompt. */
struct kept_hashes {
    struct kept_hash {
        char *text;
        size_t len;
        uint64_t used;
        char hash[HASH_HEX];
    } of[KEPT_HASHES];
    uint64_t clock;
};

void kept_hashes_release(struct kept_hashes *k);

/* A text that other prompts have, too. */
struct known_text {
    struct str text;
    const char *hash; /* NULL: not known */
};

/* Room for `most` pieces. */
void pieces_init(struct prompt *out, size_t most, struct arena *a);
/* `hash` and `k` may be NULL. An empty text is no piece. */
void pieces_add(struct prompt *out, size_t message, struct known_text text,
                struct kept_hashes *k);
/* Pieces of `text`: what stands in it of `known`, looked for in that order, and
 * what lies between: at most 2 * count + 1. */
void pieces_cut(struct prompt *out, size_t message, struct str text,
                const struct known_text *known, size_t count,
                struct kept_hashes *k);
/* With all pieces there: list and hash of the prompt. */
void pieces_list(struct prompt *out, struct arena *a);

#endif
