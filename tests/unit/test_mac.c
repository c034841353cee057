/* test_mac.c: our HMAC and libcrypto's are the same, for texts of every length in
 * two parts. */
#include "base/hash.h"
#include "base/mac.h"
#include "tap.h"

#include <string.h>

static void mac_hex(struct mac_key *k, struct str text, size_t cut,
                    char out[HASH_HEX])
{
    const struct mac_part parts[] = {{text.p, cut},
                                     {text.p + cut, text.n - cut}};
    unsigned char digest[MAC_BYTES];

    mac_of(k, parts, 2, digest);
    for (size_t i = 0; i < MAC_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void test_known(void)
{
    static const char text[] = "what do ya want for nothing?";
    struct mac_key *k = mac_key_new("Jefe", 4);
    char got[HASH_HEX];

    mac_hex(k, str_of(text), 5, got);
    is(got, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
       "the second case of RFC 4231");
    mac_key_free(k);
}

static void test_lengths(void)
{
    static const char key[] = "0123456789abcdef0123456789abcdef";
    struct mac_key *k = mac_key_new(key, strlen(key));
    char text[300], parts[HASH_HEX], whole[HASH_HEX];
    bool same = true;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof(text); n++) {
        hash_hmac_hex(key, (struct str){text, n}, whole);
        mac_hex(k, (struct str){text, n}, n / 3, parts);
        same = same && strcmp(parts, whole) == 0;
    }
    ok(same, "0 to 300 bytes in two parts");
    mac_key_free(k);
}

static void test_equal(void)
{
    unsigned char a[MAC_BYTES] = {0}, b[MAC_BYTES] = {0};

    ok(mac_equal(a, b), "equal");
    b[31] = 1;
    ok(!mac_equal(a, b), "one bit differs");
}

SUITE(mac)
{
    test_known();
    test_lengths();
    test_equal();
}
