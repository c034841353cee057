/* decontaminate.h: copies what has no overlap with a benchmark: the .py files of a
 * folder, or the rows of a JSONL file. A manifest has a line for every row: kept, or
 * what it overlaps with. The output appears as a whole, or not at all. */
#ifndef DATA_DECONTAMINATE_H
#define DATA_DECONTAMINATE_H

#include "data/overlap.h"

#include <jansson.h>

struct decontaminate {
    const struct overlap *overlap;
    const char *in, *out; /* a folder makes a folder, a file a file */
    const char *field;    /* JSONL: the member that is the text */
    int threads;
    /* Gets each line of the manifest, in the order of the input; may be NULL. The
     * object is borrowed. */
    void (*note)(const json_t *line, void *arg);
    void *arg;
};

struct decontaminate_sums {
    size_t rows, kept, fuzzy, ngram, both, duplicates;
};

/* A folder that is `out` must not exist; a file is replaced. The manifest is
 * `out`/manifest.jsonl, or `out`.manifest.jsonl beside a file. */
int decontaminate(const struct decontaminate *d,
                  struct decontaminate_sums *sums, struct err *e);

#endif
