/* evolve_int.h: the population's insides, private to the files behind
 * evolve_db.h. */
#ifndef SEARCH_EVOLVE_INT_H
#define SEARCH_EVOLVE_INT_H

#include "search/evolve_db.h"

#include <stdbool.h>

/* What of a code's text diversity is measured by. */
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
    struct cell cell;   /* as of its coming: cells are never counted anew */
};

struct evolve_db {
    struct evolve_opts o;
    struct program
        *p; /* in the order of coming; the dead stay for their text */
    size_t len, cap;
    size_t alive, seated;
    size_t best;
    uint64_t *generation; /* by island */
    uint64_t migrated_at;
    size_t *reference; /* programs, dead or alive */
    size_t references;
    struct range complexity, diversity;
};

/* evolve_grid.c: where a program belongs. */
void traits_init(struct traits *t, const char *code);
void traits_release(struct traits *t);
double traits_distance(const struct traits *a, const struct traits *b);
/* Measures the program at `i` and widens the grid's ranges by it. */
void evolve_measure(struct evolve_db *db, size_t i, struct rng *rng);
/* Its cell under the ranges as they are now. */
struct cell evolve_cell(const struct evolve_db *db, const struct program *p);

/* evolve_sample.c: the living programs of an island, best first, later first
 * among equals. The caller frees the list. */
size_t evolve_ranked(const struct evolve_db *db, size_t island, size_t **out);

#endif
