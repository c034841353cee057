/* evolve_db.c: the population of a task: where a program belongs, which programs join,
 * leave and migrate, and what the next attempt starts from.
 *
 * Runs are compared with OpenEvolve's, so its rules are kept to the letter, also where
 * they look odd: diversity is measured once, against references that stay; a cell is
 * never computed again, although the grid's ranges widen. The order of the draws from
 * `rng` is part of what a seed means: a draw more or less, also one whose result is not
 * used, changes every later attempt of a run that is continued. */
#include "search/evolve_db.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const struct evolve_opts evolve_opts_paper = {
    .islands = 1,
    .initial_fitness = 0.05,
    .history_k = 3,
    .num_top = 3,
    .num_diverse = 0,
    .inspirations = 0,
    .elite_ratio = 0.1,
    .exploration = 0.2,
    .exploitation = 0.7,
    .population = 1000,
    .archive = 100,
    .bins = 10,
    .references = 20,
    .migration_interval = 50,
    .migration_rate = 0.1,
};

/* ---- traits ---- */

static int evolve_by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Counts characters; a byte that is not UTF-8 counts as one. */
static void traits_init(struct evolve_traits *t, const char *code)
{
    size_t n = strlen(code), valid = str_utf8_check(code, n), kept = 0;

    *t = (struct evolve_traits){.set = xcalloc(n, sizeof(*t->set))};
    for (size_t i = 0; i < n; t->chars++) {
        uint32_t c = (unsigned char)code[i];

        t->lines += c == '\n';
        i += i < valid ? str_utf8_decode(code + i, valid - i, &c) : 1;
        t->set[t->chars] = c;
    }
    qsort(t->set, t->chars, sizeof(*t->set), evolve_by_value);
    for (size_t i = 0; i < t->chars; i++)
        if (i == 0 || t->set[i] != t->set[i - 1])
            t->set[kept++] = t->set[i];
    t->set_len = kept;
    t->set = xreallocarray(t->set, kept + 1, sizeof(*t->set));
}

static void traits_release(struct evolve_traits *t)
{
    free(t->set);
}

static size_t traits_gap(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Characters that only one of the two has. */
static size_t unshared(const struct evolve_traits *a,
                       const struct evolve_traits *b)
{
    size_t i = 0, j = 0, both = 0;

    while (i < a->set_len && j < b->set_len) {
        uint32_t x = a->set[i], y = b->set[j];

        both += x == y;
        i += x <= y;
        j += y <= x;
    }
    return a->set_len + b->set_len - 2 * both;
}

static double traits_distance(const struct evolve_traits *a,
                              const struct evolve_traits *b)
{
    return (double)traits_gap(a->chars, b->chars) * 0.1 +
           (double)traits_gap(a->lines, b->lines) * 10.0 +
           (double)unshared(a, b) * 0.5;
}

double evolve_distance(const char *a, const char *b)
{
    struct evolve_traits x, y;
    double d;

    traits_init(&x, a);
    traits_init(&y, b);
    d = traits_distance(&x, &y);
    traits_release(&x);
    traits_release(&y);
    return d;
}

/* ---- diversity ---- */

static bool same_code(const struct evolve_program *a,
                      const struct evolve_program *b)
{
    return strcmp(a->code, b->code) == 0;
}

/* The living programs in the order of coming. */
static size_t living(const struct evolve_db *db, size_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < db->len; i++)
        if (db->p[i].alive)
            out[n++] = i;
    return n;
}

/* The distance of a program to the nearest one that is already chosen. */
static double to_nearest(const struct evolve_db *db, size_t i)
{
    double least = -1;

    for (size_t r = 0; r < db->references; r++) {
        double d =
            traits_distance(&db->p[i].traits, &db->p[db->reference[r]].traits);

        if (least < 0 || d < least)
            least = d;
    }
    return least;
}

/* Begins with a random program, then always takes the one farthest from those
 * chosen. */
static void spread(struct evolve_db *db, size_t *left, size_t n,
                   struct rng *rng)
{
    size_t next = (size_t)rng_below(rng, n);

