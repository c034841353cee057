/* evolve_int.h: the population's insides, private to the files behind
 * evolve_db.h. */
#ifndef SEARCH_EVOLVE_INT_H
#define SEARCH_EVOLVE_INT_H

#include "search/evolve_db.h"

#include <stdbool.h>

/* The properties of a code's text that diversity is computed from. */
struct traits {
    size_t chars, lines;
    uint32_t *set; /* its characters, sorted, each once */
    size_t set_len;
};

struct range {
    double min, max;
    bool any;
};

struct cell {
    size_t at[2]; /* complexity, diversity */
};

struct program {
    int64_t attempt;
    char *code;
    struct traits traits;
    double fitness;
    size_t island;
    double diversity; /* as of the first program with this code */
    bool measured;    /* diversity is known */
    bool migrant;
    bool alive, seated; /* in its island; in the archive */
    bool owner;         /* of `cell` on its island */
    struct cell cell;   /* as it was on joining; never updated */
};

struct evolve_db {
    struct evolve_opts o;
    /* In the order they joined. Programs that left stay in the list, since
     * `reference` may name them. */
    struct program *p;
    size_t len, cap;
    size_t alive, seated;
    size_t best;          /* index of the best program so far */
    uint64_t *generation; /* by island */
    uint64_t migrated_at;
    size_t *reference; /* indices; some may have left */
    size_t references;
    struct range complexity, diversity;
};

/* evolve_grid.c: where a program belongs. */
void traits_init(struct traits *t, const char *code);
void traits_release(struct traits *t);
double traits_distance(const struct traits *a, const struct traits *b);
/* Measures the program at `i` and widens the grid's ranges to include it. */
void evolve_measure(struct evolve_db *db, size_t i, struct rng *rng);
/* Its cell under the ranges as they are now. */
struct cell evolve_cell(const struct evolve_db *db, const struct program *p);

/* evolve_sample.c: the living programs of an island, best first, later first
 * among equals. The caller frees the list. */
size_t evolve_ranked(const struct evolve_db *db, size_t island, size_t **out);

#endif
