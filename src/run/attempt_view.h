/* attempt_view.h: an attempt of a run: its prompts, replies and texts, a value with texts
 * of its own, unless a field says otherwise. What a model wrote is given as it was
 * stored: treat it as untrusted. */
#ifndef RUN_ATTEMPT_VIEW_H
#define RUN_ATTEMPT_VIEW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "run/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attempt_example {
    int64_t rank, entry;
    const char *name, *origin; /* "?" and NULL: the entry is not stored */
    double cosine;             /* -2: not compared */
    const char *reason;        /* "piece", or NULL: see struct row_shown */
};

struct attempt_message {
    const char *role;
    struct str text;
    size_t first; /* length of the first part: in a system message, what all
                     prompts with the pack start with */
};

/* A call to the model. */
struct attempt_call {
    struct row_call row;             /* texts are borrowed from the run */
    struct attempt_message *message; /* the prompt; none: it is not stored */
    size_t messages;
    struct str reply, thought;
};

struct attempt_view {
    struct {
        const char *verdict;
    } line;
    struct row_attempt row; /* texts are borrowed from the run */
    struct attempt_example *example;
    size_t examples;
    struct attempt_call *call; /* in the order of asking */
    size_t calls;
    struct str plan, code, feedback; /* p NULL: there is none */
    struct arena memory;
};

int run_attempt_view_make(struct run_view *v, const struct run_attempt *a,
                          struct attempt_view *out, struct err *e);
void run_attempt_view_release(struct attempt_view *a);

/* The last call for this purpose ("plan", "code", …), or NULL; without a
 * purpose, the last of the calls that wrote plan or code. */
const struct attempt_call *run_attempt_view_call(const struct attempt_view *a,
                                                 const char *purpose);

#endif
