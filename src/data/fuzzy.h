/* fuzzy.h: is a text nearly the same as one of a set? Similarity is that of
 * rapidfuzz.fuzz.ratio: 200 * LCS / (m + n), over code points, where LCS is the
 * length of the longest common subsequence and m, n are those of the texts. Two
 * texts match at 75 or more, which in whole numbers is 8 * LCS >= 3 * (m + n).
 *
 * A set never changes once it is complete, so threads share it; each has a scratch
 * of its own. What is left out by bounds could not have matched: the answers are
 * exact. */
#ifndef DATA_FUZZY_H
#define DATA_FUZZY_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzzy;
struct fuzzy_scratch;

/* The most similar text of the set. */
struct fuzzy_match {
    size_t index; /* in the order they were added; of equal ones, the first */
    size_t lcs, length, other; /* lengths of the text, and of that of the set */
};

/* A set of `n` texts, which are copied. */
struct fuzzy *fuzzy_new(const struct str *text, size_t n);
void fuzzy_free(struct fuzzy *f);
struct fuzzy_scratch *fuzzy_scratch_new(const struct fuzzy *f);
void fuzzy_scratch_free(struct fuzzy_scratch *s);

bool fuzzy_find(const struct fuzzy *f, struct fuzzy_scratch *s, struct str text,
                struct fuzzy_match *out);

#endif
