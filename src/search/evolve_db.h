/* evolve_db.h: the population of one task under OpenEvolve's rules: islands, a
 * grid of code length by diversity on each, an archive of the best, migration.
 * Pure: no clock, no files; all chance comes from streams the caller names per
 * attempt, so the same attempts give the same lineage.
 *
 * A program is known by its attempt's number, 0 being the initial program;
 * texts other than code (feedback, verdicts) stay with the caller. An attempt
 * that gave no code is not added. Of equal fitness, the first to come keeps its
 * seat as best, in the grid and in the archive; a list by fitness has the later
 * program first, so that what is shown moves on. */
#ifndef SEARCH_EVOLVE_DB_H
#define SEARCH_EVOLVE_DB_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

/* Counts are above 0 but for what is shown, ratios within [0, 1]; whoever lets
 * a user choose them checks that. */
struct evolve_opts {
    size_t islands; /* 1, as the version of the paper had in effect, or 5 */
    double initial_fitness; /* of the initial program, which is not counted */
    /* Besides the parent, at most history_k programs are shown: the num_top
     * best of its island, then num_diverse drawn from as many next best ones,
     * then `inspirations` of the island: its elite, neighbours in the grid,
     * any. None of them twice, none with the parent's code. */
    size_t history_k, num_top, num_diverse, inspirations;
    double elite_ratio; /* this part of the inspirations comes from the top */
    /* How a parent is drawn: uniformly from the island, uniformly from the
     * island's part of the archive, else by fitness. */
    double exploration, exploitation;
    size_t population, archive; /* limits */
    size_t bins;                /* of the grid, each way */
    size_t references; /* programs that diversity is measured against */
    uint64_t migration_interval; /* generations of the fastest island */
    double migration_rate;
};
/* The paper's setting, the default: one island, three others by fitness. */
extern const struct evolve_opts evolve_opts_paper;

#define EVOLVE_OTHERS_MAX 16 /* history_k at most */

struct evolve_pick {
    int64_t parent;
    int64_t other[EVOLVE_OTHERS_MAX]; /* as they are to be shown */
    size_t others;
};

struct evolve_db;
struct evolve_db *evolve_db_new(const struct evolve_opts *o,
                                const char *initial_code);
void evolve_db_free(struct evolve_db *db);

/* The island whose turn an attempt is: (attempt - 1) mod islands. */
size_t evolve_db_island(const struct evolve_db *db, int64_t attempt);
/* Adds a verified attempt to an island, whose generation it ends; programs
 * migrate when that is due. The code is copied. */
void evolve_db_add(struct evolve_db *db, size_t island, int64_t attempt,
                   const char *code, double fitness, struct rng *rng);
/* What the island's next attempt builds upon. An island that is empty as yet
 * draws from the first island, the archive or everywhere. */
void evolve_db_sample(const struct evolve_db *db, size_t island,
                      struct rng *rng, struct evolve_pick *out);

struct evolve_island {
    size_t programs, cells; /* now */
    uint64_t generations;   /* attempts added */
};
struct evolve_island evolve_db_look(const struct evolve_db *db, size_t island);

#endif
