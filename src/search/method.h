/* method.h: a method of the search: how it divides the work into rounds, how
 * it chooses examples, and a few facts. docs/METHODS.md describes the five.
 *
 * A task ends with its first correct kernel. If that is archivable (at E3), it joins
 * the archive; otherwise the task has no entry, unless --no-stop lets it go on
 * and a later kernel is. In strict order, the default, it joins at the barrier
 * at the end of the round. In eager order, it joins at once, and the round has
 * no barrier. Methods without `may_be_eager` ignore --order eager.
 *
 * To add one: a struct in method.c, and its name in METHODS (search.h). */
#ifndef SEARCH_METHOD_H
#define SEARCH_METHOD_H

#include <stdbool.h>
#include <stddef.h>

struct search;
struct attempt;
struct task_state;

/* The tasks that are worked on before the next barrier. In strict order, they
 * do not see each other's results. */
struct round {
    size_t number;  /* from 1, counted by the schedule */
    int iteration;  /* 0: it is the number of the attempt */
    int batch;      /* monkeys: the mini-batch of the iteration; combined: the
                        phase; 0: none */
    int until;      /* a task leaves after this attempt */
    size_t at_once; /* tasks that may be at work */
    size_t *task;   /* indices of the tasks */
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
    void (*choose)(struct search *s, struct attempt *a);
};

/* NULL: no method has that name. */
const struct method *method_find(const char *name);
/* Chooses the examples of an attempt, as the method does, and with --piece-example a
 * solved piece of the task. */
void method_choose(struct search *s, struct attempt *a);

#endif
