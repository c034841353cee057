/* library.h: the shared objects of a plan. The runner holds them as files in
 * memory; the process of a call loads them. */
#ifndef RUNNER_LIBRARY_H
#define RUNNER_LIBRARY_H

#include "runner/answer.h"
#include "runner/plan.h"

struct library {
    void *handle; /* once loaded */
    int fd;
};

/* Makes a file of `m`, without a name on any disk. */
int library_hold(struct library *l, const struct plan_module *m,
                 struct answer *a);
void library_release(struct library *l);

/* Loads it into this process. */
int library_open(struct library *l, struct answer *a);
/* The address of a function, or NULL after filling in the answer. */
void *library_find(const struct library *l, const char *name, struct answer *a);

/* Builds the arguments of a library function: numbers, and addresses relative
 * to `base`. They live in the arena. */
void library_bind(struct plan_launch *l, uint64_t base, struct arena *arena);
void library_call(void *function, const struct plan_launch *l);

#endif
