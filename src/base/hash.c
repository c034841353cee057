/* hash.c: SHA-256 as FIPS 180-4 describes it. */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>

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

/* The schedule's word i + 16 takes the place of word i, used by then. */
static inline uint32_t next_word(uint32_t w[16], size_t i)
{
    uint32_t a = w[(i + 1) % 16], b = w[(i + 14) % 16];

    return w[i] += w[(i + 9) % 16] + (ror(a, 7) ^ ror(a, 18) ^ (a >> 3)) +
                   (ror(b, 17) ^ ror(b, 19) ^ (b >> 10));
}

/* One round; the caller renames the eight words instead of moving them. The
 * sums of rotations are nested, and the majority of three shares a ^ b with the
 * round before: fewer instructions than as the standard writes them. */
#define ROUND(a, b, c, d, e, f, g, h, word, i)              \
    do {                                                    \
        (h) += ror((e) ^ ror((e) ^ ror(e, 14), 5), 6) +     \
               ((g) ^ ((e) & ((f) ^ (g)))) + (word) + k[i]; \
        (d) += (h);                                         \
        (h) += ror((a) ^ ror((a) ^ ror(a, 9), 11), 2) +     \
               ((b) ^ (((a) ^ (b)) & ((b) ^ (c))));         \
    } while (0)

/* Rounds with every index of `w` a constant. */
#define EIGHT(word, i)                                     \
    do {                                                   \
        ROUND(a, b, c, d, e, f, g, h, word(i), i);         \
        ROUND(h, a, b, c, d, e, f, g, word(i + 1), i + 1); \
        ROUND(g, h, a, b, c, d, e, f, word(i + 2), i + 2); \
        ROUND(f, g, h, a, b, c, d, e, word(i + 3), i + 3); \
        ROUND(e, f, g, h, a, b, c, d, word(i + 4), i + 4); \
        ROUND(d, e, f, g, h, a, b, c, word(i + 5), i + 5); \
        ROUND(c, d, e, f, g, h, a, b, word(i + 6), i + 6); \
        ROUND(b, c, d, e, f, g, h, a, word(i + 7), i + 7); \
    } while (0)
#define FIRST(i) (w[i] = big_endian(p + (i)*4))
#define LATER(i) next_word(w, i)

static inline uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           (uint32_t)p[3];
}

static void compress(uint32_t s[8], const unsigned char *p)
{
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5],
             g = s[6], h = s[7], w[16];
    const uint32_t *k = round_constant;

    EIGHT(FIRST, 0);
    EIGHT(FIRST, 8);
    for (k += 16; k < round_constant + 64; k += 16) {
        EIGHT(LATER, 0);
        EIGHT(LATER, 8);
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += h;
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

        if (take == 64) { /* whole blocks are read where they are */
            compress(h->state, u);
            h->bytes += 64;
            u += 64;
            n -= 64;
            continue;
        }
        memcpy(h->block + fill, u, take);
        h->bytes += take;
        u += take;
        n -= take;
        if (fill + take == 64)
            compress(h->state, h->block);
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
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[32];

    hash_finish(h, digest);
    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = '\0';
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

int hash_secret_hex(char out[HASH_HEX], struct err *e)
{
    unsigned char raw[32];

    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        return err_sys(e, "getrandom");
    hash_hex(raw, sizeof(raw), out);
    return 0;
}

size_t hash_fnv1a(const void *p, size_t n)
{
    const unsigned char *u = p;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ u[i]) * 1099511628211u;
    return (size_t)(h ^ (h >> 32));
}
