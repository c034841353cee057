/* ngram.h: does a text share 13 tokens in a row with a set of texts? Tokens are
 * Qwen's, Python's (names, numbers, strings and operators; without comments and
 * layout), or words (letters, digits and "_" in a row, in lower case).
 *
 * A set never changes once made, so threads share it; each has a scratch of its
 * own. A hit of the hash is compared token by token, so the answers are exact. */
#ifndef DATA_NGRAM_H
#define DATA_NGRAM_H

#include "base/buf.h"
#include "base/str.h"
#include "data/vocab.h"

#include <stdbool.h>
#include <stddef.h>

#define NGRAM_TOKENS 13

struct ngrams;
struct ngram_scratch;

struct ngram_how {
    const char *tokens;        /* "qwen", "python" or "words" */
    const struct vocab *vocab; /* of "qwen"; borrowed */
    /* An n-gram that two texts of the set have says nothing about either: do not
     * count it. */
    bool only_unique;
};

struct ngram_match {
    size_t index; /* of the first text of the set that has it */
    size_t at;    /* of its first token in the text */
    size_t from;  /* the same in the text of the set */
};

struct ngrams *ngrams_new(const struct ngram_how *how, const struct str *text,
                          size_t n);
void ngrams_free(struct ngrams *g);
size_t ngrams_size(const struct ngrams *g); /* different ones */
struct ngram_scratch *ngram_scratch_new(const struct ngrams *g);
void ngram_scratch_free(struct ngram_scratch *s);

/* The first n-gram of the text that the set has. */
bool ngrams_find(const struct ngrams *g, struct ngram_scratch *s,
                 struct str text, struct ngram_match *out);
/* Appends the tokens of a match as text. */
void ngrams_put(const struct ngrams *g, const struct ngram_match *m,
                struct buf *out);

#endif
