/* book_import.h: makes tasks of KernelBook's rows: has them read and converted by
 * worker/importer.py, drops duplicates, has the rest checked by the verifier, and
 * writes tasks and manifest in the order of the input. */
#ifndef DATA_BOOK_IMPORT_H
#define DATA_BOOK_IMPORT_H

#include "base/err.h"
#include "base/json.h"
#include "data/book_manifest.h"
#include "verify/verifying.h"

#include <stdbool.h>
#include <stdint.h>

/* All borrowed. */
struct book_import_opts {
    const struct home *home;
    const char *in, *out;
    const char *box;             /* of the process that parses the programs */
    bool unsafe;                 /* without one, if none can be made */
    size_t limit;                /* rows to read; 0: all */
    bool scale;                  /* needs a verifier */
    struct verifying *verifying; /* NULL: convert only */
    const struct job_opts *job;
    /* After each row: its line of the manifest, NULL for one that an earlier
     * import has written; how far the input is read, of `total`. */
    void (*step)(const json_t *line, uint64_t done, uint64_t total, void *arg);
    void *arg;
};

/* Returns 0, or 1 when answers of another host are missing: the rows from the
 * first of them on are not in the manifest yet. `m` is open. On an error too,
 * the manifest has every row before it. */
int book_import(const struct book_import_opts *o, struct book_manifest *m,
                struct err *e);

#endif
