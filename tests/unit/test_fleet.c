/* test_fleet.c: every piece of work is answered once, by one worker, in memory that
 * is there. */
#include "tap.h"
#include "verify/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char fence[FLEET_FENCE];

/* "WORK>WORKER" of the next lease, or "-". */
static const char *next(struct fleet *f)
{
    static char text[80];
    void *work, *worker;

    if (!fleet_lease(f, &work, &worker, fence))
        return "-";
    snprintf(text, sizeof(text), "%s>%s", (const char *)work,
             (const char *)worker);
    return text;
}

static void test_order(void)
{
    struct fleet *f = fleet_new(FLEET_DEATHS);
    struct worker *w;

    fleet_add(f, "t", (void *)"a");
    fleet_add(f, "t", (void *)"b");
    is(next(f), "-", "without a worker work waits");
    w = fleet_join(f, 1, 0, (void *)"w");
    is(next(f), "a>w", "the first goes out");
    is(next(f), "-", "as many as there are slots");
    is(fleet_answer(f, w, fence, 0), "a", "its answer is accepted");
    ok(!fleet_answer(f, w, fence, 0), "once");
    is(next(f), "b>w", "then the next goes out");
    ok(fleet_counts(f).fenced == 1, "what was not accepted is counted");
    fleet_free(f);
}

static void test_fence(void)
{
    struct fleet *f = fleet_new(FLEET_DEATHS);
    struct worker *a, *b;
    char old[FLEET_FENCE];
    void *lost;

    fleet_add(f, "t", (void *)"x");
    fleet_add(f, "t", (void *)"y");
    a = fleet_join(f, 1, 0, (void *)"a");
    is(next(f), "x>a", "leased");
    memcpy(old, fence, sizeof(old));
    fleet_leave(f, a);
    b = fleet_join(f, 2, 0, (void *)"b");
    is(next(f), "x>b", "what a lost worker had goes out first, again");
    ok(strcmp(old, fence) != 0, "under another fence");
    ok(!fleet_answer(f, b, old, 0), "the old fence does not hold");
    is(fleet_answer(f, b, fence, 0), "x", "the new one does");
    for (int i = 0; i < FLEET_DEATHS; i++) {
        is(next(f), i ? "y>c" : "y>b", "work that loses its worker");
        fleet_leave(f, b);
        b = fleet_join(f, 1, 0, (void *)"c");
    }
    ok(fleet_next_lost(f, &lost) && strcmp(lost, "y") == 0 &&
           !fleet_next_lost(f, &lost),
       "is given up after the third");
    is(next(f), "-", "and not sent again");
    fleet_free(f);
}

static void test_truths(void)
{
    struct fleet *f = fleet_new(FLEET_DEATHS);
    struct worker *a = fleet_join(f, 1, 0, (void *)"a");
    struct worker *b = fleet_join(f, 1, 0, (void *)"b");
    char other[FLEET_FENCE];

    fleet_add(f, "t1", (void *)"1");
    fleet_add(f, "t2", (void *)"2");
    is(next(f), "1>b", "one each");
    memcpy(other, fence, sizeof(other));
    is(next(f), "2>a", "to those that are free");
    fleet_add(f, "t2", (void *)"3");
    fleet_add(f, "t1", (void *)"4");
    fleet_add(f, "t3", (void *)"5");
    fleet_answer(f, b, other, 0);
    is(next(f), "4>b", "a worker prefers the task that it knows");
    fleet_answer(f, b, fence, 0);
    is(next(f), "5>b", "then one that nobody knows");
    fleet_answer(f, b, fence, 0);
    is(next(f), "3>b", "and rather one of another's than none");
    ok(fleet_counts(f).cached == 1, "one of five found its truth");
    (void)a;
    fleet_free(f);
}

static void test_refuse(void)
{
    struct fleet *f = fleet_new(FLEET_DEATHS);
    struct worker *a = fleet_join(f, 1, 0, (void *)"a");
    struct worker *b;

    fleet_add(f, "t", (void *)"x");
    next(f);
    ok(!fleet_refuse(f, a, fence), "who is alone cannot pass work on");
    b = fleet_join(f, 1, 0, (void *)"b");
    ok(fleet_refuse(f, a, fence), "with another it can");
    is(next(f), "x>b", "which then gets it");
    ok(!fleet_refuse(f, b, fence), "but only once");
    is(fleet_answer(f, b, fence, 0), "x", "and then it is answered");
    fleet_free(f);
}