    db->references = 0;
    for (;;) {
        double most = -1;

        db->reference[db->references++] = left[next];
        memmove(left + next, left + next + 1, (n - next - 1) * sizeof(*left));
        n--;
        if (db->references == db->o.references)
            return;
        for (size_t i = 0; i < n; i++) {
            double d = to_nearest(db, left[i]);

            if (d > most) {
                most = d;
                next = i;
            }
        }
    }
}

/* What diversity is measured against: all programs while they are few, then a
 * choice that stays. */
static void update_references(struct evolve_db *db, struct rng *rng)
{
    size_t *all, n;

    if (db->references == db->o.references)
        return;
    all = xcalloc(db->len, sizeof(*all));
    n = living(db, all);
    if (n <= db->o.references) {
        memcpy(db->reference, all, n * sizeof(*all));
        db->references = n;
    } else {
        spread(db, all, n, rng);
    }
    free(all);
}

static double diversity_of(const struct evolve_db *db,
                           const struct evolve_program *p)
{
    double sum = 0;
    size_t n = 0;

    for (size_t r = 0; r < db->references; r++) {
        const struct evolve_program *ref = &db->p[db->reference[r]];

        if (same_code(ref, p))
            continue;
        sum += traits_distance(&p->traits, &ref->traits);
        n++;
    }
    return n ? sum / (double)n : 0;
}

/* ---- the grid ---- */

static void evolve_widen(struct evolve_range *r, double value)
{
    if (!r->any || value < r->min)
        r->min = value;
    if (!r->any || value > r->max)
        r->max = value;
    r->any = true;
}

static size_t bin(const struct evolve_range *r, double value, size_t bins)
{
    double part = 0.5;
    size_t i;

    if (r->max > r->min)
        part = (value - r->min) / (r->max - r->min);
    i = (size_t)(part * (double)bins);
    return i < bins ? i : bins - 1;
}

/* Measures the program at `i` and widens the grid's ranges to include it. */
static void evolve_measure(struct evolve_db *db, size_t i, struct rng *rng)
{
    struct evolve_program *p = &db->p[i];

    evolve_widen(&db->complexity, (double)p->traits.chars);
    if (db->alive < 2)
        return; /* nothing to differ from */
    for (size_t j = 0; j < i && !p->measured; j++)
        if (db->p[j].measured && same_code(&db->p[j], p)) {
            p->diversity = db->p[j].diversity;
            p->measured = true;
        }
    if (!p->measured) {
        update_references(db, rng);
        p->diversity = diversity_of(db, p);
        p->measured = true;
    }
    evolve_widen(&db->diversity, p->diversity);
}

/* Its cell under the ranges as they are now. */
static struct evolve_cell evolve_cell_of(const struct evolve_db *db,
                                         const struct evolve_program *p)
{
    return (struct evolve_cell){
        {bin(&db->complexity, (double)p->traits.chars, db->o.bins),
         p->measured ? bin(&db->diversity, p->diversity, db->o.bins) : 0}};
}

#define NOBODY SIZE_MAX

/* The living programs of an island, best first, later first among equals. The caller
 * frees the list. */
static size_t evolve_ranked(const struct evolve_db *db, size_t island,
                            size_t **out)
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

static bool evolve_belongs(const struct evolve_program *p, enum circle who,
                           size_t island)
{
    bool here = p->island == island;

    if (who == SEATED)
        return p->seated;
    if (who == ISLAND_SEATED)
        return p->seated && here;
    return p->alive && (here || who == EVERYBODY);
}

/* Any of a group, with equal probability; NOBODY when it is empty. */
static size_t draw_any(const struct evolve_db *db, enum circle who,
                       size_t island, struct rng *rng)
{
    size_t n = 0, nth, i = 0;

    for (i = 0; i < db->len; i++)
        n += evolve_belongs(&db->p[i], who, island);
    if (n == 0)
        return NOBODY;
    nth = (size_t)rng_below(rng, n);
    for (i = 0; !evolve_belongs(&db->p[i], who, island) || nth-- > 0;)
        i++;
    return i;
}

static double weight(const struct evolve_program *p)
{
    return p->fitness > 0.001 ? p->fitness : 0.001;
}

static size_t draw_by_fitness(const struct evolve_db *db, size_t island,
                              struct rng *rng)
{
    double sum = 0, point;
    size_t last = NOBODY;

