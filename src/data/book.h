/* book.h: makes tasks of KernelBook's rows: has them read and converted by
 * worker/importer.py, drops duplicates, has the rest checked by the verifier, and
 * writes tasks and manifest.
 *
 * The manifest says what became of every row: a file of JSON Lines in the order of
 * the input. A line is appended in one write after the files of its task, so that
 * the manifest is right whenever the program stops. An import that is started
 * again reads it and continues after its last line.
 *
 * Rows that could not be checked are tried again. Until such an import ends, their
 * new lines are behind the others; of two lines of a row the later counts. */
#ifndef DATA_BOOK_H
#define DATA_BOOK_H

#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "verify/verifying.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a row becomes no task: one table of codes. Manifest, help and documents use
 * it. */
enum book_reason {
    BOOK_KEPT,
    BOOK_FIELDS,
    BOOK_SYNTAX,
    BOOK_ENTRY,
    BOOK_COLLISION,
    BOOK_IMPORT,
    BOOK_ARGUMENTS,
    BOOK_RANDOM,
    BOOK_OUTPUT,
    BOOK_DUPLICATE,
    BOOK_UNUSABLE,
    BOOK_UNCHECKED,
};
#define BOOK_REASONS 12

struct book_reason_row {
    const char *code;
    const char *meaning;
};
extern const struct book_reason_row book_reasons[BOOK_REASONS];
struct book_row {
    uint64_t code; /* the start of its code's SHA-256 */
    size_t at;     /* where its line begins */
    enum book_reason reason;
};

/* A folder of tasks, with its manifest. */
struct book {
    const char *dir; /* borrowed */
    char *path;      /* of the manifest */
    int fd;
    size_t size; /* bytes */
    struct book_row *row;
    size_t rows, cap;
    bool replaced;       /* a row has two lines */
    struct map programs; /* hash: row number as a pointer */
    size_t count[BOOK_REASONS];
};

/* Opens a folder, or begins it. `settings` (borrowed) are stored in it; an error when
 * an earlier import had others. Close it also after a failure. */
int book_open(struct book *b, const char *dir, json_t *settings, struct err *e);
void book_close(struct book *b);

/* All borrowed. */
struct book_how {
    const struct home *home;
    const char *in;
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
 * first of them on are not in the manifest yet. On an error too, the manifest has
 * every row before it. */
int book_import(struct book *b, const struct book_how *how, struct err *e);

#endif
