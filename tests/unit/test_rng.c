/* Random streams: named, repeatable, without bias. */
#include "base/rng.h"
#include "tap.h"

#include <stdbool.h>

SUITE(rng)
{
    struct rng a, b, c;
    size_t count[3] = {0}, index[16], seen = 0;
    bool inside = true;

    rng_init(&a, "%d/%s", 7, "task");
    rng_init(&b, "7/%s", "task");
    rng_init(&c, "8/%s", "task");
    ok(rng_next(&a) == rng_next(&b), "one name is one stream");
    ok(rng_next(&a) != rng_next(&c), "another name is another");
    for (int i = 0; i < 30000; i++)
        count[rng_below(&a, 3)]++;
    ok(count[0] > 9500 && count[1] > 9500 && count[2] > 9500,
       "each of three comes a third of the time");
    for (int i = 0; i < 10000; i++) {
        double x = rng_unit(&a);

        inside &= x >= 0 && x < 1;
    }
    ok(inside, "a unit number is in [0, 1)");
    for (size_t i = 0; i < 16; i++)
        index[i] = i;
    rng_shuffle(&a, index, 16);
    for (size_t i = 0; i < 16; i++)
        seen |= (size_t)1 << index[i];
    ok(seen == 0xffff, "a shuffle keeps every element");
}
