/* method_evolve.c: each task has a population of its own programs. */
#include "search/method.h"

const struct method method_evolve = {
    .name = "evolve",
    .evolves = true,
    .next_round = round_single,
    .choose = choose_seeds,
};
