/* hash.h: SHA-256, which identifies files, packs, prompts and programs.
 *
 * Digests are 64 lowercase hexadecimal digits unless a name says otherwise.
 * Nothing here fails but hash_secret_hex(). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define HASH_HEX 65 /* 64 hexadecimal digits and the NUL */

/* A text that comes in parts. hash_finish_hex() releases it. */
struct hash {
    struct evp_md_ctx_st *ctx; /* libcrypto's */
};

void hash_init(struct hash *h);
void hash_add(struct hash *h, const void *p, size_t n);
void hash_finish_hex(struct hash *h, char out[HASH_HEX]);

/* A text in one part. */
void hash_hex(const void *p, size_t n, char out[HASH_HEX]);
void hash_bytes(const void *p, size_t n, unsigned char digest[32]);

/* HMAC-SHA-256. */
void hash_hmac_hex(const char *key, struct str text, char out[HASH_HEX]);

/* 256 random bits from the kernel. */
int hash_secret_hex(char out[HASH_HEX], struct err *e);

/* ---- FNV-1a, a fast hash for tables in memory and for embeddings. */

static inline uint64_t fnv1a(const void *p, size_t n)
{
    const unsigned char *u = p;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ u[i]) * 1099511628211u;
    return h ^ (h >> 32);
}

#endif
