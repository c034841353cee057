/* test_mac.c: libcrypto's HMAC and the worker's own are the same, for texts of every
 * length in every kind of parts. */
#include "base/hash.h"
#include "base/mac.h"
#include "tap.h"

#include <string.h>

/* The worker's own, under names of their own. */
void plain_of(const void *key, size_t key_len, const struct mac_part *part,
              size_t count, unsigned char out[MAC_BYTES]);
bool plain_equal(const unsigned char a[MAC_BYTES],
                 const unsigned char b[MAC_BYTES]);
#define mac_of    plain_of
#define mac_equal plain_equal
#include "base/mac_plain.c"
#undef mac_of
#undef mac_equal

void suite_mac(void);

typedef void mac_fn(const void *key, size_t key_len,
                    const struct mac_part *part, size_t count,
                    unsigned char out[MAC_BYTES]);

static void hex_of(mac_fn *mac, const char *key, const char *text, size_t n,
                   size_t cut, char out[HASH_HEX])
{
    const struct mac_part parts[] = {{text, cut}, {text + cut, n - cut}};
    unsigned char digest[MAC_BYTES];

    mac(key, strlen(key), parts, 2, digest);
    for (size_t i = 0; i < MAC_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void test_known(void)
{
    static const char text[] = "what do ya want for nothing?";
    char got[HASH_HEX];

    hex_of(plain_of, "Jefe", text, strlen(text), 5, got);
    is(got, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
       "the second case of RFC 4231");
}

static void test_lengths(void)
{
    static const char key[] = "0123456789abcdef0123456789abcdef";
    char text[300], plain[HASH_HEX], crypto[HASH_HEX], whole[HASH_HEX];
    bool same = true;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof(text); n++) {
        hash_hmac_hex(key, (struct str){text, n}, whole);
        hex_of(plain_of, key, text, n, n / 3, plain);
        hex_of(mac_of, key, text, n, n / 2, crypto);
        same = same && strcmp(plain, whole) == 0 && strcmp(crypto, whole) == 0;
    }
    ok(same, "0 to 300 bytes in two parts");
}

static void test_equal(void)
{
    unsigned char a[MAC_BYTES] = {0}, b[MAC_BYTES] = {0};

    ok(mac_equal(a, b) && plain_equal(a, b), "equal");
    b[31] = 1;
    ok(!mac_equal(a, b) && !plain_equal(a, b), "one bit differs");
}

void suite_mac(void)
{
    test_known();
    test_lengths();
    test_equal();
}
