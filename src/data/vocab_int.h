/* vocab_int.h: a vocabulary in the making: what a file adds to it. */
#ifndef DATA_VOCAB_INT_H
#define DATA_VOCAB_INT_H

#include "base/buf.h"
#include "data/vocab.h"

struct vocab_slot {
    uint64_t key; /* the bytes if they are at most 8, else their hash */
    uint32_t id, len;
};

struct vocab {
    struct buf bytes; /* of all tokens */
    uint32_t *at, *len;
    size_t count, cap;
    struct vocab_slot *slot; /* len 0: free */
    size_t slots;
    uint32_t longest;
    uint32_t byte[256];
    uint32_t *pair; /* the token of two bytes, by both */
    struct unicode *unicode;
};

#define VOCAB_MAX_TOKENS 4000000u

/* A token of a file. Twice the same bytes, or the same id, is found at the end. */
int vocab_add(struct vocab *v, uint32_t id, struct str bytes, struct err *e);
/* Is this the text of a special token? */
bool vocab_is_special(struct str text);

/* The two kinds of file. */
int vocab_read_json(struct vocab *v, const char *name, struct str text,
                    struct err *e);
int vocab_read_tiktoken(struct vocab *v, const char *name, struct str text,
                        struct err *e);

#endif
