/* test_mac.c: libcrypto's HMAC and the worker's own are the same, for texts of every
 * length in every kind of parts. */
#include "base/hash.h"
#include "base/mac.h"
#include "tap.h"

#include <string.h>

/* The worker's own, under names of their own. */
struct plain_key;
struct plain_key *plain_key_new(const void *key, size_t len);
void plain_key_free(struct plain_key *k);
void plain_of(struct plain_key *k, const struct mac_part *part, size_t count,
              unsigned char out[MAC_BYTES]);
bool plain_equal(const unsigned char a[MAC_BYTES],
                 const unsigned char b[MAC_BYTES]);
#define mac_key      plain_key
#define mac_key_new  plain_key_new
#define mac_key_free plain_key_free
#define mac_of       plain_of
#define mac_equal    plain_equal
#include "base/mac_plain.c"
#undef mac_key
#undef mac_key_new
#undef mac_key_free
#undef mac_of
#undef mac_equal

void suite_mac(void);

/* Both kinds of a key, each for many texts. */
struct keys {
    struct plain_key *plain;
    struct mac_key *crypto;
};

static struct keys keys_of(const char *key)
{
    return (struct keys){plain_key_new(key, strlen(key)),
                         mac_key_new(key, strlen(key))};
}

static void free_keys(struct keys *k)
{
    plain_key_free(k->plain);
    mac_key_free(k->crypto);
}

static void hex_of(struct keys *k, bool plain, struct str text, size_t cut,
                   char out[HASH_HEX])
{
    const struct mac_part parts[] = {{text.p, cut},
                                     {text.p + cut, text.n - cut}};
    unsigned char digest[MAC_BYTES];

    if (plain)
        plain_of(k->plain, parts, 2, digest);
    else
        mac_of(k->crypto, parts, 2, digest);
    for (size_t i = 0; i < MAC_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void test_known(void)
{
    static const char text[] = "what do ya want for nothing?";
    struct keys k = keys_of("Jefe");
    char got[HASH_HEX];

    hex_of(&k, true, str_of(text), 5, got);
    is(got, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
       "the second case of RFC 4231");
    free_keys(&k);
}

static void test_lengths(void)
{
    static const char key[] = "0123456789abcdef0123456789abcdef";
    struct keys k = keys_of(key);
    char text[300], plain[HASH_HEX], crypto[HASH_HEX], whole[HASH_HEX];
    bool same = true;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof(text); n++) {
        hash_hmac_hex(key, (struct str){text, n}, whole);
        hex_of(&k, true, (struct str){text, n}, n / 3, plain);
        hex_of(&k, false, (struct str){text, n}, n / 2, crypto);
        same = same && strcmp(plain, whole) == 0 && strcmp(crypto, whole) == 0;
    }
    ok(same, "0 to 300 bytes in two parts");
    free_keys(&k);
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
