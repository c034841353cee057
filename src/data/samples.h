/* samples.h: the tasks of runs that data can be made of: solved (their kernel
 * may join an archive), each program once, and no program of a benchmark.
 * Neither the task nor the examples in its prompts may overlap with the
 * benchmark; only the pack's seeds are not compared. */
#ifndef DATA_SAMPLES_H
#define DATA_SAMPLES_H

#include "base/err.h"
#include "base/hash.h"
#include "data/overlap.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples_how {
    const char *const *run; /* folders */
    size_t runs;
    const struct overlap *against;
    bool drop_overlap; /* leave tasks with an overlap out; else an error */
    int64_t seed;
    int64_t test_percent;
};

struct sample {
    struct store *store; /* of the run in this folder */
    const char *dir;
    const json_t *row; /* of the task and its kernel: see run/kernels.sql */
    char hash[HASH_HEX]; /* the same for programs that differ only in names of
                            variables, comments, docstrings and layout */
    bool test;           /* by hash and seed alone */
    uint64_t rank;       /* by hash and seed alone: a random order */
};

struct samples_counts {
    size_t tasks, unsolved, retired, duplicates, overlaps;
    size_t pieces; /* solved ones of a curriculum, which are no samples */
};

struct samples {
    struct samples_run {
        struct store *store;
        json_t *rows;
    } *run;
    size_t runs;
    struct sample *item; /* in the order of the runs and of their tasks */
    size_t len, cap;
    struct samples_counts count;
};

/* With an overlap, ERR_INPUT names the first task and what it has in common
 * with the benchmark; each is logged. Close in any case. */
int samples_open(struct samples *s, const struct samples_how *how,
                 struct err *e);
void samples_close(struct samples *s);

#endif
