/* stats.h: the statistics of a comparison, over plain numbers. Nothing here
 * knows what a run is, and nothing fails: if a value is not defined, the
 * comment says what is returned instead. */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The chance that one of `k` samples is correct, estimated without bias from
 * `n` samples with `c` correct ones: 1 - C(n-c, k) / C(n, k). With k > n it is
 * the value for k = n, as KernelBench computes it, so print min(k, n). 0 when
 * there is no sample. */
double stats_pass_at_k(int64_t n, int64_t c, int64_t k);

struct stats_interval {
    double lo, hi;
};
/* Wilson's 95 % interval of a share, in [0, 1]; all of it when n is 0. */
struct stats_interval stats_wilson(int64_t hits, int64_t n);

/* The exact two-sided p of McNemar's test: `only_a` pairs where only the first
 * of the two succeeded, `only_b` where only the second did. 1 without such a
 * pair. */
double stats_mcnemar(int64_t only_a, int64_t only_b);

/* The geometric mean of the numbers above 0; 0 when there is none. */
double stats_geomean(const double *v, size_t n);

/* fast_p: the share of all `n` tasks with a speed-up above `p` or, with
 * `ties`, of at least `p`. NaN or a number below 0 stands for a task that is
 * not solved, or whose time is not known: it never counts, also at p = 0.
 * 0 when n is 0. */
double stats_fast_p(const double *speedup, size_t n, double p, bool ties);

/* The quantile `q` in [0, 1], interpolated between the two nearest values;
 * sorts `v`. NaN when n is 0. */
double stats_quantile(double *v, size_t n, double q);

/* Observations that are comparable with each other, counted. */
struct stats_stratum {
    size_t n, hits;             /* all of them; those that succeeded */
    size_t marked, marked_hits; /* those that had the treatment */
};
struct stats_effect {
    size_t marked, hits; /* of those that are marked */
    double expected;     /* hits, if the mark meant nothing */
    double p;            /* two-sided */
};
/* Do marked observations succeed more or less often than others of their
 * stratum? Moves the marks at random within each stratum, `rounds` times, and
 * takes as p the share of rounds (the real one included) whose hits are as far
 * from the expected number. Stops early once 1,000 are: p is large then. The
 * same seed gives the same p. */
struct stats_effect stats_randomise(const struct stats_stratum *s, size_t len,
                                    size_t rounds, const char *seed);

#endif
