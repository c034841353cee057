/* rng.c: xoshiro256**, seeded by the SHA-256 of the stream's name. */
#include "base/rng.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rng_init(struct rng *r, const char *fmt, ...)
{
    unsigned char digest[32];
    char name[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(name, sizeof(name), fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof(name))
        BUG("the name of a random stream has %d bytes", n);
    hash_bytes(name, (size_t)n, digest);
    memcpy(r->state, digest, sizeof(r->state));
    r->state[0] |= 1; /* never all zero */
}

static uint64_t rng_rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->state, result = rng_rotate(s[1] * 5, 7) * 9,
             t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotate(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    uint64_t over, x;

    if (n == 0)
        BUG("a number below 0");
    over = -n % n; /* so many of the lowest values would be too often */
    do
        x = rng_next(r);
    while (x < over);
    return x % n;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

void rng_shuffle(struct rng *r, size_t *index, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(r, i), t = index[i - 1];

        index[i - 1] = index[j];
        index[j] = t;
    }
}
