/* book_manifest.h: what became of every row of KernelBook: a file of JSON Lines in the order of the
 * input. A line is appended in one write after the files of its task, so that
 * the manifest is right whenever the program stops. An import that is started
 * again reads it and continues after its last line.
 *
 * Rows that could not be checked are tried again. Until such an import ends, their
 * new lines are behind the others; of two lines of a row the later counts. */
#ifndef DATA_BOOK_MANIFEST_H
#define DATA_BOOK_MANIFEST_H

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOK_MANIFEST "manifest.jsonl"
#define BOOK_SETTINGS "import.json"

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
/* The reason with this code, or BOOK_REASONS. */
enum book_reason book_reason_of(const char *code);

struct book_manifest {
    char *path;
    int fd;
    size_t rows;           /* lines */
    uint64_t *code;        /* of each row, the start of its code's SHA-256 */
    unsigned char *reason; /* of each row, an enum book_reason */
    size_t cap, reason_cap;
    bool replaced;       /* a row has two lines */
    struct map programs; /* hash: row number as a pointer */
    size_t count[BOOK_REASONS];
};

/* Opens that of the folder `dir`, or begins it. `settings` (borrowed) are stored
 * next to it; an error when an earlier import had others. A last line that is
 * cut short is removed. */
int book_manifest_open(struct book_manifest *m, const char *dir,
                       json_t *settings, struct err *e);
void book_manifest_close(struct book_manifest *m); /* also after a failure */

/* Whether the manifest has this row with another code; `line` is its beginning. */
bool book_manifest_differs(const struct book_manifest *m, const json_t *line);
/* Whether this row is there, but is to be tried again. */
bool book_manifest_is_open(const struct book_manifest *m, size_t row);
/* The other row that has this program, or 0 after noting that `row` has it. */
size_t book_manifest_twin(struct book_manifest *m, const char hash[HASH_HEX],
                          size_t row);
/* Appends the line of the next row, or of one that was tried again: an object
 * with "row", "code" and "reason". */
int book_manifest_add(struct book_manifest *m, json_t *line, struct err *e);
/* Leaves one line for each row, in their order, if some have two. */
int book_manifest_tidy(struct book_manifest *m, struct err *e);

#endif
