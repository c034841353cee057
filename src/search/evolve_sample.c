/* evolve_sample.c: the parent of the next attempt, and what is shown with
 * it. */
#include "search/evolve_int.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY SIZE_MAX

size_t evolve_ranked(const struct evolve_db *db, size_t island, size_t **out)
{
    size_t *list = xcalloc(db->len, sizeof(*list)), n = 0;

    for (size_t i = 0; i < db->len; i++) {
        size_t at = n;

        if (!db->p[i].alive || db->p[i].island != island)
            continue;
        while (at > 0 && db->p[list[at - 1]].fitness <= db->p[i].fitness)
            at--;
        memmove(list + at + 1, list + at, (n - at) * sizeof(*list));
        list[at] = i;
        n++;
    }
    *out = list;
    return n;
}

/* ---- the parent ---- */

enum circle { ISLAND, ISLAND_SEATED, SEATED, EVERYBODY };

static bool belongs(const struct program *p, enum circle who, size_t island)
{
    bool here = p->island == island;

    if (who == SEATED)
        return p->seated;
    if (who == ISLAND_SEATED)
        return p->seated && here;
    return p->alive && (here || who == EVERYBODY);
}

/* Any of a group, with equal probability; NOBODY when it is empty. */
static size_t draw(const struct evolve_db *db, enum circle who, size_t island,
                   struct rng *rng)
{
    size_t n = 0, nth, i = 0;

    for (i = 0; i < db->len; i++)
        n += belongs(&db->p[i], who, island);
    if (n == 0)
        return NOBODY;
    nth = (size_t)rng_below(rng, n);
    for (i = 0; !belongs(&db->p[i], who, island) || nth-- > 0;)
        i++;
    return i;
}

static double weight(const struct program *p)
{
    return p->fitness > 0.001 ? p->fitness : 0.001;
}

static size_t draw_by_fitness(const struct evolve_db *db, size_t island,
                              struct rng *rng)
{
    double sum = 0, point;
    size_t last = NOBODY;

    for (size_t i = 0; i < db->len; i++)
        if (belongs(&db->p[i], ISLAND, island))
            sum += weight(&db->p[i]);
    point = rng_unit(rng) * sum;
    for (size_t i = 0; i < db->len; i++) {
        if (!belongs(&db->p[i], ISLAND, island))
            continue;
        last = i;
        point -= weight(&db->p[i]);
        if (point < 0)
            break;
    }
    return last;
}

/* `empty`: the attempt's island has no programs, so the first island is used,
 * and the draw is uniform instead of by fitness. */
static size_t draw_parent(const struct evolve_db *db, size_t island, bool empty,
                          struct rng *rng)
{
    double r = rng_unit(rng);
    size_t i = NOBODY;

    if (r < db->o.exploration) {
        i = draw(db, ISLAND, island, rng);
    } else if (r < db->o.exploration + db->o.exploitation) {
        i = draw(db, ISLAND_SEATED, island, rng);
        if (i == NOBODY)
            i = draw(db, SEATED, island, rng);
    } else if (empty) {
        i = draw(db, EVERYBODY, island, rng);
    }
    if (i == NOBODY)
        i = draw_by_fitness(db, island, rng);
    return i == NOBODY ? db->best : i;
}

/* ---- what is shown beside it ---- */

/* Programs chosen so far, each once. */
struct list {
    size_t *at, len, max;
};

static bool listed(const struct evolve_db *db, const struct list *l, size_t i)
{
    for (size_t k = 0; k < l->len; k++)
        if (strcmp(db->p[l->at[k]].code, db->p[i].code) == 0)
            return true;
    return false;
}

/* Puts a program on the list, unless the list is full or has its code. */
static void offer(const struct evolve_db *db, struct list *l, size_t i)
{
    if (l->len < l->max && !listed(db, l, i))
        l->at[l->len++] = i;
}

/* The best of the parent's island, and some of the next best in random
 * order. */
