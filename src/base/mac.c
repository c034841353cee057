/* mac.c: HMAC by libcrypto. */
#include "base/mac.h"

#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* libcrypto fails only when it is out of memory or has no SHA-256. */
static void mac_must(int done)
{
    if (done != 1)
        BUG("libcrypto cannot compute SHA-256");
}

/* The state after the key's block, and one to work on. */
struct mac_key {
    EVP_MD_CTX *inner, *outer, *work;
};

static EVP_MD_CTX *mac_begin(const void *key, size_t n, unsigned char fill)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    unsigned char pad[MAC_BLOCK];

    if (!c)
        BUG("libcrypto is out of memory");
    memset(pad, fill, sizeof(pad));
    for (size_t i = 0; i < n; i++)
        pad[i] ^= ((const unsigned char *)key)[i];
    mac_must(EVP_DigestInit_ex(c, EVP_sha256(), NULL));
    mac_must(EVP_DigestUpdate(c, pad, sizeof(pad)));
    OPENSSL_cleanse(pad, sizeof(pad));
    return c;
}

struct mac_key *mac_key_new(const void *key, size_t len)
{
    struct mac_key *k = xcalloc(1, sizeof(*k));

    if (len > MAC_BLOCK)
        BUG("a key of %zu bytes", len);
    k->inner = mac_begin(key, len, 0x36);
    k->outer = mac_begin(key, len, 0x5c);
    k->work = EVP_MD_CTX_new();
    if (!k->work)
        BUG("libcrypto is out of memory");
    return k;
}

/* libcrypto wipes what it frees. */
void mac_key_free(struct mac_key *k)
{
    if (!k)
        return;
    EVP_MD_CTX_free(k->inner);
    EVP_MD_CTX_free(k->outer);
    EVP_MD_CTX_free(k->work);
    free(k);
}

void mac_of(struct mac_key *k, const struct mac_part *part, size_t count,
            unsigned char out[MAC_BYTES])
{
    mac_must(EVP_MD_CTX_copy_ex(k->work, k->inner));
    for (size_t i = 0; i < count; i++)
        mac_must(EVP_DigestUpdate(k->work, part[i].p, part[i].n));
    mac_must(EVP_DigestFinal_ex(k->work, out, NULL));
    mac_must(EVP_MD_CTX_copy_ex(k->work, k->outer));
    mac_must(EVP_DigestUpdate(k->work, out, MAC_BYTES));
    mac_must(EVP_DigestFinal_ex(k->work, out, NULL));
}

bool mac_equal(const unsigned char a[MAC_BYTES],
               const unsigned char b[MAC_BYTES])
{
    return CRYPTO_memcmp(a, b, MAC_BYTES) == 0;
}
