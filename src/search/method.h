/* method.h: what a method of the search is: a way to divide the work into
 * rounds (between two of them what was solved joins the archive), a way to
 * choose examples, and a few facts. docs/METHODS.md describes the five.
 *
 * To add one: a file method_NAME.c, and its name in METHODS
 * (options.h). */
#ifndef SEARCH_METHOD_H
#define SEARCH_METHOD_H

#include "search/options.h"

#include <stdbool.h>
#include <stddef.h>

struct search;
struct attempt;
struct subject;

/* Tasks that work on their own until a barrier. */
struct round {
    size_t number;   /* from 1, counted by the schedule */
    int iteration;   /* 0: each task has its own */
    int batch;       /* 0: rounds have no parts */
    int until;       /* attempts that a task may have made when it is over */
    size_t at_once;  /* tasks at work */
    size_t *subject; /* indices, in their order */
    size_t count, cap;
    size_t next;   /* the first that has not begun */
    size_t active; /* at work */
};

struct method {
    const char *name;
    bool two_stage;    /* a plan, then code; else a program at once */
    bool evolves;      /* keeps a population of programs for each task */
    bool refines;      /* an attempt is shown the one before it */
    bool may_be_eager; /* --order eager changes something */
    /* Fills the round after r->number - 1 others; false: there is none. */
    bool (*next_round)(struct search *s, struct round *r);
    /* Chooses the examples of an attempt. */
    void (*choose)(struct search *s, struct attempt *a);
};

#define METHOD_DECLARE(name) extern const struct method method_##name;
METHODS(METHOD_DECLARE, )
#undef METHOD_DECLARE

/* NULL: there is none of that name. */
const struct method *method_find(const char *name);

/* ---- what methods have in common ---- */

/* round.c: starts a round without tasks. */
void round_begin(struct round *r, int iteration, int batch, int until,
                 size_t at_once);
/* Adds tasks, from index `from` on, that may make another attempt in it, at
 * most `most`; true when the round has any. */
bool round_fill(const struct search *s, struct round *r, size_t from,
                size_t most);
/* One round for everything: nobody learns from others. */
bool round_single(struct search *s, struct round *r);

/* choose.c: the pack's seeds; members by likeness, by chance, by operators. */
void choose_seeds(struct search *s, struct attempt *a);
void choose_similar(struct search *s, struct attempt *a);
void choose_random(struct search *s, struct attempt *a);
void choose_covering(struct search *s, struct attempt *a);

#endif
