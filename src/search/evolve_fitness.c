/* evolve_fitness.c: how far each verdict got. */
#include "search/evolve_db.h"

#include "base/mem.h"

#include <string.h>

/* A kernel that cheats has got no further than one that is refused unread. */
static const struct {
    const char *verdict;
    double fitness;
} steps[] = {
    {"no_code", 0.0},      {"truncated", 0.0},     {"static_reject", 0.05},
    {"hack", 0.05},        {"compile_error", 0.1}, {"launch_error", 0.2},
    {"timeout", 0.2},      {"out_of_memory", 0.2}, {"crash", 0.2},
    {"wrong_shape", 0.3},  {"wrong_dtype", 0.3},   {"not_finite", 0.3},
    {"wrong_values", 0.4}, {"correct", 1.0},
};

/* NaN is nothing. */
static double between(double x, double lo, double hi)
{
    if (!(x > lo))
        return lo;
    return x < hi ? x : hi;
}

double evolve_fitness(const char *verdict, double within, double speedup)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        double base = steps[i].fitness;

        if (strcmp(steps[i].verdict, verdict) != 0)
            continue;
        if (strcmp(verdict, "wrong_values") == 0)
            return base + 0.1 * between(within, 0, 1);
        if (strcmp(verdict, "correct") == 0)
            return base + between(speedup, 0, 10) / 10;
        return base;
    }
    BUG("'%s' is no verdict on an attempt", verdict);
}
