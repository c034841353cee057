/* tokenizer.h: exact token counts and ids of text, as the tokenizers of Qwen2 and
 * Qwen3 give them: special tokens are taken out first, the rest is brought to NFC,
 * cut into pieces, and byte pairs are merged in each.
 *
 * Any bytes are text: what is not UTF-8 counts as U+FFFD (unicode_repair()). A
 * tokenizer remembers pieces, so each thread has its own; the vocabulary is
 * shared, borrowed, and lives longer. */
#ifndef DATA_TOKENIZER_H
#define DATA_TOKENIZER_H

#include "base/str.h"
#include "data/vocab.h"

#include <stddef.h>
#include <stdint.h>

struct tokenizer;

struct token_ids {
    uint32_t *id;
    size_t len, cap;
};

struct tokenizer *tokenizer_new(const struct vocab *v);
void tokenizer_free(struct tokenizer *t);
size_t tokenizer_count(struct tokenizer *t, struct str text);
/* Appends the ids; returns how many. */
size_t tokenizer_encode(struct tokenizer *t, struct str text,
                        struct token_ids *out);
void token_ids_release(struct token_ids *ids);

/* The length of the first piece of p[0..n), which is UTF-8; n > 0. The end of the
 * text matters: white space before it is one piece. */
size_t split_piece(const struct unicode *u, const char *p, size_t n);

/* Room for merging, kept between pieces. */
struct merge {
    struct merge_part *part;
    uint64_t *heap;
    uint32_t *id; /* the result */
    size_t part_cap, heap_cap, id_cap;
};

/* The tokens of p[0..n), n > 0: in m->id until the next call. Of the pairs of
 * neighbours that are a token together, the one with the lowest id is merged first,
 * the leftmost of equal ones. Takes n log n steps for long pieces. */
size_t merge_piece(struct merge *m, const struct vocab *v, const char *p,
                   size_t n);
void merge_release(struct merge *m);

#endif
