/* overlap.h: is a text contaminated by a benchmark? Two tests, with exact answers:
 *
 * Is it nearly the same as one of its files? Similarity is that of
 * rapidfuzz.fuzz.ratio: 200 * LCS / (m + n), over code points, where LCS is the
 * length of the longest common subsequence and m, n are those of the texts. Two
 * texts match at 75 or more, which in whole numbers is 8 * LCS >= 3 * (m + n).
 *
 * Does it have 13 tokens in a row of one? Tokens are Qwen's, Python's (names,
 * numbers, strings and operators; without comments and layout), or words (letters,
 * digits and "_" in a row, in lower case).
 *
 * A text is judged by itself, so the answer does not depend on other texts or their
 * order. The set of files never changes, so threads share it. */
#ifndef DATA_OVERLAP_H
#define DATA_OVERLAP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/vocab.h"

#include <stdbool.h>
#include <stddef.h>

#define NGRAM_TOKENS 13

struct overlap;
struct overlap_scratch;

struct overlap_how {
    bool fuzzy, ngram;
    const char *tokens;        /* "qwen", "python" or "words" */
    const struct vocab *vocab; /* for "qwen"; borrowed */
    /* An n-gram that two texts of the set have says nothing about either: do not
     * count it. */
    bool only_unique;
};

/* The most similar text of the set. */
struct fuzzy_match {
    size_t index;              /* of equal ones, the first */
    size_t lcs, length, other; /* lengths of the text, and of that of the set */
};

/* The first n-gram of the text that the set has. */
struct ngram_match {
    size_t index; /* of the first text of the set that has it */
    size_t at;    /* of its first token in the text */
    size_t from;  /* the same in the text of the set */
};

struct overlap_result {
    bool fuzzy, ngram; /* neither: the text is clean */
    struct fuzzy_match near;
    struct ngram_match gram;
};

/* Reads the .py files below the folders. Without one, ERR_INPUT. */
struct overlap *overlap_load(const struct overlap_how *how,
                             const char *const *dir, size_t dirs,
                             struct err *e);
/* The same for texts in memory, which have no path. */
struct overlap *overlap_new(const struct overlap_how *how,
                            const struct str *text, size_t n);
void overlap_free(struct overlap *o);
size_t overlap_files(const struct overlap *o);
/* The path of the i-th file, borrowed; files are in the order of their paths. */
const char *overlap_path(const struct overlap *o, size_t i);
/* Appends the tokens of a match as text. */
void overlap_put_ngram(const struct overlap *o, const struct ngram_match *m,
                       struct buf *out);

/* One for each thread. */
struct overlap_scratch *overlap_scratch_new(const struct overlap *o);
void overlap_scratch_free(struct overlap_scratch *s);
void overlap_check(const struct overlap *o, struct overlap_scratch *s,
                   struct str text, struct overlap_result *out);
/* The same for `n` texts, with so many threads. */
void overlap_check_all(const struct overlap *o, int threads,
                       const struct str *text, size_t n,
                       struct overlap_result *out);

#endif
