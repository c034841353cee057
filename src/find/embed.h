/* embed.h: the built-in embedding: identifiers, torch operators and pairs of
 * neighbours, hashed into a fixed number of places and weighted by how rare
 * they are among the texts it was taught. No model, no network; the same texts
 * give the same vectors on every machine. */
#ifndef FIND_EMBED_H
#define FIND_EMBED_H

#include "base/str.h"

#include <stddef.h>

#define EMBED_DIM    1024
#define EMBED_SOURCE "hash/1"

struct embed;
struct embed *embed_new(void);
void embed_free(struct embed *m);
/* Teaches it what is rare; the order does not matter. All texts are taught
 * before the first vector is made. */
void embed_learn(struct embed *m, struct str python);
/* Unit length; all zeros for a text without a word. */
void embed_vector(const struct embed *m, struct str python,
                  float out[EMBED_DIM]);

#endif
