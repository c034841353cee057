/* mac.c: SHA-256 (FIPS 180-4) in plain C, and HMAC (RFC 2104) on top. */
#include "base/mac.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[MAC_BLOCK];
};

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t mac_rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static void expand(const unsigned char *block, uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = word_at(block + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (mac_rotate(a, 7) ^ mac_rotate(a, 18) ^ a >> 3) +
               w[i - 7] + (mac_rotate(b, 17) ^ mac_rotate(b, 19) ^ b >> 10);
    }
}

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    expand(block, w);
    for (size_t i = 0; i < 64; i++) {
        uint32_t high =
            mac_rotate(e, 6) ^ mac_rotate(e, 11) ^ mac_rotate(e, 25);
        uint32_t low = mac_rotate(a, 2) ^ mac_rotate(a, 13) ^ mac_rotate(a, 22);
        uint32_t t =
            h + high + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];

        h = g;
        g = f;
        f = e;
        e = d + t;
        d = c;
        c = b;
        b = a;
        a = t + low + ((b & c) ^ (b & d) ^ (c & d));
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

static void sha256_init(struct sha256 *h)
{
    *h = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19}};
}

static void sha256_add(struct sha256 *h, const void *p, size_t n)
{
    const unsigned char *at = p;
    size_t held = h->bytes % MAC_BLOCK;

    h->bytes += n;
    while (n) {
        size_t take = MAC_BLOCK - held;

        if (held == 0 && n >= MAC_BLOCK) {
            compress(h->state, at);
            take = MAC_BLOCK;
        } else {
            take = n < take ? n : take;
            memcpy(h->block + held, at, take);
            held += take;
            if (held == MAC_BLOCK) {
                compress(h->state, h->block);
                held = 0;
            }
        }
        at += take;
        n -= take;
    }
}

static void sha256_finish(struct sha256 *h, unsigned char digest[MAC_BYTES])
{
    static const unsigned char padding[MAC_BLOCK] = {0x80};
    uint64_t bits = h->bytes * 8;
    size_t held = h->bytes % MAC_BLOCK;
    unsigned char length[8];

    sha256_add(h, padding, (held < 56 ? 56 : 120) - held);
    for (size_t i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(h, length, sizeof(length));
    for (size_t i = 0; i < MAC_BYTES; i++)
        digest[i] = (unsigned char)(h->state[i / 4] >> (24 - i % 4 * 8));
}

static void mac_begin(struct sha256 *h, const void *key, size_t n,
                      unsigned char fill)
{
    unsigned char pad[MAC_BLOCK];

    memset(pad, fill, sizeof(pad));
    for (size_t i = 0; i < n; i++)
        pad[i] ^= ((const unsigned char *)key)[i];
    sha256_init(h);
    sha256_add(h, pad, sizeof(pad));
}

struct mac_key {
    struct sha256 inner, outer; /* after the key's block */
};

struct mac_key *mac_key_new(const void *key, size_t len)
{
    struct mac_key *k = xcalloc(1, sizeof(*k));

    if (len > MAC_BLOCK)
        BUG("a key of %zu bytes", len);
    mac_begin(&k->inner, key, len, 0x36);
    mac_begin(&k->outer, key, len, 0x5c);
    return k;
}

void mac_key_free(struct mac_key *k)
{
    if (!k)
        return;
    explicit_bzero(k, sizeof(*k));
    free(k);
}

void mac_of(struct mac_key *k, const struct mac_part *part, size_t count,
            unsigned char out[MAC_BYTES])
{
    struct sha256 h = k->inner;

    for (size_t i = 0; i < count; i++)
        sha256_add(&h, part[i].p, part[i].n);
    sha256_finish(&h, out);
    h = k->outer;
    sha256_add(&h, out, MAC_BYTES);
    sha256_finish(&h, out);
}

bool mac_equal(const unsigned char a[MAC_BYTES],
               const unsigned char b[MAC_BYTES])
{
    unsigned differ = 0;

    for (size_t i = 0; i < MAC_BYTES; i++)
        differ |= (unsigned)(a[i] ^ b[i]);
    return differ == 0;
}
