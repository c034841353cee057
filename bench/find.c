/* find.c: how long one retrieval takes, the nearest 3 of many vectors, beside a
 * plain loop over the same floats. Prints a JSON object.
 *
 *   bench-find MEMBERS DIM ROUNDS */
#include "search/find.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NEAREST 3

/* Processor time, so that a busy machine does not count. */
static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void plain_nearest(const float *rows, size_t n, size_t dim,
                          const float *query, size_t best[NEAREST])
{
    float most[NEAREST] = {-2, -2, -2};

    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        size_t at = NEAREST;

        for (size_t k = 0; k < dim; k++)
            sum += rows[i * dim + k] * query[k];
        for (; at > 0 && sum > most[at - 1]; at--)
            if (at < NEAREST) {
                most[at] = most[at - 1];
                best[at] = best[at - 1];
            }
        if (at < NEAREST) {
            most[at] = sum;
            best[at] = i;
        }
    }
}

/* A random direction. */
static void fill(float *v, size_t dim, struct rng *rng)
{
    double squares = 0;

    for (size_t k = 0; k < dim; k++) {
        v[k] = (float)(rng_unit(rng) + rng_unit(rng) - 1);
        squares += (double)v[k] * (double)v[k];
    }
    for (size_t k = 0; k < dim; k++)
        v[k] /= (float)__builtin_sqrt(squares);
}

int main(int argc, char **argv)
{
    size_t n, dim, rounds, agree = 0, best[NEAREST] = {0};
    struct find_query q = {.mode = FIND_SIMILAR, .task = "query"};
    double ours, plain, start;
    struct find_hit hit[NEAREST];
    float *rows, *query;
    struct find *f;
    struct rng rng;

    if (argc != 4)
        return 2;
    n = strtoul(argv[1], NULL, 10);
    dim = strtoul(argv[2], NULL, 10);
    rounds = strtoul(argv[3], NULL, 10);
    rows = xcalloc(n * dim, sizeof(*rows));
    query = xcalloc(dim, sizeof(*query));
    f = find_new(dim);
    rng_init(&rng, "bench");
    for (size_t i = 0; i < n; i++) {
        fill(rows + i * dim, dim, &rng);
        find_add(f, &(struct find_entry){(int64_t)i, "t", "h", rows + i * dim,
                                         NULL});
    }
    q.vector = query;
    q.visible = n;
    fill(query, dim, &rng);
    start = cpu_us();
    for (size_t r = 0; r < rounds; r++)
        find_pick(f, &q, hit, NEAREST);
    ours = cpu_us() - start;
    start = cpu_us();
    for (size_t r = 0; r < rounds; r++)
        plain_nearest(rows, n, dim, query, best);
    plain = cpu_us() - start;
    for (size_t i = 0; i < NEAREST; i++)
        agree += hit[i].entry == (int64_t)best[i];
    printf("{\"us\": %.3f, \"plain_us\": %.3f, \"agree\": %zu}\n",
           ours / (double)rounds, plain / (double)rounds, agree);
    find_free(f);
    free(rows);
    free(query);
    return 0;
}
