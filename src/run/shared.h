/* shared.h: an archive on a PostgreSQL server, which several runs on several
 * hosts read and add to. docs/SCALE.md describes its table.
 *
 * Kernels are numbered from 1 in the order in which they were added: the number
 * of the last one is the version of the archive. Nothing is changed or removed,
 * so a version always means the same kernels. The hash of its pack, task and
 * solution identifies a kernel, and no kernel is there twice.
 *
 * Rows are foreign bytes: each is checked as the folder of a kernel is, and its
 * hash is computed again. Functions wait for the server, as pg.h says. */
#ifndef RUN_SHARED_H
#define RUN_SHARED_H

#include "base/hash.h"
#include "io/loop.h"
#include "run/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- rows ---- */

/* A kernel as bytes. Owned by the row; p NULL: none. */
struct shared_row {
    char hash[HASH_HEX], task_hash[HASH_HEX];
    struct str name, dsl;
    struct str task, sidecar, plan, solution, ported, meta;
};
void shared_row_of(const struct kernel *k, struct shared_row *out);
void shared_row_seal(struct shared_row *r); /* sets its hash */
void shared_row_release(struct shared_row *r);
/* Checks the row, and makes a kernel of it, which owns its texts. */
int shared_kernel_of(const struct shared_row *r, struct kernel *out,
                     struct err *e);

/* ---- the archive ---- */

struct shared;

enum shared_mode {
    SHARED_READ,  /* an archive that does not exist yet is empty */
    SHARED_WRITE, /* creates it */
};
/* `stop_fd`: see pg_open(). */
struct shared *shared_open(const char *address, enum shared_mode mode,
                           int stop_fd, struct err *e);
void shared_close(struct shared *s); /* may be NULL */

#define SHARED_NEWEST ((int64_t)-1)
struct shared_range {
    const char *dsl; /* NULL: kernels of all packs; else of this one, and those
                        that name none */
    int64_t after, until; /* versions; `until` is read, too */
};

/* Calls `fn` for each kernel of the range, in the order of versions, until it
 * returns other than 0. A row that is not a kernel comes as NULL, with the
 * reason. The kernel is released after each call; to keep it, `fn` copies the
 * struct and sets *k to zero. If `until` is SHARED_NEWEST, it is set to the
 * newest version. */
typedef int shared_fn(struct kernel *k, int64_t number, const struct err *why,
                      void *arg, struct err *e);
int shared_each(struct shared *s, struct shared_range *range, shared_fn *fn,
                void *arg, struct err *e);

/* 1: added, and all who listen hear of it; 0: it was there. */
int shared_add(struct shared *s, const struct shared_row *r, struct err *e);
/* 1: has a kernel for a task with this hash in this language, 0: none. */
int shared_knows(struct shared *s, const char *dsl, const char *task_hash,
                 struct err *e);

/* ---- a run's side of it ----
 *
 * A separate thread talks to the server, so that the loop never waits for a slow or dead
 * one. Without a server, kernels wait and the run continues; the thread tries again after
 * 1, 2, 4 … 30 s. Only the loop calls these functions.
 *
 * A kernel is on the run's disk before it is given, and stays in memory until the server
 * has it. A resumed run gives everything again; the server adds nothing twice. */

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
