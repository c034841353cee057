/* method_refine.c: each attempt is shown the one before it, with its verdict. */
#include "search/method.h"

const struct method method_refine = {
    .name = "refine",
    .two_stage = true,
    .refines = true,
    .next_round = round_single,
    .choose = choose_seeds,
};
