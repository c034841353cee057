/* randomise.c: the randomisation test within strata. */
#include "base/rng.h"
#include "base/stats.h"

#include <math.h>

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
