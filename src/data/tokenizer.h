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

#endif
