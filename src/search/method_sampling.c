/* method_sampling.c: attempts that know nothing of each other. */
#include "search/method.h"

const struct method method_sampling = {
    .name = "sampling",
    .two_stage = true,
    .next_round = round_single,
    .choose = choose_seeds,
};
