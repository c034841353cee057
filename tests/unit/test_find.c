/* Retrieval: nearest, random, covering; whom it never shows. */
#include "base/mem.h"
#include "search/find.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

#define DIM 3

static void add(struct find *f, int64_t entry, const char *task, float x,
                float y)
{
    static const char *const none[] = {NULL};
    const float v[DIM] = {x, y, 0};

    find_add(f, &(struct find_entry){entry, task, task, v, none});
}

/* The hits as "3 1 2". */
static const char *entries(const struct find *f, const struct find_query *q,
                           size_t k)
{
    static char text[256];
    struct find_hit hit[16];
    size_t n = find_pick(f, q, hit, k), at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%lld",
                               i ? " " : "", (long long)hit[i].entry);
    return text;
}

static void test_similar(void)
{
    static const float east[DIM] = {2, 0, 0}, nowhere[DIM] = {0};
    struct find *f = find_new(DIM);
    struct find_query q = {.mode = FIND_SIMILAR,
                           .task = "me",
                           .task_hash = "h",
                           .vector = east,
                           .visible = 100};
    struct find_hit hit[8];

    is(entries(f, &q, 3), "", "an empty index shows nothing");
    add(f, 1, "north", 0, 1);
    add(f, 2, "east", 5, 0);
    add(f, 3, "nowhere", 0, 0);
    add(f, 4, "west", -1, 0);
    add(f, 5, "east too", 0.1f, 0);
    add(f, 6, "north east", 1, 1);
    is(entries(f, &q, 3), "2 5 6", "the nearest, of equals the first to join");
    is(entries(f, &q, 9), "2 5 6 1 4 3", "no direction is the farthest of all");
    is(entries(f, &q, 0), "", "none when none is asked for");
    ok(find_pick(f, &q, hit, 8) == 6 && hit[0].cosine == 1 &&
           hit[2].cosine == 0.707107 && hit[3].cosine == 0 &&
           hit[4].cosine == -1 && hit[5].cosine == FIND_NO_COSINE,
       "cosines of any length of vector, rounded to 6 digits");
    q.vector = nowhere;
    is(entries(f, &q, 3), "1 2 3", "without a direction: the first to join");
    find_free(f);
}

static void test_equal_digits(void)
{
    static const float query[DIM] = {1, 0, 0};
    struct find *f = find_new(DIM);
    struct find_query q = {.mode = FIND_SIMILAR, .vector = query, .visible = 9};

    add(f, 1, "a", 1, 0.0002f);
    add(f, 2, "b", 1, 0.0001f);
    add(f, 3, "c", 1, 0.01f);
    is(entries(f, &q, 3), "1 2 3", "what 6 digits cannot tell apart is equal");
    find_free(f);
}

static void test_never_shown(void)
{
    static const char *const none[] = {NULL};
    static const float v[DIM] = {1, 0, 0};
    struct find *f = find_new(DIM);
    struct find_query q = {
        .task = "L1/1", .task_hash = "h1", .vector = v, .visible = 100};
    struct rng rng;
    bool never = true;

    find_add(f, &(struct find_entry){1, "L1/1", "other", v, none});
    find_add(f, &(struct find_entry){2, "seed", "h1", v, none});
    find_add(f, &(struct find_entry){3, "L1/2", "h2", v, none});
    find_add(f, &(struct find_entry){4, "L1/3", "", v, NULL});
    is(entries(f, &q, 4), "3 4", "neither the task itself nor its twin");
    q.mode = FIND_COVERAGE;
    is(entries(f, &q, 4), "3 4", "also where operators decide");
    q.mode = FIND_RANDOM;
    for (int i = 0; i < 50; i++) {
        struct find_hit hit[4];

        rng_init(&rng, "%d", i);
        q.rng = &rng;
        never &= find_pick(f, &q, hit, 4) == 2 && hit[0].entry >= 3 &&
                 hit[1].entry >= 3;
    }
    ok(never, "also at random");
    q = (struct find_query){.task_hash = "", .vector = v, .visible = 100};
    is(entries(f, &q, 4), "1 2 3 4", "no hash is nobody's twin");
    find_free(f);
}