    for (size_t i = 0; i < db->len; i++)
        if (evolve_belongs(&db->p[i], ISLAND, island))
            sum += weight(&db->p[i]);
    point = rng_unit(rng) * sum;
    for (size_t i = 0; i < db->len; i++) {
        if (!evolve_belongs(&db->p[i], ISLAND, island))
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
        i = draw_any(db, ISLAND, island, rng);
    } else if (r < db->o.exploration + db->o.exploitation) {
        i = draw_any(db, ISLAND_SEATED, island, rng);
        if (i == NOBODY)
            i = draw_any(db, SEATED, island, rng);
    } else if (empty) {
        i = draw_any(db, EVERYBODY, island, rng);
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
    struct evolve_cell c = evolve_cell_of(db, &db->p[parent]);
    size_t found = NOBODY;

    for (int axis = 0; axis < 2; axis++)
        c.at[axis] = near(c.at[axis], db->o.bins, rng);
    for (size_t i = 0; i < db->len; i++) {
        struct evolve_cell x = evolve_cell_of(db, &db->p[i]);

        if (evolve_belongs(&db->p[i], ISLAND, island) &&
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

/* ---- leaving ---- */

static void leave(struct evolve_db *db, struct evolve_program *p)
{
    db->alive--;
    db->seated -= p->seated;
    p->alive = p->seated = p->owner = false;
}

/* ---- joining ---- */

static struct evolve_program *owner_of(struct evolve_db *db, size_t island,
                                       struct evolve_cell cell)
{
    for (size_t i = 0; i < db->len; i++) {
        struct evolve_program *p = &db->p[i];

        if (p->owner && p->island == island &&
            memcmp(&p->cell, &cell, sizeof(cell)) == 0)
            return p;
    }
    return NULL;
}

static void seat(struct evolve_db *db, struct evolve_program *p)
{
    p->seated = true;
    db->seated++;
}

/* A program takes its cell if the cell is empty or its owner has lower fitness.
 * That owner leaves the island, and its seat in the archive goes to the new
 * one. A program without a cell joins the island, too. */
static void contend(struct evolve_db *db, struct evolve_program *p)
{
    struct evolve_program *old = owner_of(db, p->island, p->cell);

    if (old && !(p->fitness > old->fitness))
        return;
    p->owner = true;
    if (!old)
        return;
    if (old->seated)
        seat(db, p);
    leave(db, old);
}

/* The archive takes any program while it has room, then only one that is better
 * than its worst. */
static void consider_for_archive(struct evolve_db *db, struct evolve_program *p)
{
    struct evolve_program *worst = NULL;

    if (p->seated)
        return;
    if (db->seated < db->o.archive) {
        seat(db, p);
        return;
    }
    for (size_t i = 0; i < db->len; i++) {
        struct evolve_program *x = &db->p[i];

        if (x->seated && (!worst || x->fitness < worst->fitness))
            worst = x;
    }
    if (worst && p->fitness > worst->fitness) {
        worst->seated = false;
        db->seated--;
        seat(db, p);
    }
}

/* Removes the worst first, and owners of cells last; never the best program or
 * the new one. */
static void limit_population(struct evolve_db *db,
                             const struct evolve_program *newest)
{
    while (db->alive > db->o.population) {
        struct evolve_program *out = NULL;

        for (size_t i = 0; i < db->len; i++) {
            struct evolve_program *x = &db->p[i];

            if (!x->alive || x == newest || i == db->best)
                continue;
            if (!out || x->owner < out->owner ||
                (x->owner == out->owner && x->fitness < out->fitness))
                out = x;
        }
        if (!out)
            return;
        leave(db, out);
    }
}

/* Who wants to join. */
struct comer {
    int64_t attempt;
    const char *code;
    double fitness;
    size_t island;
    bool migrant;
};

static void evolve_join(struct evolve_db *db, const struct comer *c,
                        struct rng *rng)
{
    size_t i = db->len++;
    struct evolve_program *p;

    db->p = xgrow(db->p, &db->cap, i, sizeof(*db->p));
    p = &db->p[i];
    *p = (struct evolve_program){.attempt = c->attempt,
                                 .code = xstrdup(c->code),
                                 .fitness = c->fitness,
                                 .island = c->island,
                                 .migrant = c->migrant,
                                 .alive = true};
    db->alive++;
    traits_init(&p->traits, p->code);
    evolve_measure(db, i, rng);
    p->cell = evolve_cell_of(db, p);
    contend(db, p);
    consider_for_archive(db, p);
    limit_population(db, p);
    if (p->fitness > db->p[db->best].fitness)
        db->best = i;
}

/* ---- migration ---- */

static bool has_code(const struct evolve_db *db, size_t island,
                     const char *code)
{
    for (size_t i = 0; i < db->len; i++)
        if (db->p[i].alive && db->p[i].island == island &&
            strcmp(db->p[i].code, code) == 0)
            return true;
    return false;
}

/* Copies a program, unless it is a migrant itself or is there already. */
static void copy_to(struct evolve_db *db, size_t i, size_t island,
                    struct rng *rng)
{
    const struct evolve_program *p = &db->p[i];
    struct comer copy = {p->attempt, p->code, p->fitness, island, true};

    if (!p->migrant && !has_code(db, island, p->code))
        evolve_join(db, &copy, rng);
}

static void migrate(struct evolve_db *db, struct rng *rng)
{
    size_t islands = db->o.islands;

    for (size_t i = 0; i < islands; i++) {
        size_t *top, n = evolve_ranked(db, i, &top);
        size_t count = (size_t)((double)n * db->o.migration_rate);

        if (count == 0 && n)
            count = 1;
        for (size_t k = 0; k < count; k++) {
            copy_to(db, top[k], (i + 1) % islands, rng);
            copy_to(db, top[k], (i + islands - 1) % islands, rng);
        }
        free(top);
    }
}

static void migrate_when_due(struct evolve_db *db, struct rng *rng)
{
    uint64_t most = 0;

    for (size_t i = 0; i < db->o.islands; i++)
        if (db->generation[i] > most)
            most = db->generation[i];
    if (most - db->migrated_at < db->o.migration_interval)
        return;
    if (db->o.islands > 1)
        migrate(db, rng);
    db->migrated_at = most;
}

/* ---- the interface ---- */

struct evolve_db *evolve_db_new(const struct evolve_opts *o,
                                const char *initial_code)
{
    struct evolve_db *db = xcalloc(1, sizeof(*db));
    struct comer first = {0, initial_code, o->initial_fitness, 0, false};

    if (o->islands == 0 || o->bins == 0 || o->references == 0 ||
        o->population == 0 || o->history_k > EVOLVE_OTHERS_MAX ||
        o->migration_rate > 1)
        BUG("the options of an evolution make no sense");
    db->o = *o;
    db->generation = xcalloc(o->islands, sizeof(*db->generation));
    db->reference = xcalloc(o->references, sizeof(*db->reference));
    evolve_join(db, &first,
                NULL); /* the first has nothing to be measured against */
    return db;
}

void evolve_db_free(struct evolve_db *db)
{
    for (size_t i = 0; i < db->len; i++) {
        free(db->p[i].code);
        traits_release(&db->p[i].traits);
    }
    free(db->p);
    free(db->generation);
    free(db->reference);
    free(db);
}

size_t evolve_db_island(const struct evolve_db *db, int64_t attempt)
{
    if (attempt < 1)
        BUG("attempt %lld has no island", (long long)attempt);
    return (size_t)(attempt - 1) % db->o.islands;
}

void evolve_db_add(struct evolve_db *db, size_t island, int64_t attempt,
                   const char *code, double fitness, struct rng *rng)
{
    struct comer c = {attempt, code, fitness, island, false};

    if (island >= db->o.islands)
        BUG("there is no island %zu", island);
    evolve_join(db, &c, rng);
    db->generation[island]++;
    migrate_when_due(db, rng);
}

struct evolve_island evolve_db_look(const struct evolve_db *db, size_t island)
{
    struct evolve_island look = {0, 0, db->generation[island]};

    for (size_t i = 0; i < db->len; i++)
        if (db->p[i].alive && db->p[i].island == island) {
            look.programs++;
            look.cells += db->p[i].owner;
        }
    return look;
}