/* Eight devices of unequal memory; tasks need what they need, and it is learnt. */
static void test_memory(void)
{
    static const uint64_t sizes[8] = {16, 24, 40, 80, 80, 96, 141, 192};
    static char names[8][2];
    struct worker *w[8];
    struct {
        size_t worker, need;
        char fence[FLEET_FENCE];
    } out[512];
    struct fleet *f = fleet_new(FLEET_DEATHS);
    size_t open = 0, answered = 0, over = 0, given = 0;
    uint32_t random = 12345;

    for (size_t i = 0; i < 8; i++) {
        names[i][0] = (char)('0' + i);
        w[i] = fleet_join(f, 4, sizes[i], names[i]);
    }
    while (answered < 2000) {
        void *work, *worker;
        char key[20];

        random = random * 1664525 + 1013904223;
        if (given < 2000 && random >> 31) {
            size_t need = 2 + (random >> 8) % 60; /* of 60 tasks */

            snprintf(key, sizeof(key), "task %zu", need);
            fleet_add(f, key, (void *)(uintptr_t)need);
            given++;
        }
        while (fleet_lease(f, &work, &worker, fence)) {
            out[open].worker = (size_t)(((char *)worker)[0] - '0');
            out[open].need = (size_t)(uintptr_t)work;
            memcpy(out[open++].fence, fence, sizeof(fence));
        }
        for (size_t i = 0; i < 8; i++)
            over += worker_counts(w[i]).memory_taken > sizes[i];
        if (open && (random & 1 || given == 2000)) {
            size_t i = (random >> 4) % open;

            fleet_answer(f, w[out[i].worker], out[i].fence, out[i].need);
            answered++;
            out[i] = out[--open];
        }
    }
    ok(over == 0, "no device is given more than its memory");
    ok(fleet_counts(f).waiting == 0 && fleet_counts(f).leased == 0,
       "and all 2,000 are answered");
    ok(fleet_counts(f).cached * 2 > fleet_counts(f).leases,
       "%zu of %zu found their truth cached", fleet_counts(f).cached,
       fleet_counts(f).leases);
    fleet_free(f);
}

/* A worker that found nothing is not forgotten. */
static void test_looked_at_again(void)
{
    struct fleet *f = fleet_new(FLEET_DEATHS);
    struct worker *w = fleet_join(f, 4, 100, (void *)"w");
    char large[FLEET_FENCE];

    fleet_add(f, "large", (void *)"l1");
    next(f);
    fleet_answer(f, w, fence, 80); /* 100 with what is added */
    fleet_add(f, "small", (void *)"s1");
    next(f);
    fleet_answer(f, w, fence, 1);
    fleet_add(f, "large", (void *)"l2");
    is(next(f), "l2>w", "it takes all the memory");
    memcpy(large, fence, sizeof(large));
    fleet_add(f, "small", (void *)"s2");
    is(next(f), "-", "so another has to wait");
    fleet_answer(f, w, large, 40);
    is(next(f), "s2>w", "until there is room");
    fleet_add(f, "large", (void *)"l3");
    is(next(f), "l3>w", "what needs less than was thought has room, too");
    fleet_add(f, "large", (void *)"l4");
    is(next(f), "-", "but not twice");
    fleet_add(f, "small", (void *)"s3");
    is(next(f), "s3>w", "smaller work does not wait behind it");
    fleet_join(f, 1, 200, (void *)"v");
    is(next(f), "l4>v", "and one that joins takes what waits");
    fleet_free(f);
}

static void test_too_large(void)
{
    struct fleet *f = fleet_new(FLEET_DEATHS);
    struct worker *w = fleet_join(f, 2, 100, (void *)"small");

    fleet_add(f, "t", (void *)"1");
    next(f);
    fleet_answer(f, w, fence, 150);
    fleet_add(f, "t", (void *)"2");
    is(next(f), "-", "what needs more than there is waits");
    ok(fleet_too_large(f) == 150, "and is told of");
    fleet_join(f, 1, 200, (void *)"large");
    is(next(f), "2>large", "until a larger device comes");
    fleet_free(f);
}

SUITE(fleet)
{
    test_order();
    test_fence();
    test_truths();
    test_refuse();
    test_memory();
    test_looked_at_again();
    test_too_large();
}