static void offer_top(const struct evolve_db *db, struct list *l,
                      struct rng *rng)
{
    size_t *ranked, n = evolve_ranked(db, db->p[l->at[0]].island, &ranked);
    size_t *fresh = xcalloc(n + 1, sizeof(*fresh)), top = db->o.num_top;
    struct list f = {fresh, 1, n + 1};

    fresh[0] = l->at[0];
    for (size_t i = 0; i < n && f.len < 1 + top + db->o.num_diverse; i++)
        offer(db, &f, ranked[i]);
    if (f.len > 1 + top)
        rng_shuffle(rng, fresh + 1 + top, f.len - 1 - top);
    for (size_t i = 1; i < f.len; i++)
        offer(db, l, fresh[i]);
    free(fresh);
    free(ranked);
}

static size_t near(size_t at, size_t bins, struct rng *rng)
{
    size_t up = at + (size_t)rng_below(rng, 5); /* two too many */

    if (up < 2)
        return 0;
    return up - 2 < bins ? up - 2 : bins - 1;
}

/* The programs of the island in cells at most two steps from the parent's. */
static size_t neighbour(const struct evolve_db *db, size_t parent,
                        size_t island, struct rng *rng)
{
    struct cell c = evolve_cell(db, &db->p[parent]);
    size_t found = NOBODY;

    for (int axis = 0; axis < 2; axis++)
        c.at[axis] = near(c.at[axis], db->o.bins, rng);
    for (size_t i = 0; i < db->len; i++) {
        struct cell x = evolve_cell(db, &db->p[i]);

        if (belongs(&db->p[i], ISLAND, island) &&
            memcmp(&x, &c, sizeof(c)) == 0)
            found = i;
    }
    return found;
}

/* The island's elite, at least its best. If the island has more programs than
 * are wanted, then neighbours in the grid, and then any. */
static void inspire(const struct evolve_db *db, struct list *l, size_t island,
                    struct rng *rng)
{
    size_t *ranked, n = evolve_ranked(db, island, &ranked);
    size_t wanted = db->o.inspirations;
    size_t top = (size_t)((double)wanted * db->o.elite_ratio);

    for (size_t i = 0; i < n && i < (top ? top : 1); i++)
        offer(db, l, ranked[i]);
    if (n > wanted) {
        size_t tries = 3 * (l->max - l->len);

        for (; tries > 0 && l->len < l->max; tries--) {
            size_t i = neighbour(db, l->at[0], island, rng);

            if (i != NOBODY)
                offer(db, l, i);
        }
        rng_shuffle(rng, ranked, n);
        for (size_t i = 0; i < n; i++)
            offer(db, l, ranked[i]);
    }
    free(ranked);
}

static void offer_inspirations(const struct evolve_db *db, struct list *l,
                               size_t island, struct rng *rng)
{
    size_t n = db->o.inspirations, *at;
    struct list own;

    if (n == 0)
        return;
    at = xcalloc(n + 1, sizeof(*at));
    own = (struct list){at, 1, n + 1};
    at[0] = l->at[0];
    inspire(db, &own, island, rng);
    for (size_t i = 1; i < own.len; i++)
        offer(db, l, at[i]);
    free(at);
}

static bool has_programs(const struct evolve_db *db, size_t island)
{
    for (size_t i = 0; i < db->len; i++)
        if (db->p[i].alive && db->p[i].island == island)
            return true;
    return false;
}

void evolve_db_sample(const struct evolve_db *db, size_t island,
                      struct rng *rng, struct evolve_pick *out)
{
    size_t at[EVOLVE_OTHERS_MAX + 1];
    struct list l = {at, 1, db->o.history_k + 1};
    bool empty = !has_programs(db, island);

    at[0] = draw_parent(db, empty ? 0 : island, empty, rng);
    offer_top(db, &l, rng);
    offer_inspirations(db, &l, empty ? db->p[at[0]].island : island, rng);
    *out = (struct evolve_pick){.parent = db->p[at[0]].attempt,
                                .others = l.len - 1};
    for (size_t i = 1; i < l.len; i++)
        out->other[i - 1] = db->p[at[i]].attempt;
}
