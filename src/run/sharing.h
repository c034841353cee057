/* sharing.h: a run's end of a shared archive (shared.h). A thread of its own
 * talks to the server, so that neither a slow nor a dead one keeps the loop
 * waiting. Without a server, kernels wait and the run goes on; the thread tries
 * again after 1, 2, 4 … 30 s. All functions are the loop's.
 *
 * What has been given stays in memory until the server has it, and is on the
 * disk of the run before it is given. A run that is continued gives everything
 * again: what the server has is not added twice. */
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
