/* attempt_view.h: an attempt of a run: its prompts, replies and result, as a
 * line of a table or in full. Both are values with their own texts, unless a
 * field says otherwise. What a model wrote is given as it was stored: treat it
 * as untrusted. */
#ifndef RUN_ATTEMPT_VIEW_H
#define RUN_ATTEMPT_VIEW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "run/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attempt_line {
    int64_t number, same_as; /* earlier attempt with the same code, or 0 */
    const char *verdict;
    const char *stage, *evidence, *rule; /* NULL: none */
    const char *error; /* the first line that says something; NULL: none */
    double speedup;    /* over the eager reference; NaN: not measured */
    const char *implausible; /* why that is hard to believe; NULL: it is not */
    const char **shown;      /* names of the examples, in their order */
    size_t shown_len;
    int64_t tokens_in, tokens_out, usd_micro;
    bool estimated; /* the provider did not report all usage */
    bool solved;
};

/* A task, with a line for each finished attempt. */
struct attempt_list {
    const char *id, *skipped;
    struct str reference; /* its file */
    struct attempt_line *line;
    size_t lines;
    struct arena memory;
};

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
    struct attempt_line line;
    struct row_attempt row; /* texts are borrowed from the run */
    struct attempt_example *example;
    size_t examples;
    struct attempt_call *call; /* in the order of asking */
    size_t calls;
    struct str plan, code, feedback; /* p NULL: there is none */
    json_t *record; /* as verify --json prints it; NULL: there is none */
    struct arena memory;
};

int run_attempt_list_make(struct run_view *v, const struct run_task *t,
                          struct attempt_list *out, struct err *e);
void run_attempt_list_release(struct attempt_list *t);

int run_attempt_view_make(struct run_view *v, const struct run_attempt *a,
                          struct attempt_view *out, struct err *e);
void run_attempt_view_release(struct attempt_view *a);

/* The last call for this purpose ("plan", "code", …), or NULL; without a
 * purpose, the last of the calls that wrote plan or code. */
const struct attempt_call *run_attempt_view_call(const struct attempt_view *a,
                                                 const char *purpose);

/* The last attempt before that has code; NULL: there is none. */
const struct run_attempt *run_attempt_view_before(const struct run_task *t,
                                                  const struct attempt_view *a);
/* Appends what changed in the code since then, as diff -u shows it. */
int run_attempt_view_diff(struct run_view *v, const struct run_attempt *before,
                          const struct attempt_view *a, struct buf *out,
                          struct err *e);

/* As --json prints them; the caller owns the reference. `a` may be NULL. */
json_t *run_attempt_view_json(const struct attempt_list *t,
                              const struct attempt_view *a);

#endif
