/* find.h: which examples a task is shown: the members of the archive nearest to
 * it in meaning, a random choice, or the set that covers its operators best.
 * Never the task itself, nor a twin (the same normalised source); of members
 * that are twins of each other only one.
 *
 * Everything is exact and repeats: equal figures are decided by the order in
 * which members joined. */
#ifndef FIND_FIND_H
#define FIND_FIND_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIND_NO_COSINE (-2.0)

struct find; /* the index: members in the order they joined */

struct find_member {
    int64_t entry;          /* the archive's key, handed back */
    const char *task;       /* the id of the task it solves, or a seed's name */
    const char *task_hash;  /* normalised */
    const float *vector;    /* of its problem: `dim` floats */
    const char *const *ops; /* operators its solution shows; NULL-ended; case
                               and underscores are no difference */
};

struct find *find_new(size_t dim);
void find_free(struct find *f);
/* Copies everything. A vector of length zero, or one that is not finite, is
 * never near: it comes after all others. */
void find_add(struct find *f, const struct find_member *m);
/* It is shown no more, not even under an older snapshot. */
void find_remove(struct find *f, int64_t entry);
/* How many have joined, removed ones too: the size of a snapshot taken now. */
size_t find_count(const struct find *f);

enum find_mode { FIND_SIMILAR, FIND_RANDOM, FIND_COVERAGE };

struct find_query {
    enum find_mode mode;
    const char *task, *task_hash; /* whom not to show */
    const float *vector;
    const char *const *ops; /* of the task; for FIND_COVERAGE */
    struct rng *rng;        /* for FIND_RANDOM */
    size_t visible; /* only the first so many members; a snapshot's size */
};

struct find_hit {
    int64_t entry;
    double cosine; /* rounded to 6 digits; FIND_NO_COSINE: not compared */
};

/* Fills at most `k` hits, best first; returns how many there are. */
size_t find_pick(const struct find *f, const struct find_query *q,
                 struct find_hit *hit, size_t k);

#endif
