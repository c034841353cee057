/* mac.h: HMAC-SHA-256 of a text in parts. In plain C, because the worker has libc
 * alone and both ends of a connection should run the same code; frames are small,
 * so libcrypto's speed would not show. Nothing here fails. */
#ifndef BASE_MAC_H
#define BASE_MAC_H

#include <stdbool.h>
#include <stddef.h>

#define MAC_BYTES 32
#define MAC_BLOCK 64 /* of SHA-256; a longer key is a BUG */

struct mac_part {
    const void *p;
    size_t n;
};

/* A key that is made ready once, for many texts. */
struct mac_key;
struct mac_key *mac_key_new(const void *key, size_t len);
void mac_key_free(
    struct mac_key *k); /* leaves nothing of it; `k` may be NULL */

void mac_of(struct mac_key *k, const struct mac_part *part, size_t count,
            unsigned char out[MAC_BYTES]);
/* Compares in a time that does not depend on where they differ. */
bool mac_equal(const unsigned char a[MAC_BYTES],
               const unsigned char b[MAC_BYTES]);

#endif
