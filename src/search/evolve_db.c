/* evolve_db.c: which programs join, leave and migrate. */
#include "search/evolve_db.h"

#include "base/mem.h"
#include "search/evolve_int.h"

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

/* ---- leaving ---- */

static void leave(struct evolve_db *db, struct program *p)
{
    db->alive--;
    db->seated -= p->seated;
    p->alive = p->seated = p->owner = false;
}

/* ---- joining ---- */

static struct program *owner_of(struct evolve_db *db, size_t island,
                                struct cell cell)
{
    for (size_t i = 0; i < db->len; i++) {
        struct program *p = &db->p[i];

        if (p->owner && p->island == island &&
            memcmp(&p->cell, &cell, sizeof(cell)) == 0)
            return p;
    }
    return NULL;
}

static void seat(struct evolve_db *db, struct program *p)
{
    p->seated = true;
    db->seated++;
}

/* A program takes its cell if the cell is empty or its owner has lower fitness.
 * That owner leaves the island, and its seat in the archive goes to the new
 * one. A program without a cell joins the island, too. */
static void contend(struct evolve_db *db, struct program *p)
{
    struct program *old = owner_of(db, p->island, p->cell);

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
static void consider_for_archive(struct evolve_db *db, struct program *p)
{
    struct program *worst = NULL;

    if (p->seated)
        return;
    if (db->seated < db->o.archive) {
        seat(db, p);
        return;
    }
    for (size_t i = 0; i < db->len; i++) {
        struct program *x = &db->p[i];

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
static void limit_population(struct evolve_db *db, const struct program *newest)
{
    while (db->alive > db->o.population) {
        struct program *out = NULL;

        for (size_t i = 0; i < db->len; i++) {
            struct program *x = &db->p[i];

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

static void join(struct evolve_db *db, const struct comer *c, struct rng *rng)
{
    size_t i = db->len++;
    struct program *p;

    db->p = xgrow(db->p, &db->cap, i, sizeof(*db->p));
    p = &db->p[i];
    *p = (struct program){.attempt = c->attempt,
                          .code = xstrdup(c->code),
                          .fitness = c->fitness,
                          .island = c->island,
                          .migrant = c->migrant,
                          .alive = true};
    db->alive++;
    traits_init(&p->traits, p->code);
    evolve_measure(db, i, rng);
    p->cell = evolve_cell(db, p);
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
    const struct program *p = &db->p[i];
    struct comer copy = {p->attempt, p->code, p->fitness, island, true};

    if (!p->migrant && !has_code(db, island, p->code))
        join(db, &copy, rng);
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
    join(db, &first, NULL); /* the first has nothing to be measured against */
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
    join(db, &c, rng);
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
