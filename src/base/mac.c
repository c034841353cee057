/* mac.c: HMAC by libcrypto. */
#include "base/mac.h"

#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

/* libcrypto fails only when it is out of memory or has no SHA-256. */
static void must(int done)
{
    if (done != 1)
        BUG("libcrypto cannot compute SHA-256");
}

static void begin(EVP_MD_CTX *c, const void *key, size_t n, unsigned char fill)
{
    unsigned char pad[MAC_BLOCK];

    memset(pad, fill, sizeof(pad));
    for (size_t i = 0; i < n; i++)
        pad[i] ^= ((const unsigned char *)key)[i];
    must(EVP_DigestInit_ex(c, EVP_sha256(), NULL));
    must(EVP_DigestUpdate(c, pad, sizeof(pad)));
}

void mac_of(const void *key, size_t key_len, const struct mac_part *part,
            size_t count, unsigned char out[MAC_BYTES])
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();

    if (!c || key_len > MAC_BLOCK)
        BUG("a key of %zu bytes", key_len);
    begin(c, key, key_len, 0x36);
    for (size_t i = 0; i < count; i++)
        must(EVP_DigestUpdate(c, part[i].p, part[i].n));
    must(EVP_DigestFinal_ex(c, out, NULL));
    begin(c, key, key_len, 0x5c);
    must(EVP_DigestUpdate(c, out, MAC_BYTES));
    must(EVP_DigestFinal_ex(c, out, NULL));
    EVP_MD_CTX_free(c);
}

bool mac_equal(const unsigned char a[MAC_BYTES],
               const unsigned char b[MAC_BYTES])
{
    return CRYPTO_memcmp(a, b, MAC_BYTES) == 0;
}
