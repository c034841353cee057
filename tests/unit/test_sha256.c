/* test_sha256.c: known digests, and libcrypto's for texts of every length. */
#include "base/hash.h"
#include "base/sha256.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

void suite_sha256(void);

static void to_hex(const unsigned char *digest, char out[HASH_HEX])
{
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void digest_of(const void *p, size_t n, size_t step, char out[HASH_HEX])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 h;

    sha256_init(&h);
    for (size_t at = 0; at < n; at += step)
        sha256_add(&h, (const char *)p + at, n - at < step ? n - at : step);
    sha256_finish(&h, digest);
    to_hex(digest, out);
}

static void test_known(void)
{
    char got[HASH_HEX];

    digest_of("abc", 3, 3, got);
    is(got, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
       "the digest of abc");
    digest_of("", 0, 1, got);
    is(got, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
       "of nothing");
}

static void test_lengths(void)
{
    char text[300], got[HASH_HEX], want[HASH_HEX];
    bool same = true;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof(text); n++) {
        hash_hex(text, n, want);
        for (size_t step = 1; step < 130; step += 43) {
            digest_of(text, n, step, got);
            same = same && strcmp(got, want) == 0;
        }
    }
    ok(same, "0 to 300 bytes in pieces give libcrypto's digests");
}

static void test_hmac(void)
{
    static const char long_key[] = "a key that is longer than a block of "
                                   "sixty-four bytes, so it is hashed";
    static const char *const keys[] = {"", "key", long_key};
    static const char text[] = "The quick brown fox jumps over the lazy dog";
    char got[HASH_HEX], want[HASH_HEX];

    for (size_t i = 0; i < 3; i++) {
        unsigned char digest[SHA256_BYTES];
        struct hmac h;

        hmac_init(&h, keys[i], strlen(keys[i]));
        hmac_add(&h, text, 5);
        hmac_add(&h, text + 5, sizeof(text) - 6);
        hmac_finish(&h, digest);
        to_hex(digest, got);
        hash_hmac_hex(keys[i], str_of(text), want);
        is(got, want, "HMAC is libcrypto's");
    }
}

static void test_equal(void)
{
    unsigned char a[SHA256_BYTES] = {0}, b[SHA256_BYTES] = {0};

    ok(sha256_equal(a, b), "equal digests");
    b[31] = 1;
    ok(!sha256_equal(a, b), "one bit differs");
}

void suite_sha256(void)
{
    test_known();
    test_lengths();
    test_hmac();
    test_equal();
}
