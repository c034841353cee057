/* embed.h: the built-in embedding: identifiers, torch operators and pairs of
 * neighbours, hashed into a fixed number of dimensions and weighted by how rare
 * they are among the learned texts. No model, no network; the same texts give
 * the same vectors on every machine. */
#ifndef SEARCH_EMBED_H
#define SEARCH_EMBED_H

#include "base/str.h"

#include <stddef.h>

#define EMBED_DIM    1024
#define EMBED_SOURCE "hash/1"

struct embed;
struct embed *embed_new(void);
void embed_free(struct embed *m);
/* Learns which words are rare, in any order. Learn all texts before making the
 * first vector. */
void embed_learn(struct embed *m, struct str python);
/* Of unit length; all zeros for a text without words. */
void embed_vector(const struct embed *m, struct str python,
                  float out[EMBED_DIM]);

#endif
