/* sharing.h: a run's side of a shared archive (shared.h). A separate thread
 * talks to the server, so that the loop never waits for a slow or dead one.
 * Without a server, kernels wait and the run continues; the thread tries again
 * after 1, 2, 4 … 30 s. Only the loop calls these functions.
 *
 * A kernel is on the run's disk before it is given, and stays in memory until
 * the server has it. A resumed run gives everything again; the server adds
 * nothing twice. */
#ifndef RUN_SHARING_H
#define RUN_SHARING_H

#include "io/loop.h"
#include "run/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sharing;

/* New kernels of the archive up to `version`, in their order. To keep one, copy
 * the struct and set it to zero; the others are released. */
typedef void sharing_fn(int64_t version, struct kernel *kernel, size_t n,
                        void *arg);
/* What there is to tell about the connection or a kernel. `bad` is false when
 * the server is back. */
typedef void sharing_word_fn(bool bad, const char *text, void *arg);

struct sharing_opts {
    const char *address, *dsl; /* copied */
    int64_t version;           /* what the run has read before */
    bool eager;                /* news come at once; else when asked for */
    sharing_fn *news;
    sharing_word_fn *word;
    void *arg;
};

struct sharing *sharing_open(struct loop *l, const struct sharing_opts *o,
                             struct err *e);
/* Ends at once. What has not reached the server is forgotten here. */
void sharing_close(struct sharing *x); /* may be NULL */

/* Asks for news: they come from the loop, once, within 5 s, also if there are
 * none or the server does not answer. */
void sharing_look(struct sharing *x);
/* Copies the kernel, to be added to the archive. */
void sharing_give(struct sharing *x, const struct kernel *k);
/* Runs the loop until all that was given is on the server, but no longer than
 * `ns`, and only until the next try fails. Returns how many are missing. */
size_t sharing_finish(struct sharing *x, int64_t ns);

#endif
