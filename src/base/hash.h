/* hash.h: SHA-256 for identity (files, packs, prompts), FNV-1a for tables. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define HASH_HEX 65 /* 64 hexadecimal digits and the NUL */

struct hash {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};

void hash_init(struct hash *h);
void hash_add(struct hash *h, const void *p, size_t n);
void hash_finish(struct hash *h, unsigned char digest[32]);
void hash_finish_hex(struct hash *h, char out[HASH_HEX]);
void hash_hex(const void *p, size_t n, char out[HASH_HEX]);

/* HMAC-SHA-256 of `text` under `key`, in hexadecimal. */
void hash_hmac_hex(const void *key, size_t key_len, const void *text, size_t n,
                   char out[HASH_HEX]);

/* Something that nobody can guess. */
int hash_secret_hex(char out[HASH_HEX], struct err *e);

size_t hash_fnv1a(const void *p, size_t n);

#endif
