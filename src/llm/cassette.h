/* cassette.h: recorded answers: JSON Lines, or the same compressed with zstd
 * when the name ends in ".zst". The first line says what it is, every other is
 * an answer with the key of who asked and the hash of what was asked
 * (docs/MODELS.md). Every line is whole on its own: a recording that was cut
 * short loses its last answer at most. */
#ifndef LLM_CASSETTE_H
#define LLM_CASSETTE_H

#include "base/err.h"
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

struct cassette_writer;
/* Goes on at the end of a cassette that is there; an unfinished last line of it
 * is cut off. A new one names the model (or NULL) in its first line. */
struct cassette_writer *cassette_writer_open(const char *path,
                                             const char *model, struct err *e);
int cassette_write(struct cassette_writer *w, const struct llm_request *r,
                   const struct send_result *s, struct err *e);
void cassette_writer_close(struct cassette_writer *w); /* may be NULL */

#endif
