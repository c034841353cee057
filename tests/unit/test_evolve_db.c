/* The population of an evolution: who is drawn, who stays, who moves. */
#include "base/buf.h"
#include "search/evolve_db.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct rng chance;

/* OpenEvolve 0.3.2 as it comes: five islands, up to seven others. */
static const struct evolve_opts openevolve = {
    .islands = 5,
    .initial_fitness = 0.05,
    .history_k = 7,
    .num_top = 3,
    .num_diverse = 2,
    .inspirations = 2,
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

/* A code of so many characters, all different from codes of other lengths. */
static const char *code_of(size_t chars)
{
    static char text[4096];

    memset(text, 'x', chars);
    text[chars] = '\0';
    return text;
}

static void add(struct evolve_db *db, int64_t attempt, size_t chars,
                double fitness)
{
    evolve_db_add(db, evolve_db_island(db, attempt), attempt, code_of(chars),
                  fitness, &chance);
}

static struct evolve_pick pick(const struct evolve_db *db, size_t island)
{
    struct evolve_pick p;

    evolve_db_sample(db, island, &chance, &p);
    return p;
}

static size_t count_alive(const struct evolve_db *db, int64_t attempt)
{
    size_t n = 0;

    for (size_t i = 0; i < db->len; i++)
        n += db->p[i].alive && db->p[i].attempt == attempt;
    return n;
}

/* ---- the parent ---- */

static void test_parents(void)
{
    struct evolve_opts o = evolve_opts_paper;
    static const double fitness[] = {0.05, 1.0, 0.5, 0.2, 0.1};
    double sum = 0, want[5];
    const int draws = 40000;
    int got[5] = {0};
    struct evolve_db *db;

    o.archive = 2;
    db = evolve_db_new(&o, "initial");
    for (int64_t t = 1; t < 5; t++)
        add(db, t, (size_t)(100 * t), fitness[t]);
    for (int i = 0; i < 5; i++)
        sum += fitness[i];
    for (int i = 0; i < 5; i++)
        want[i] =
            0.2 / 5 + (i == 1 || i == 2 ? 0.7 / 2 : 0) + 0.1 * fitness[i] / sum;
    for (int i = 0; i < draws; i++)
        got[pick(db, 0).parent]++;
    for (int i = 0; i < 5; i++)
        ok(fabs((double)got[i] / draws - want[i]) < 0.01,
           "program %d is parent in %.3f of the draws, as 0.2 / 0.7 / 0.1 say",
           i, want[i]);
    evolve_db_free(db);
}

static void test_empty_island(void)
{
    struct evolve_db *db = evolve_db_new(&openevolve, "initial");
    struct evolve_pick p = pick(db, 3);
    bool known = true, own = true;

    ok(p.parent == 0 && p.others == 0, "at first there is the initial program");
    add(db, 1, 10, 0.4);
    add(db, 2, 20, 0.4);
    for (int i = 0; i < 200; i++) {
        p = pick(db, 3);
        known &= p.parent >= 0 && p.parent <= 2;
        own &= pick(db, 1).parent == 2;
    }
    ok(known, "an empty island draws from the others");
    ok(own, "one that is not keeps to itself");
    evolve_db_free(db);
}

/* ---- what is shown ---- */

static void test_others(void)
{
    struct evolve_db *db = evolve_db_new(&evolve_opts_paper, "initial");
    bool best = true, distinct = true;

    add(db, 1, 100, 0.3);
    add(db, 2, 200, 0.2);
    add(db, 3, 300, 0.1);
    add(db, 4, 400, 0.2);
    add(db, 5, 500, 0.1);
    add(db, 6, 100, 0.3); /* the first again */
    for (int i = 0; i < 200; i++) {
        struct evolve_pick p = pick(db, 0);
        bool first = p.parent == 1 || p.parent == 6;

        best &=
            p.others == 3 && (first || p.other[0] == 6) &&
            (p.parent != 0 || (p.other[1] == 4 && p.other[2] == 2)) &&
            (!first || (p.other[0] == 4 && p.other[1] == 2 && p.other[2] == 5));
        for (size_t k = 0; k < p.others; k++)
            distinct &= p.other[k] != p.parent;
    }
    ok(best, "three others by fitness, the later first among equals");
    ok(distinct, "the parent is none of them, nor a copy of it");
    evolve_db_free(db);
}

static void test_stock_others(void)
{
    struct evolve_opts o = openevolve;
    struct evolve_db *db;
    bool few = true, inspired = true, drawn[21] = {false};
    size_t seen = 0;

    o.islands = 1;
    db = evolve_db_new(&o, "initial");
    for (int64_t t = 1; t <= 20; t++)
        add(db, t, (size_t)(40 * t), 0.9 - 0.01 * (double)t);
    for (int i = 0; i < 300; i++) {
        struct evolve_pick p = pick(db, 0);

        few &= p.others >= 5 && p.others <= 7;
        for (size_t k = 5; k < p.others; k++)
            drawn[p.other[k]] = true;
    }
    ok(few, "three best, two next, up to two more");
    for (int i = 0; i <= 20; i++)
        seen += drawn[i];
    ok(seen > 10, "anyone may inspire (%zu did)", seen);
    evolve_db_free(db);

    o.num_top = o.num_diverse = 0;
    o.history_k = 2;
    db = evolve_db_new(&o, "initial");
    for (int64_t t = 1; t <= 9; t++)
        add(db, t, (size_t)(40 * t), 0.9 - 0.01 * (double)t);
    for (int i = 0; i < 300; i++) {
        struct evolve_pick p = pick(db, 0);

        inspired &= p.others == 2 && (p.parent == 1 || p.other[0] == 1) &&
                    p.other[0] != p.other[1] && p.other[1] != p.parent;
    }
    ok(inspired, "inspirations begin with the island's best");
    evolve_db_free(db);
}

/* ---- the grid ---- */

static void test_traits(void)
{
    const char *e = "\xc3\xa9\xc3\xa9"; /* two characters, four bytes */

    ok(evolve_distance("ab\n", "abc") == 11,
       "a line is 10, two characters are 1");
    ok(evolve_distance(e, "") == 2 * 0.1 + 0 * 10.0 + 1 * 0.5,
       "characters are counted, not bytes");
    ok(evolve_distance("abc", e) == 1 * 0.1 + 0 * 10.0 + 4 * 0.5,
       "a character of length is 0.1");
}

static bool in_cell(const struct evolve_db *db, size_t i, size_t x, size_t y)
{
    return db->p[i].cell.at[0] == x && db->p[i].cell.at[1] == y;
}

static void test_cells(void)
{
    struct evolve_opts o = evolve_opts_paper;
    struct evolve_db *db;

    o.initial_fitness = 0.1; /* keeps its cell */
    db = evolve_db_new(&o, code_of(100));
    add(db, 1, 200, 0.1);
    add(db, 2, 150, 0.1);
    add(db, 3, 110, 0.1);
    ok(in_cell(db, 0, 5, 0), "the first alone: the middle, and no diversity");
    ok(in_cell(db, 1, 9, 5), "the longest as yet: the last bin");
    /* Diversities: 10 to one other; (5 + 5) / 2 to two; (1 + 9 + 4) / 3. */
    ok(db->p[1].diversity == 10 && db->p[2].diversity == 5 &&
           fabs(db->p[3].diversity - 14.0 / 3) < 1e-12,
       "diversity is the mean distance to the others");
    ok(in_cell(db, 2, 5, 0) && in_cell(db, 3, 1, 0),
       "bins go by what came before");
    evolve_db_free(db);
}

/* Two codes alone: the ranges stay, so equal codes meet in one cell. */
static void test_replacement(void)
{
    struct evolve_db *db = evolve_db_new(&evolve_opts_paper, "initial");

    add(db, 1, 500, 0.2);
    add(db, 2, 500, 0.2);
    ok(count_alive(db, 1) == 1 && count_alive(db, 2) == 1 && db->p[1].owner &&
           !db->p[2].owner,
       "who equals the owner of a cell joins without it");
    add(db, 3, 500, 0.1);
    ok(count_alive(db, 3) == 1 && !db->p[3].owner, "and so does who is worse");
    add(db, 4, 500, 0.3);
    ok(count_alive(db, 1) == 0 && db->p[4].owner && db->p[4].seated,
       "who is better takes the cell, and the owner leaves");
    ok(count_alive(db, 2) == 1, "others of that cell stay");
    ok(evolve_db_look(db, 0).programs == 4 && db->seated == 4 &&
           evolve_db_look(db, 0).cells == 2,
       "island and archive lost one and gained one");
    ok(db->best == 4, "the best program is known");
    add(db, 5, 900, 0.3);
    ok(db->best == 4, "one that is only as good does not replace it");
    evolve_db_free(db);
}

static void test_references(void)
{
    struct evolve_opts o = evolve_opts_paper;
    struct evolve_db *db;
    bool has_initial = false, has_copy = false, has_long = false;

    o.references = 3;
    db = evolve_db_new(&o, "i");
    for (int64_t t = 1; t <= 3; t++)
        add(db, t, 1, 0.2);
    ok(db->references == 2, "copies are not measured again");
    add(db, 4, 100, 0.2);
    for (size_t r = 0; r < db->references; r++) {
        has_initial |= db->reference[r] == 0;
        has_copy |= db->reference[r] >= 1 && db->reference[r] <= 3;
        has_long |= db->reference[r] == 4;
    }
    ok(db->references == 3 && has_initial && has_copy && has_long,
       "more programs than references: those farthest apart");
    add(db, 5, 2000, 0.2);
    ok(db->references == 3 && db->reference[0] != 5 && db->reference[1] != 5 &&
           db->reference[2] != 5,
       "a full set of references stays");
    evolve_db_free(db);
}

/* ---- limits ---- */

static void test_archive(void)
{
    struct evolve_opts o = evolve_opts_paper;
    struct evolve_db *db;

    o.archive = 2;
    db = evolve_db_new(&o, "initial");
    add(db, 1, 500, 0.5);
    ok(db->p[0].seated && db->p[1].seated, "an archive with room takes anyone");
    add(db, 2, 500, 0.4);
    ok(!db->p[0].seated && db->p[2].seated, "a full one who beats its worst");
    add(db, 3, 500, 0.4);
    ok(db->p[2].seated && !db->p[3].seated, "but not who equals it");
    add(db, 4, 500, 0.6);
    ok(!db->p[1].seated && db->p[2].seated && db->p[4].seated,
       "who takes a cell takes the owner's seat");
    ok(db->seated == 2, "and the archive stays full");
    evolve_db_free(db);
}

static void test_population(void)
{
    struct evolve_opts o = evolve_opts_paper;
    struct evolve_db *db;

    o.population = 4;
    db = evolve_db_new(&o, "initial");
    add(db, 1, 500, 0.9);
    add(db, 2, 500, 0.8);
    add(db, 3, 500, 0.7);
    ok(db->alive == 4, "up to the limit all stay");
    add(db, 4, 500, 0.6);
    ok(db->alive == 4 && count_alive(db, 3) == 0 && count_alive(db, 4) == 1,
       "one too many: the worst without a cell leaves, not the newcomer");
    ok(count_alive(db, 0) == 1, "who owns a cell stays, even if worse");
    evolve_db_free(db);

    o.population = 2;
    db = evolve_db_new(&o, "initial");
    add(db, 1, 500, 0.9);
    add(db, 2, 500, 0.8);
    ok(db->alive == 2 && count_alive(db, 0) == 0 && count_alive(db, 1) == 1,
       "owners leave when there is no one else, but never the best");
    evolve_db_free(db);
}

/* ---- islands ---- */

static void test_five_islands(void)
{
    struct evolve_db *db = evolve_db_new(&openevolve, "initial");
    bool even = true;

    for (int64_t t = 1; t <= 25; t++)
        add(db, t, (size_t)(30 * t), 0.1);
    for (size_t i = 0; i < 5; i++) {
        struct evolve_island look = evolve_db_look(db, i);

        even &= look.generations == 5 && look.programs == 5 + (i == 0);
    }
    ok(even, "25 attempts on five islands: five each, and the initial program");
    evolve_db_free(db);
}

/* How far round the ring of five an island is from where an attempt was. */
static size_t steps_from_home(const struct evolve_db *db,
                              const struct evolve_program *p)
{
    size_t home = p->attempt ? evolve_db_island(db, p->attempt) : 0;
    size_t way = (p->island + 5 - home) % 5;

    return way < 5 - way ? way : 5 - way;
}

static void test_migration(void)
{
    struct evolve_opts o = openevolve;
    struct evolve_db *db;
    size_t came[5] = {0};
    bool near = true;

    o.migration_interval = 2;
    db = evolve_db_new(&o, "initial");
    for (int64_t t = 1; t <= 5; t++)
        add(db, t, (size_t)(100 * t), 0.4 + 0.05 * (double)t);
    ok(db->len == 6, "before the interval nobody moves");
    add(db, 6, 600, 0.1);
    for (size_t i = 0; i < db->len; i++)
        if (db->p[i].migrant)
            came[db->p[i].island]++;
    ok(came[0] == 2 && came[1] == 2 && came[2] == 2 && came[3] == 2 &&
           came[4] == 2,
       "each island sends its best to both neighbours");
    ok(count_alive(db, 6) == 1, "who is not the best stays at home");
    for (int64_t t = 7; t <= 40; t++)
        add(db, t, (size_t)(100 * t), 0.1);
    for (size_t i = 0; i < db->len; i++)
        near &= steps_from_home(db, &db->p[i]) <= 1 &&
                db->p[i].migrant == (steps_from_home(db, &db->p[i]) == 1);
    ok(near, "a migrant does not move on");
    ok(db->len == 41 + 10, "nor does who is there already");
    evolve_db_free(db);

    o.islands = 1;
    db = evolve_db_new(&o, "initial");
    for (int64_t t = 1; t <= 20; t++)
        add(db, t, (size_t)(100 * t), 0.1);
    ok(db->len == 21, "one island has nowhere to send to");
    evolve_db_free(db);
}

/* ---- a whole evolution ---- */

/* Attempts whose codes and fitness follow from their parents; the lineage as
 * text. */
static char *lineage(const struct evolve_opts *o, int seed)
{
    struct evolve_db *db = evolve_db_new(o, code_of(300));
    struct buf text = BUF_INIT;

    for (int64_t t = 1; t <= 400; t++) {
        size_t island = evolve_db_island(db, t);
        struct evolve_pick p;
        struct rng r;

        rng_init(&r, "%d/task/%lld/evolve", seed, (long long)t);
        evolve_db_sample(db, island, &r, &p);
        buf_printf(&text, "%lld<%lld", (long long)t, (long long)p.parent);
        for (size_t i = 0; i < p.others; i++)
            buf_printf(&text, ",%lld", (long long)p.other[i]);
        buf_putc(&text, '\n');
        evolve_db_add(db, island, t, code_of(1 + (size_t)(p.parent * 37) % 900),
                      (double)((t * 7919) % 100) / 100, &r);
    }
    evolve_db_free(db);
    return buf_take(&text, NULL);
}

static void test_lineage(void)
{
    const struct evolve_opts *const all[] = {&evolve_opts_paper, &openevolve};

    for (size_t i = 0; i < 2; i++) {
        char *a = lineage(all[i], 1), *b = lineage(all[i], 1),
             *c = lineage(all[i], 2);

        is(b, a, "the same streams give the same lineage");
        ok(strcmp(a, c) != 0, "others give another");
        free(a);
        free(b);
        free(c);
    }
}

SUITE(evolve_db)
{
    rng_init(&chance, "evolve_db");
    test_parents();
    test_empty_island();
    test_others();
    test_stock_others();
    test_traits();
    test_cells();
    test_replacement();
    test_references();
    test_archive();
    test_population();
    test_five_islands();
    test_migration();
    test_lineage();
}