/* A task that was solved and the seed it is a copy of: one of them is shown. */
static void test_twins(void)
{
    static const char *const relu[] = {"relu", NULL}, *const all[] = {
                                                          "relu", "sum", "exp",
                                                          NULL};
    static const float near[DIM] = {1, 0, 0}, far[DIM] = {0, 1, 0};
    struct find *f = find_new(DIM);
    struct rng rng;
    struct find_query q = {.mode = FIND_SIMILAR,
                           .task = "me",
                           .task_hash = "h",
                           .vector = near,
                           .ops = all,
                           .rng = &rng,
                           .visible = 100};
    struct find_hit hit[8];
    bool both = false;

    find_add(f, &(struct find_entry){1, "seed", "same", near, relu});
    find_add(f, &(struct find_entry){2, "other", "else", far, all});
    find_add(f, &(struct find_entry){3, "task", "same", near, relu});
    is(entries(f, &q, 3), "1 2", "twins take one place: the first to join");
    q.mode = FIND_COVERAGE;
    is(entries(f, &q, 3), "2 1", "also where operators are covered");
    q.mode = FIND_RANDOM;
    for (int i = 0; i < 50; i++) {
        rng_init(&rng, "twins/%d", i);
        both |=
            find_pick(f, &q, hit, 3) != 2 || hit[0].entry + hit[1].entry == 4;
    }
    ok(!both, "and at random");
    find_free(f);
}

static void test_snapshot(void)
{
    static const float v[DIM] = {1, 0, 0};
    struct find *f = find_new(DIM);
    struct find_query q = {.mode = FIND_SIMILAR, .vector = v};
    size_t before;

    add(f, 10, "a", 0, 1);
    add(f, 20, "b", 1, 1);
    before = find_count(f);
    add(f, 30, "c", 1, 0);
    q.visible = before;
    is(entries(f, &q, 3), "20 10", "a snapshot sees nobody who joined later");
    find_remove(f, 20);
    is(entries(f, &q, 3), "10", "and nobody else when one is removed");
    q.visible = find_count(f);
    is(entries(f, &q, 3), "30 10", "a new snapshot sees the others");
    find_remove(f, 99);
    add(f, 20, "b", 1, 1);
    q.visible = find_count(f);
    is(entries(f, &q, 3), "30 20 10", "what was removed may join again");
    q.visible = 0;
    is(entries(f, &q, 3), "", "a snapshot of nothing");
    find_free(f);
}

static void test_random(void)
{
    struct find *f = find_new(DIM);
    struct find_query q = {.mode = FIND_RANDOM, .visible = 100};
    int first[5] = {0}, any[5] = {0};
    bool distinct = true, compared = false;
    struct rng rng;
    char *once;

    for (int64_t i = 0; i < 5; i++)
        add(f, i, (const char *[]){"a", "b", "c", "d", "e"}[i], 1, (float)i);
    find_remove(f, 4);
    q.rng = &rng;
    rng_init(&rng, "stream");
    once = xstrdup(entries(f, &q, 3));
    rng_init(&rng, "stream");
    is(entries(f, &q, 3), once, "one stream is one choice");
    free(once);
    for (int i = 0; i < 4000; i++) {
        struct find_hit hit[3];

        distinct &=
            find_pick(f, &q, hit, 3) == 3 && hit[0].entry != hit[1].entry &&
            hit[1].entry != hit[2].entry && hit[0].entry != hit[2].entry;
        first[hit[0].entry]++;
        for (int h = 0; h < 3; h++) {
            any[hit[h].entry]++;
            compared |= hit[h].cosine != FIND_NO_COSINE;
        }
    }
    ok(distinct, "three different ones");
    ok(!compared, "which were not compared");
    for (int i = 0; i < 4; i++)
        ok(abs(first[i] - 1000) < 150 && abs(any[i] - 3000) < 150,
           "%d: a quarter of the first places, three quarters of all", i);
    ok(any[4] == 0, "the removed one never");
    find_free(f);
}

