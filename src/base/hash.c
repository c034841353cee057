/* hash.c: SHA-256 by libcrypto. */
#include "base/hash.h"

#include "base/mem.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

/* libcrypto fails only when it is out of memory or has no SHA-256. */
static void hash_must(int done)
{
    if (done != 1)
        BUG("libcrypto cannot compute SHA-256");
}

static void put_hex(const unsigned char digest[32], char out[HASH_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = '\0';
}

void hash_init(struct hash *h)
{
    h->ctx = EVP_MD_CTX_new();
    hash_must(h->ctx && EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL));
}

void hash_add(struct hash *h, const void *p, size_t n)
{
    hash_must(EVP_DigestUpdate(h->ctx, p, n));
}

void hash_finish_hex(struct hash *h, char out[HASH_HEX])
{
    unsigned char digest[32];

    hash_must(EVP_DigestFinal_ex(h->ctx, digest, NULL));
    EVP_MD_CTX_free(h->ctx);
    h->ctx = NULL;
    put_hex(digest, out);
}

void hash_bytes(const void *p, size_t n, unsigned char digest[32])
{
    hash_must(EVP_Digest(p, n, digest, NULL, EVP_sha256(), NULL));
}

void hash_hex(const void *p, size_t n, char out[HASH_HEX])
{
    unsigned char digest[32];

    hash_bytes(p, n, digest);
    put_hex(digest, out);
}

void hash_hmac_hex(const char *key, struct str text, char out[HASH_HEX])
{
    unsigned char digest[32];

    hash_must(HMAC(EVP_sha256(), key, (int)strlen(key),
                   (const unsigned char *)text.p, text.n, digest,
                   NULL) != NULL);
    put_hex(digest, out);
}

int hash_secret_hex(char out[HASH_HEX], struct err *e)
{
    unsigned char raw[32];

    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        return err_sys(e, "getrandom");
    put_hex(raw, out);
    return 0;
}
