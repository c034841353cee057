/* Statistics on data made by hand, with known answers. */
#include "base/stats.h"
#include "tap.h"

#include <math.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-6;
}

static void test_pass_at_k(void)
{
    ok(near(stats_pass_at_k(5, 2, 1), 0.4), "pass@1 is the share of correct");
    ok(near(stats_pass_at_k(5, 2, 3), 0.9), "pass@3 of 2 in 5 is 1 - 1/10");
    ok(stats_pass_at_k(5, 2, 4) == 1, "4 of 5 samples include one of 2");
    ok(stats_pass_at_k(5, 0, 3) == 0, "zero correct is 0");
    ok(stats_pass_at_k(5, 1, 9) == 1 && stats_pass_at_k(5, 0, 9) == 0,
       "k > n is k = n");
    ok(stats_pass_at_k(0, 0, 1) == 0, "no sample is 0");
    ok(stats_pass_at_k(5, 2, 0) == 0, "no draw finds nothing");
    ok(near(stats_pass_at_k(200, 5, 10), 0.228284),
       "many samples need no factorials");
}

static void test_wilson(void)
{
    struct stats_interval i = stats_wilson(20, 24);

    ok(near(i.lo, 0.641469) && near(i.hi, 0.933213),
       "20 of 24: 0.641 to 0.933");
    i = stats_wilson(0, 10);
    ok(i.lo == 0 && near(i.hi, 0.277533), "0 of 10 ends at 0.278");
    i = stats_wilson(10, 10);
    ok(i.hi == 1 && near(i.lo, 0.722467), "10 of 10 begins at 0.722");
    i = stats_wilson(0, 0);
    ok(i.lo == 0 && i.hi == 1, "nothing known is everything possible");
}

static void test_mcnemar(void)
{
    ok(near(stats_mcnemar(8, 0), 0.0078125), "8 against 0 is 2 / 256");
    ok(near(stats_mcnemar(0, 8), 0.0078125), "the order does not matter");
    ok(stats_mcnemar(0, 0) == 1, "no pair that differs: p = 1");
    ok(stats_mcnemar(4, 4) == 1, "a tie: p = 1, not more");
    ok(near(stats_mcnemar(1, 6), 0.125), "1 against 6 is 16 / 128");
    ok(fabs(stats_mcnemar(900, 1100) / 8.457089535e-6 - 1) < 1e-6,
       "large counts neither overflow nor vanish");
}

static void test_speed(void)
{
    /* a gain, a tie at 1.0, a loss, not solved, timing failed */
    double v[] = {2, 1, 0.5, NAN, -1}, one[] = {4}, zero[] = {0, 0};

    ok(near(stats_fast_p(v, 5, 1, false), 0.2),
       "fast_1 with > leaves out a tie");
    ok(near(stats_fast_p(v, 5, 1, true), 0.4), "fast_1 with >= counts it");
    ok(near(stats_fast_p(v, 5, 0, false), 0.6) &&
           near(stats_fast_p(v, 5, 0, true), 0.6),
       "fast_0 leaves out what is not solved or not timed");
    ok(stats_fast_p(v, 0, 1, true) == 0, "no task is 0");
    ok(near(stats_geomean(v, 5), 1), "the geometric mean of 2, 1, 0.5 is 1");
    ok(near(stats_geomean(one, 1), 4), "of one number it is the number");
    ok(stats_geomean(zero, 2) == 0 && stats_geomean(v, 0) == 0,
       "of nothing it is 0");
}

static void test_quantile(void)
{
    double v[] = {4, 1, 3, 2};

    ok(near(stats_quantile(v, 4, 0.5), 2.5), "the median of 1..4 is 2.5");
    ok(v[0] == 1 && stats_quantile(v, 4, 0) == 1 &&
           stats_quantile(v, 4, 1) == 4,
       "the ends are the least and the largest");
    ok(near(stats_quantile(v, 4, 0.25), 1.75), "quarters are interpolated");
    ok(isnan(stats_quantile(v, 0, 0.5)), "of nothing it is not a number");
}

static void test_randomise(void)
{
    const struct stats_stratum clear = {20, 10, 10, 10},
                               both[] = {{20, 20, 19, 19}, {20, 0, 1, 0}},
                               some = {12, 8, 2, 0};
    struct stats_effect a = stats_randomise(&clear, 1, 999, "1"),
                        b = stats_randomise(&clear, 1, 999, "1");

    ok(a.marked == 10 && a.hits == 10 && near(a.expected, 5),
       "10 of 10 where 5 are expected");
    ok(a.p < 0.005, "such a result is rarely chance");
    ok(a.p == b.p, "one seed gives one p");
    a = stats_randomise(both, 2, 999, "1");
    ok(a.hits == 19 && near(a.expected, 19) && a.p == 1,
       "what the stratum explains is not credited to the mark");
    /* as far from 4/3: 0 alone, since 2 is nearer */
    a = stats_randomise(&some, 1, 100000, "1");
    ok(fabs(a.p - 6.0 / 66) < 0.005, "p is the chance of a draw as far off");
    a = stats_randomise(NULL, 0, 10, "1");
    ok(a.marked == 0 && a.p == 1, "no observation: p = 1");
}

SUITE(stats)
{
    test_pass_at_k();
    test_wilson();
    test_mcnemar();
    test_speed();
    test_quantile();
    test_randomise();
}
