/* find.h: chooses the examples for a task: the most similar entries of the
 * archive, a random choice, or the set that covers its operators best. Never
 * chooses the task itself or a twin (the same normalised source), and only one
 * of several entries that are twins.
 *
 * Results are exact and repeatable: ties go to the entry that joined first. */
#ifndef SEARCH_FIND_H
#define SEARCH_FIND_H

#include "base/rng.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIND_NO_COSINE (-2.0)

struct find; /* the index: entries in the order they joined */

struct find_entry {
    int64_t entry;          /* the archive's key, returned in hits */
    const char *task;       /* the id of the task it solves, or a seed's name */
    const char *task_hash;  /* normalised */
    const float *vector;    /* of its task: `dim` floats */
    const char *const *ops; /* operators of its task; NULL-terminated; case
                               and underscores do not matter */
};

struct find *find_new(size_t dim);
void find_free(struct find *f);
/* Copies everything. A vector that is zero or not finite ranks last. */
void find_add(struct find *f, const struct find_entry *m);
/* Never chooses the entry again, not even from older snapshots. */
void find_remove(struct find *f, int64_t entry);
/* The number of entries that joined, including removed ones: the size of a
 * snapshot. */
size_t find_count(const struct find *f);

enum find_mode { FIND_SIMILAR, FIND_RANDOM, FIND_COVERAGE };

struct find_query {
    enum find_mode mode;
    const char *task, *task_hash; /* never chosen */
    const float *vector;
    const char *const *ops; /* of the task; for FIND_COVERAGE */
    struct rng *rng;        /* for FIND_RANDOM */
    size_t visible;         /* the size of the snapshot to choose from */
};

struct find_hit {
    int64_t entry;
    double
        cosine; /* rounded to 6 decimal places; FIND_NO_COSINE: not compared */
};

/* A name without case and underscores: LayerNorm, layer_norm and layernorm are equal.
 * ASCII only, in every locale. Writes at most `max` bytes, without a NUL; returns how
 * many. */
size_t find_fold(char *out, size_t max, struct str name);

/* Fills in at most `k` hits, best first, and returns how many. */
size_t find_pick(const struct find *f, const struct find_query *q,
                 struct find_hit *hit, size_t k);

/* ---- comparing unit vectors ----
 *
 * Cosines are whole millionths, so that ties are
 * the same on every machine.
 *
 * Vectors are stored in panels of TOPK_PANEL, dimension by dimension. A query
 * visits only the dimensions where it is nonzero, for all vectors of a panel at
 * once. */

#define TOPK_PANEL 32
#define TOPK_NEVER INT32_MIN /* the cosine of a vector without a direction */

/* Scales a vector to unit length. Returns false, and writes all zeros, if it
 * has no direction (it is zero or not finite). */
bool topk_unit(float *out, const float *v, size_t dim);
/* Stores a unit vector as number `n`. `panels` consists of whole panels of dim
 * * TOPK_PANEL floats each, with room for at least n + 1 vectors. */
void topk_put(float *panels, size_t n, const float *unit, size_t dim);
/* Computes the cosines, in millionths, of a unit vector with the first `n`
 * vectors in the panels. `place` has room for `dim` indices. The order of the
 * additions is the same on every machine. */
void topk_cosines(const float *unit, const float *panels, size_t n, size_t dim,
                  uint32_t *place, int32_t *out);

#endif
