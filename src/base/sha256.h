/* sha256.h: SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104) with libc alone, for
 * programs that are built where nothing else is installed. base/hash.h has digests
 * as text. Nothing here fails. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_BLOCK 64

struct sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[SHA256_BLOCK];
};

void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
void sha256_finish(struct sha256 *h, unsigned char digest[SHA256_BYTES]);

struct hmac {
    struct sha256 inner, outer;
};

/* A text that comes in pieces; a started one can be copied and used many times. */
void hmac_init(struct hmac *h, const void *key, size_t n);
void hmac_add(struct hmac *h, const void *p, size_t n);
void hmac_finish(struct hmac *h, unsigned char digest[SHA256_BYTES]);

/* Compares in a time that does not depend on where they differ. */
bool sha256_equal(const unsigned char a[SHA256_BYTES],
                  const unsigned char b[SHA256_BYTES]);

#endif
