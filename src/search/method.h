/* method.h: a method of the search: how it divides the work into rounds, how
 * it chooses examples, and a few facts. docs/METHODS.md describes the five.
 *
 * A task ends with its first correct kernel. If that is sealed (at E3), it joins
 * the archive; otherwise the task has no entry, unless --no-stop lets it go on
 * and a later kernel is. In strict order, the default, it joins at the barrier
 * at the end of the round. In eager order, it joins at once, and the round has
 * no barrier. Methods without `may_be_eager` ignore --order eager.
 *
 * To add one: a file method_NAME.c, and its name in METHODS (options.h). */
#ifndef SEARCH_METHOD_H
#define SEARCH_METHOD_H

#include "search/options.h"

#include <stdbool.h>
#include <stddef.h>

struct search;
struct attempt;
struct subject;

/* The tasks that are worked on before the next barrier. In strict order, they
 * do not see each other's results. */
struct round {
    size_t number;   /* from 1, counted by the schedule */
    int iteration;   /* 0: it is the number of the attempt */
    int batch;       /* monkeys: the mini-batch of the iteration; combined: the
                        phase; 0: none */
    int until;       /* a task leaves after this attempt */
    size_t at_once;  /* tasks that may be at work */
    size_t *subject; /* indices of the tasks */
    size_t count, cap;
    size_t after;  /* the place in the search's order where it ended */
    size_t next;   /* the first that has not started */
    size_t active; /* at work */
};

struct method {
    const char *name;
    bool two_stage;    /* a plan, then code; else a program at once */
    bool evolves;      /* keeps a population of programs for each task */
    bool refines;      /* an attempt is shown the one before it */
    bool may_be_eager; /* --order eager changes something */
    bool shows_run;    /* examples may be kernels of the run, not only pieces */
    /* Fills round r->number; false: the last one is over. */
    bool (*next_round)(struct search *s, struct round *r);
    /* Chooses the examples of an attempt. */
    void (*choose)(struct search *s, struct attempt *a);
};

#define METHOD_DECLARE(name) extern const struct method method_##name;
METHODS(METHOD_DECLARE, )
#undef METHOD_DECLARE

/* NULL: no method has that name. */
const struct method *method_find(const char *name);

/* ---- what methods have in common ---- */

/* round.c: starts a round without tasks. */
void round_begin(struct round *r, int iteration, int batch, int until,
                 size_t at_once);
/* Adds tasks from place `from` of the search's order on that have an attempt
 * left in this round, until it has `most` of them. All are of one depth, so
 * that pieces have joined the archive when tasks that need them begin; in eager
 * order there is one round. True when it has any. */
bool round_fill(const struct search *s, struct round *r, size_t from,
                size_t most);
/* A single round with all tasks of a depth: without pieces, there is no barrier
 * before the end. */
bool round_single(struct search *s, struct round *r);

/* choose.c: the pack's seeds; or any entries: similar ones, random ones, or a
 * set that covers the task's operators. Only monkeys, and combined from its
 * second phase on, use the last three, so only they show what the run itself
 * has added; except for choose_piece(), which any method may use. */
void choose_seeds(struct search *s, struct attempt *a);
void choose_similar(struct search *s, struct attempt *a);
void choose_random(struct search *s, struct attempt *a);
void choose_covering(struct search *s, struct attempt *a);
/* Shows a solved piece of the task: in the place of a twin if one is shown, else
 * after the others, or in place of the last. */
void choose_piece(struct search *s, struct attempt *a);

#endif
