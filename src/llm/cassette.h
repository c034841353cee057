/* cassette.h: recorded answers: JSON Lines, compressed with zstd when the name
 * ends in ".zst". The first line is a header; every other line is an answer
 * with its key and the hash of its prompt (docs/MODELS.md). A recording that
 * was cut short loses at most its last answer. */
#ifndef LLM_CASSETTE_H
#define LLM_CASSETTE_H

#include "base/err.h"
#include "base/hash.h"
#include "llm/llm.h"

#include <stddef.h>

struct cassette; /* for looking up answers */

/* An error names the file and the line. */
struct cassette *cassette_open(const char *path, struct err *e);
/* The same from memory, uncompressed. `name` is for errors. */
struct cassette *cassette_parse(const char *name, const char *text, size_t n,
                                struct err *e);
void cassette_close(struct cassette *c);

struct cassette_item {
    const char *prompt; /* hash of the prompt */
    const struct send_result *result;
};
/* The last answer recorded for this key; false when there is none. Borrowed. */
bool cassette_find(const struct cassette *c, const struct llm_key *k,
                   struct cassette_item *out);

/* The secret of the run that was recorded: test inputs are made from it. 1 when
 * the first line of the cassette at `path` has one, 0 when not. */
int cassette_secret(const char *path, char secret[HASH_HEX], struct err *e);

struct cassette_writer;
/* Appends to an existing cassette: an incomplete last line is cut off, and another
 * secret is reported. The header of a new one contains the model and the secret
 * (NULL: none). */
struct cassette_writer *cassette_writer_open(const char *path,
                                             const char *model,
                                             const char *secret, struct err *e);
int cassette_write(struct cassette_writer *w, const struct llm_request *r,
                   const struct send_result *s, struct err *e);
void cassette_writer_close(struct cassette_writer *w); /* may be NULL */

#endif
