/* stats.c: estimates and tests in closed form. */
#include "base/stats.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

double stats_pass_at_k(int64_t n, int64_t c, int64_t k)
{
    double miss = 1;

    if (k > n)
        k = n;
    if (n <= 0 || c <= 0 || k <= 0)
        return 0;
    if (n - c < k)
        return 1;
    for (int64_t j = n - c + 1; j <= n; j++)
        miss *= 1 - (double)k / (double)j;
    return 1 - miss;
}

struct stats_interval stats_wilson(int64_t hits, int64_t n)
{
    const double z = 1.959963984540054;
    double share, middle, half, scale;

    if (n <= 0)
        return (struct stats_interval){0, 1};
    share = (double)hits / (double)n;
    scale = 1 + z * z / (double)n;
    middle = (share + z * z / (2 * (double)n)) / scale;
    half = z / scale *
           sqrt(share * (1 - share) / (double)n +
                z * z / (4 * (double)n * (double)n));
    return (struct stats_interval){hits == 0 ? 0 : fmax(0, middle - half),
                                   hits == n ? 1 : fmin(1, middle + half)};
}

static double log_factorial(int64_t n)
{
    int sign;

    return lgamma_r((double)n + 1, &sign);
}

double stats_mcnemar(int64_t only_a, int64_t only_b)
{
    int64_t n = only_a + only_b, least = only_a < only_b ? only_a : only_b;
    double tail = 0;

    for (int64_t i = 0; i <= least; i++)
        tail += exp(log_factorial(n) - log_factorial(i) - log_factorial(n - i) -
                    (double)n * log(2));
    return fmin(1, 2 * tail);
}

double stats_geomean(const double *v, size_t n)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (v[i] > 0) {
            sum += log(v[i]);
            count++;
        }
    return count ? exp(sum / (double)count) : 0;
}

double stats_fast_p(const double *speedup, size_t n, double p, bool ties)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (speedup[i] >= 0 && (ties ? speedup[i] >= p : speedup[i] > p))
            count++;
    return n ? (double)count / (double)n : 0;
}

static int stats_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double stats_quantile(double *v, size_t n, double q)
{
    double at;
    size_t low;

    if (n == 0)
        return NAN;
    qsort(v, n, sizeof(*v), stats_by_value);
    at = q * (double)(n - 1);
    low = (size_t)at;
    if (low >= n - 1)
        return v[n - 1];
    return v[low] + (at - (double)low) * (v[low + 1] - v[low]);
}

/* ---- the randomisation test within strata ---- */

#define ENOUGH 1000 /* rounds as far off tell p well enough */

/* How many hits the marks meet when they are moved at random. Marks and hits
 * are two subsets; the smaller one is drawn. */
static size_t stats_draw(const struct stats_stratum *s, struct rng *r)
{
    size_t few = s->marked < s->hits ? s->marked : s->hits,
           many = s->marked < s->hits ? s->hits : s->marked, found = 0;

    for (size_t i = 0; i < few; i++)
        found += rng_below(r, s->n - i) < many - found;
    return found;
}

struct stats_effect stats_randomise(const struct stats_stratum *s, size_t len,
                                    size_t rounds, const char *seed)
{
    struct stats_effect out = {.p = 1};
    size_t as_far = 1, done;
    struct rng r;

    rng_init(&r, "%s/randomise", seed);
    for (size_t i = 0; i < len; i++) {
        out.marked += s[i].marked;
        out.hits += s[i].marked_hits;
        if (s[i].marked)
            out.expected +=
                (double)s[i].marked * (double)s[i].hits / (double)s[i].n;
    }
    for (done = 0; done < rounds && as_far < ENOUGH; done++) {
        size_t hits = 0;

        for (size_t i = 0; i < len; i++)
            hits += stats_draw(&s[i], &r);
        /* equal distances must compare as equal */
        as_far += fabs((double)hits - out.expected) + 1e-9 >=
                  fabs((double)out.hits - out.expected);
    }
    out.p = (double)as_far / (double)(done + 1);
    return out;
}
