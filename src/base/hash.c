/* hash.c: SHA-256 as FIPS 180-4 describes it. */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

static const uint32_t round_constant[64] = {
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

static uint32_t ror(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

/* One round with round constant and word `kw`. The eight values stay where they
 * are: round n takes their names n places on, which costs nothing when n is
 * known to the compiler. */
static inline void round_n(uint32_t v[8], unsigned n, uint32_t kw)
{
    uint32_t a = v[(8 - n) & 7], b = v[(9 - n) & 7], c = v[(10 - n) & 7];
    uint32_t e = v[(12 - n) & 7], f = v[(13 - n) & 7], g = v[(14 - n) & 7];
    uint32_t t = v[(15 - n) & 7] + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) +
                 (g ^ (e & (f ^ g))) + kw;

    v[(11 - n) & 7] += t;
    v[(15 - n) & 7] =
        t + (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) | (c & (a | b)));
}

static void compress(struct hash *h, const unsigned char *p)
{
    uint32_t w[64], v[8];

    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 |
               (uint32_t)p[i * 4 + 2] << 8 | (uint32_t)p[i * 4 + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ (w[i - 15] >> 3)) +
               (ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ (w[i - 2] >> 10));
    memcpy(v, h->state, sizeof(v));
    for (int i = 0; i < 64; i += 8) {
        const uint32_t *k = round_constant + i, *x = w + i;

        round_n(v, 0, k[0] + x[0]);
        round_n(v, 1, k[1] + x[1]);
        round_n(v, 2, k[2] + x[2]);
        round_n(v, 3, k[3] + x[3]);
        round_n(v, 4, k[4] + x[4]);
        round_n(v, 5, k[5] + x[5]);
        round_n(v, 6, k[6] + x[6]);
        round_n(v, 7, k[7] + x[7]);
    }
    for (int i = 0; i < 8; i++)
        h->state[i] += v[i];
}

void hash_init(struct hash *h)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                      0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19};

    memcpy(h->state, start, sizeof(start));
    h->bytes = 0;
}

void hash_add(struct hash *h, const void *p, size_t n)
{
    const unsigned char *u = p;

    while (n) {
        size_t fill = h->bytes % 64, take = 64 - fill < n ? 64 - fill : n;

        if (take == 64) { /* a whole block needs no copy */
            compress(h, u);
        } else {
            memcpy(h->block + fill, u, take);
            if (fill + take == 64)
                compress(h, h->block);
        }
        h->bytes += take;
        u += take;
        n -= take;
    }
}

void hash_finish(struct hash *h, unsigned char digest[32])
{
    static const unsigned char pad[64] = {0x80};
    uint64_t bits = h->bytes * 8;
    unsigned char length[8];

    hash_add(h, pad, 1 + (119 - h->bytes % 64) % 64);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    hash_add(h, length, 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hash_finish_hex(struct hash *h, char out[HASH_HEX])
{
    unsigned char digest[32];

    hash_finish(h, digest);
    for (size_t i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void hash_hex(const void *p, size_t n, char out[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    hash_add(&h, p, n);
    hash_finish_hex(&h, out);
}

void hash_hmac_hex(const void *key, size_t key_len, const void *text, size_t n,
                   char out[HASH_HEX])
{
    unsigned char block[64] = {0}, inner[32];
    struct hash h;

    hash_init(&h);
    if (key_len > sizeof(block)) {
        hash_add(&h, key, key_len);
        hash_finish(&h, block);
    } else if (key_len) {
        memcpy(block, key, key_len);
    }
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] ^= 0x36;
    hash_init(&h);
    hash_add(&h, block, sizeof(block));
    hash_add(&h, text, n);
    hash_finish(&h, inner);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] ^= 0x36 ^ 0x5c;
    hash_init(&h);
    hash_add(&h, block, sizeof(block));
    hash_add(&h, inner, sizeof(inner));
    hash_finish_hex(&h, out);
}

size_t hash_fnv1a(const void *p, size_t n)
{
    const unsigned char *u = p;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ u[i]) * 1099511628211u;
    return (size_t)(h ^ (h >> 32));
}
