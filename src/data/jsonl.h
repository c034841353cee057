/* jsonl.h: a file of JSON Lines that is being written, compressed with zstd or
 * not, with its size and hash. */
#ifndef DATA_JSONL_H
#define DATA_JSONL_H

#include "base/err.h"
#include "base/hash.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jsonl;

struct jsonl_sums {
    size_t lines;
    uint64_t bytes;      /* of the file */
    char hash[HASH_HEX]; /* SHA-256 of the file */
};

/* NULL: the file cannot be created. */
struct jsonl *jsonl_open(const char *path, bool zstd, struct err *e);
/* A line as it is, without its end. */
int jsonl_put(struct jsonl *j, struct str line, struct err *e);
/* Takes the reference. */
int jsonl_add(struct jsonl *j, json_t *line, struct err *e);
/* Closes the file; releases `j` in any case. */
int jsonl_end(struct jsonl *j, struct jsonl_sums *out, struct err *e);
void jsonl_drop(struct jsonl *j); /* may be NULL */

#endif
