/* vocab.h: a vocabulary of byte-pair merges, loaded from the user's file: the
 * `vocab.json` or `tokenizer.json` of a Qwen model, or a `.tiktoken` file. A token
 * is a string of bytes; its id is its rank, too: of two merges that are possible
 * the one with the lower id comes first.
 *
 * Never changes once loaded, so threads share one. The file is foreign: every byte
 * must have a token, and ids run from 0 without a gap. */
#ifndef DATA_VOCAB_H
#define DATA_VOCAB_H

#include "base/err.h"
#include "base/str.h"
#include "data/unicode.h"

#include <stddef.h>
#include <stdint.h>

#define VOCAB_NONE UINT32_MAX

struct vocab;

/* NULL with the place in the file: "FILE:LINE: …". At most 16 MiB. */
struct vocab *vocab_load(const char *path, struct err *e);
/* The same for bytes in memory; `name` is only for errors. */
struct vocab *vocab_parse(const char *name, struct str text, struct err *e);
void vocab_free(struct vocab *v);

/* How many tokens there are, apart from special ones. */
size_t vocab_size(const struct vocab *v);
/* The token that is exactly these bytes, or VOCAB_NONE. */
uint32_t vocab_find(const struct vocab *v, const char *p, size_t n);
/* The bytes of a token; the text of a special one. An id that does not exist is
 * empty. */
struct str vocab_bytes(const struct vocab *v, uint32_t id);
const struct unicode *vocab_unicode(const struct vocab *v);

/* Special tokens, such as <|im_end|>, have the ids that follow, in the order of
 * Qwen2 and Qwen3. The one that p[0..n) starts with (the longest), or VOCAB_NONE;
 * all begin with '<'. */
uint32_t vocab_special(const struct vocab *v, const char *p, size_t n,
                       size_t *len);

#endif
