/* cassette.h: recorded answers: JSON Lines, or the same compressed with zstd
 * when the name ends in ".zst". The first line says what it is, every other is
 * an answer with the key of who asked and the hash of what was asked
 * (docs/MODELS.md). Every line is whole on its own: a recording that was cut
 * short loses its last answer at most. */
#ifndef LLM_CASSETTE_H
#define LLM_CASSETTE_H

#include "base/err.h"
#include "base/hash.h"
#include "llm/doc.h"
#include "llm/llm.h"

#include <stddef.h>

struct cassette; /* read, to look answers up */

/* An error names the file and the line. */
struct cassette *cassette_open(const char *path, struct err *e);
/* The same from memory. `name` is only for errors; ".zst" is not looked at. */
struct cassette *cassette_parse(const char *name, const char *text, size_t n,
                                struct err *e);
void cassette_close(struct cassette *c);

struct cassette_item {
    const char *prompt; /* hash of what was asked */
    const struct send_result *result;
};
/* The last answer recorded for this key; false when there is none. Borrowed. */
bool cassette_find(const struct cassette *c, const struct llm_key *k,
                   struct cassette_item *out);

/* The secret of the run that was recorded: test inputs are made from it. 1 when
 * the first line of the cassette at `path` has one, 0 when not. */
int cassette_secret(const char *path, char secret[HASH_HEX], struct err *e);

struct cassette_writer;
/* Appends to a cassette that is there; an unfinished last line of it is cut off,
 * and one that has another secret is warned of. A new one gets the model and the
 * secret (NULL: none) in its first line. */
struct cassette_writer *cassette_writer_open(const char *path,
                                             const char *model,
                                             const char *secret, struct err *e);
int cassette_write(struct cassette_writer *w, const struct llm_request *r,
                   const struct send_result *s, struct err *e);
void cassette_writer_close(struct cassette_writer *w); /* may be NULL */

#endif
