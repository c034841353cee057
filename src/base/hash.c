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

/* Of a word, or of each in a vector. */
#define ROR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

/* ---- the schedule: 64 words of a block, with the rounds' constants ---- */

/* The word i + 16 takes the place of word i, used by then. */
#define NEXT_WORD(w, i)                                               \
    ((w)[(i) % 16] +=                                                 \
     (w)[((i) + 9) % 16] +                                            \
     (ROR((w)[((i) + 1) % 16], 7) ^ ROR((w)[((i) + 1) % 16], 18) ^    \
      ((w)[((i) + 1) % 16] >> 3)) +                                   \
     (ROR((w)[((i) + 14) % 16], 17) ^ ROR((w)[((i) + 14) % 16], 19) ^ \
      ((w)[((i) + 14) % 16] >> 10)))

#define LANES  8 /* blocks at once */
#define INLINE static inline __attribute__((always_inline))

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

INLINE uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           (uint32_t)p[3];
}

INLINE void schedule_one(uint32_t *out, const unsigned char *p)
{
    uint32_t w[16];

    for (size_t i = 0; i < 16; i++)
        out[i] = (w[i] = big_endian(p + i * 4)) + round_constant[i];
    for (size_t i = 0; i < 48; i++)
        out[i + 16] = NEXT_WORD(w, i) + round_constant[i + 16];
}

/* A schedule needs nothing of the blocks before its own, so the compiler's
 * vectors make those of several at once, `n` of them wanted. */
INLINE void schedule_many(uint32_t *out, const unsigned char *p, size_t n)
{
    lanes w[16], word;

    for (size_t j = 0; j < LANES; j++)
        for (size_t i = 0; i < 16; i++)
            out[i * LANES + j] = big_endian(p + (j < n ? j : 0) * 64 + i * 4);
    memcpy(w, out, sizeof(w));
    for (size_t i = 0; i < 16; i++) {
        word = w[i] + round_constant[i];
        memcpy(out + i * LANES, &word, sizeof(word));
    }
    for (size_t i = 0; i < 48; i++) {
        word = NEXT_WORD(w, i) + round_constant[i + 16];
        memcpy(out + (i + 16) * LANES, &word, sizeof(word));
    }
}

/* ---- the rounds ---- */

/* The caller renames the eight words instead of moving them. The sums of
 * rotations are nested, and the majority of three shares a ^ b with the round
 * before: fewer instructions than as the standard writes them. */
#define ROUND(a, b, c, d, e, f, g, h, word)             \
    do {                                                \
        (h) += ROR((e) ^ ROR((e) ^ ROR(e, 14), 5), 6) + \
               ((g) ^ ((e) & ((f) ^ (g)))) + (word);    \
        (d) += (h);                                     \
        (h) += ROR((a) ^ ROR((a) ^ ROR(a, 9), 11), 2) + \
               ((b) ^ (((a) ^ (b)) & ((b) ^ (c))));     \
    } while (0)

/* `stride`: from a word of the block to its next. */
INLINE void rounds(uint32_t s[8], const uint32_t *word, size_t stride)
{
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5],
             g = s[6], h = s[7];

    for (size_t i = 0; i < 64; i += 8, word += 8 * stride) {
        ROUND(a, b, c, d, e, f, g, h, word[0]);
        ROUND(h, a, b, c, d, e, f, g, word[stride]);
        ROUND(g, h, a, b, c, d, e, f, word[2 * stride]);
        ROUND(f, g, h, a, b, c, d, e, word[3 * stride]);
        ROUND(e, f, g, h, a, b, c, d, word[4 * stride]);
        ROUND(d, e, f, g, h, a, b, c, word[5 * stride]);
        ROUND(c, d, e, f, g, h, a, b, word[6 * stride]);
        ROUND(b, c, d, e, f, g, h, a, word[7 * stride]);
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

/* ---- blocks ---- */

INLINE void compress_all(uint32_t s[8], const unsigned char *p, size_t n)
{
    uint32_t word[64 * LANES];

    while (n >= LANES / 2) {
        size_t some = n < LANES ? n : LANES;

        schedule_many(word, p, some);
        for (size_t j = 0; j < some; j++)
            rounds(s, word + j, LANES);
        p += some * 64;
        n -= some;
    }
    for (; n; n--, p += 64) {
        schedule_one(word, p);
        rounds(s, word, 1);
    }
}

static void compress_plain(uint32_t s[8], const unsigned char *p, size_t n)
{
    compress_all(s, p, n);
}

#ifdef __x86_64__
/* The same code with wide vectors, and rotations that leave their source. */
__attribute__((target("avx2,bmi2"))) static void
compress_wide(uint32_t s[8], const unsigned char *p, size_t n)
{
    compress_all(s, p, n);
}
#endif

static void compress(uint32_t s[8], const unsigned char *p, size_t n)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        compress_wide(s, p, n);
        return;
    }
#endif
    compress_plain(s, p, n);
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
            take = n - n % 64;
            compress(h->state, u, take / 64);
            h->bytes += take;
            u += take;
            n -= take;
            continue;
        }
        memcpy(h->block + fill, u, take);
        h->bytes += take;
        u += take;
        n -= take;
        if (fill + take == 64)
            compress(h->state, h->block, 1);
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
