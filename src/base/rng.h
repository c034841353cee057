/* rng.h: repeatable random numbers. A stream has a name such as
 * "SEED/TASK/ATTEMPT/purpose", so no decision depends on the order of others. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state[4];
};

/* The stream of this name. */
void rng_init(struct rng *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* [0, n), n > 0, no bias */
double rng_unit(struct rng *r);                /* [0, 1) */
/* Puts index[0..n) into a random order. */
void rng_shuffle(struct rng *r, size_t *index, size_t n);

#endif