static void test_coverage(void)
{
    static const float v[DIM] = {1, 0, 0}, near[DIM] = {1, 0.1f, 0},
                       far[DIM] = {0, 1, 0};
    static const char *const
        relu[] = {"relu", NULL},
        *const norm[] = {"softmax", "layer_norm", NULL},
        *const pool[] = {"MaxPool2d", NULL}, *const none[] = {NULL},
        *const task[] = {"LayerNorm", "relu", "ReLU", "max_pool2d", NULL},
        *const two[] = {"relu", "LayerNorm", NULL};
    struct find *f = find_new(DIM);
    struct find_query q = {
        .mode = FIND_COVERAGE, .vector = v, .ops = task, .visible = 100};

    find_add(f, &(struct find_entry){1, "1", "1", near, none});
    find_add(f, &(struct find_entry){2, "2", "2", far, relu});
    find_add(f, &(struct find_entry){3, "3", "3", near, relu});
    find_add(f, &(struct find_entry){4, "4", "4", near, norm});
    find_add(f, &(struct find_entry){5, "5", "5", far, pool});
    is(entries(f, &q, 5), "3 4 5 1 2",
       "each operator once, nearest first, then joined first; then the "
       "nearest");
    find_add(f, &(struct find_entry){6, "6", "6", far, two});
    is(entries(f, &q, 3), "6 5 1", "who shows two comes before who shows one");
    q.ops = none;
    is(entries(f, &q, 3), "1 3 4", "nothing to cover: the nearest");
    q.ops = NULL;
    is(entries(f, &q, 3), "1 3 4", "no operators known: the nearest");
    find_free(f);
}

#define ROWS (TOPK_PANEL + 3) /* a panel, and a part of one */

/* Against plain sums in doubles. */
static void test_cosines(void)
{
    static const size_t dims[] = {1, 7, 8, 33, 384, 1000, 1024};
    static float v[ROWS][1024], unit[1024], panels[2 * TOPK_PANEL * 1024];
    static uint32_t place[1024];
    struct rng rng;

    rng_init(&rng, "vectors");
    for (size_t d = 0; d < COUNT(dims); d++) {
        size_t dim = dims[d];
        int32_t cosine[ROWS];
        bool right = true;

        for (size_t r = 0; r < ROWS; r++) {
            for (size_t i = 0; i < dim; i++)
                v[r][i] = i % 3 ? (float)(rng_unit(&rng) - 0.3) : 0;
            v[r][0] = 0.5f;
            right &= topk_unit(unit, v[r], dim);
            topk_put(panels, r, unit, dim);
        }
        topk_unit(unit, v[0], dim);
        topk_cosines(unit, panels, ROWS, dim, place, cosine);
        for (size_t r = 0; r < ROWS; r++) {
            double ab = 0, aa = 0, bb = 0;

            for (size_t i = 0; i < dim; i++) {
                ab += (double)v[0][i] * (double)v[r][i];
                aa += (double)v[0][i] * (double)v[0][i];
                bb += (double)v[r][i] * (double)v[r][i];
            }
            right &= fabs(cosine[r] / 1e6 - ab / sqrt(aa * bb)) < 2e-6;
        }
        ok(right, "%zu places: the cosines of %d vectors", dim, ROWS);
    }
}

/* A vector gives the same figure wherever it lies. */
static void test_order_of_vectors(void)
{
    static float v[1024], unit[1024], panels[2 * TOPK_PANEL * 1024];
    static uint32_t place[1024];
    int32_t cosine[ROWS];
    bool same = true;
    struct rng rng;

    rng_init(&rng, "rows");
    for (size_t i = 0; i < 1024; i++)
        v[i] = (float)(rng_unit(&rng) - 0.5);
    topk_unit(unit, v, 1024);
    for (size_t r = 0; r < ROWS; r++)
        topk_put(panels, r, unit, 1024);
    topk_cosines(unit, panels, ROWS, 1024, place, cosine);
    for (size_t r = 1; r < ROWS; r++)
        same &= cosine[r] == cosine[0];
    ok(same && cosine[0] == 1000000,
       "in any place of a panel: the same cosine");
}

static void test_no_direction(void)
{
    static const float bad[][DIM] = {{0}, {1, NAN, 0}, {INFINITY, 0, 0}};
    float row[8];

    for (size_t i = 0; i < 3; i++)
        ok(!topk_unit(row, bad[i], DIM) && row[0] == 0 && row[1] == 0,
           "zero, NaN and infinity have no direction");
}

SUITE(find)
{
    test_similar();
    test_equal_digits();
    test_never_shown();
    test_twins();
    test_snapshot();
    test_random();
    test_coverage();
    test_cosines();
    test_order_of_vectors();
    test_no_direction();
}
