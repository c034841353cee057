/* book_manifest.h: what became of every row: a file of JSON Lines in the order of the
 * input. A line is appended in one write after the files of its task, so that
 * the manifest is right whenever the program stops. An import that is started
 * again reads it and continues after its last line. */
#ifndef DATA_BOOK_MANIFEST_H
#define DATA_BOOK_MANIFEST_H

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "data/book_reason.h"

#include <stddef.h>
#include <stdint.h>

#define BOOK_MANIFEST "manifest.jsonl"
#define BOOK_SETTINGS "import.json"

struct book_manifest {
    char *path;
    int fd;
    size_t rows;    /* lines */
    uint64_t *code; /* of each row, the start of its code's SHA-256 */
    size_t cap;
    struct map programs; /* hash: row number as a pointer */
    size_t count[BOOK_REASONS];
};

/* Opens that of the folder `dir`, or begins it. `settings` (borrowed) are stored
 * next to it; an error when an earlier import had others. A last line that is
 * cut short is removed. */
int book_manifest_open(struct book_manifest *m, const char *dir,
                       json_t *settings, struct err *e);
void book_manifest_close(struct book_manifest *m); /* also after a failure */

/* What identifies a row's code. */
uint64_t book_manifest_code(struct str code);
/* The row that has this program, or 0 after noting that `row` has it. */
size_t book_manifest_twin(struct book_manifest *m, const char hash[HASH_HEX],
                          size_t row);
/* Appends the line of the next row, an object with "row", "code" and "reason". */
int book_manifest_add(struct book_manifest *m, json_t *line, struct err *e);

#endif
