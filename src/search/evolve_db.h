/* evolve_db.h: the population of one task under OpenEvolve's rules: islands, a
 * grid of code length by diversity on each, an archive of the best, migration.
 * "Archive" is OpenEvolve's word here: it holds programs of this one task,
 * right or wrong, and has nothing to do with archive.h.
 *
 * Pure: no clock, no files. All random numbers come from a generator that the
 * caller seeds for each attempt, so the same attempts give the same lineage.
 *
 * A program is identified by the number of its attempt; 0 is the initial
 * program. Texts other than code (feedback, verdicts) stay with the caller. An
 * attempt without code is not added. When two programs have the same fitness,
 * the earlier one stays best and keeps its place in the grid and in the
 * archive; a list by fitness has the later one first, so that prompts do not
 * always show the same. */
#ifndef SEARCH_EVOLVE_DB_H
#define SEARCH_EVOLVE_DB_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers of programs to show may be 0, other counts may not; ratios are
 * from 0 to 1. The caller checks what a user chose. */
struct evolve_opts {
    size_t islands;         /* 1 in the paper, 5 in OpenEvolve */
    double initial_fitness; /* of the initial program */
    /* Besides the parent, at most history_k programs are shown: the num_top
     * best of its island, then the num_diverse next best in random order, then
     * `inspirations` of the attempt's island: its best, neighbours of the
     * parent in the grid, any. No code is shown twice. */
    size_t history_k, num_top, num_diverse, inspirations;
    double elite_ratio; /* share of the inspirations that are the best */
    /* The probabilities that the parent is drawn uniformly from the island, or
     * uniformly from the island's programs in the archive. Otherwise it is
     * drawn from the island by fitness. */
    double exploration, exploitation;
    size_t population, archive; /* limits */
    size_t bins;                /* of the grid, each way */
    size_t references; /* programs that diversity is measured against */
    uint64_t migration_interval; /* generations of the fastest island */
    double migration_rate;
};
/* The paper's setting, the default: one island, three others by fitness. */
extern const struct evolve_opts evolve_opts_paper;

#define EVOLVE_OTHERS_MAX 16 /* the most that history_k may be */

struct evolve_pick {
    int64_t parent;
    int64_t other[EVOLVE_OTHERS_MAX]; /* in the order to show them */
    size_t others;
};

/* The properties of a code's text that diversity is computed from. */
struct evolve_traits {
    size_t chars, lines;
    uint32_t *set; /* its characters, sorted, each once */
    size_t set_len;
};

struct evolve_range {
    double min, max;
    bool any;
};

struct evolve_cell {
    size_t at[2]; /* complexity, diversity */
};

struct evolve_program {
    int64_t attempt;
    char *code;
    struct evolve_traits traits;
    double fitness;
    size_t island;
    double diversity; /* as of the first program with this code */
    bool measured;    /* diversity is known */
    bool migrant;
    bool alive, seated;      /* in its island; in the archive */
    bool owner;              /* of `cell` on its island */
    struct evolve_cell cell; /* as it was on joining; never updated */
};

/* Its members are for reading. */
struct evolve_db {
    struct evolve_opts o;
    /* In the order they joined. Programs that left stay in the list, since
     * `reference` may name them. */
    struct evolve_program *p;
    size_t len, cap;
    size_t alive, seated;
    size_t best;          /* index of the best program so far */
    uint64_t *generation; /* by island */
    uint64_t migrated_at;
    size_t *reference; /* indices; some may have left */
    size_t references;
    struct evolve_range complexity, diversity;
};

struct evolve_db *evolve_db_new(const struct evolve_opts *o,
                                const char *initial_code);
void evolve_db_free(struct evolve_db *db);

/* The island that an attempt belongs to: (attempt - 1) mod islands. */
size_t evolve_db_island(const struct evolve_db *db, int64_t attempt);
/* Adds a judged attempt to an island. That is one generation of the island;
 * programs migrate when migration_interval is reached. The code is copied. */
void evolve_db_add(struct evolve_db *db, size_t island, int64_t attempt,
                   const char *code, double fitness, struct rng *rng);
/* Chooses the parent of the island's next attempt, and what to show besides. If
 * the island is still empty, the parent comes from the first island, from the
 * archive, or from any island. */
void evolve_db_sample(const struct evolve_db *db, size_t island,
                      struct rng *rng, struct evolve_pick *out);

struct evolve_island {
    size_t programs, cells; /* now */
    uint64_t generations;   /* attempts added */
};
struct evolve_island evolve_db_look(const struct evolve_db *db, size_t island);
/* How much two codes differ: what diversity is the mean of. */
double evolve_distance(const char *a, const char *b);

#endif
