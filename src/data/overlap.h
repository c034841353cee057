/* overlap.h: is a text contaminated by a benchmark? Two tests: nearly the same as
 * one of its files (fuzzy.h), or 13 tokens in a row of one (ngram.h). A text is
 * judged by itself, so the answer does not depend on other texts or their order. */
#ifndef DATA_OVERLAP_H
#define DATA_OVERLAP_H

#include "base/err.h"
#include "data/fuzzy.h"
#include "data/ngram.h"

#include <stdbool.h>
#include <stddef.h>

struct overlap;
struct overlap_scratch;

struct overlap_how {
    bool fuzzy, ngram;
    struct ngram_how grams;
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
void overlap_free(struct overlap *o);
size_t overlap_files(const struct overlap *o);
/* The path of the i-th file, borrowed; files are in the order of their paths. */
const char *overlap_path(const struct overlap *o, size_t i);
const struct ngrams *overlap_ngrams(const struct overlap *o);

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
