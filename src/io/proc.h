/* proc.h: run a program, feed it, collect what it says, and be rid of it in
 * time. The child is spawned, never forked, and leads a process group of its
 * own, so that its descendants can be killed with it. It inherits descriptors
 * 0, 1 and 2 only, no blocked signal and no handler. A signal from the
 * terminal's keyboard does not reach it: who stops the program stops the child
 * with proc_kill() or proc_free().
 *
 * How a child ends is a result. An error is what kept it from starting. */
#ifndef IO_PROC_H
#define IO_PROC_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;

struct proc_opts {
    const char *const *argv; /* ends with NULL; argv[0] without '/': on PATH */
    const char *const
        *env;        /* "NAME=value", ends with NULL; NULL: ours without API
                                keys */
    const char *cwd; /* NULL: ours; a relative argv[0] is seen from it */
    const void *in;  /* bytes for stdin, borrowed until the end */
    size_t in_len;   /* 0: stdin is empty */
    size_t out_limit, err_limit; /* bytes kept of stdout and of stderr */
    bool kill_past_limit;        /* else the rest is read and thrown away */
    int64_t timeout_ns; /* wall time, then the group is killed; 0: for ever */
    int64_t grace_ns;   /* from SIGTERM to SIGKILL; 0: SIGKILL at once */
};

struct proc_result {
    int exit_code; /* -1 when a signal ended it */
    int signal;    /* 0 when it exited by itself */
    bool timed_out;
    bool out_truncated, err_truncated;
    struct buf out, err;
    int64_t wall_ns; /* from the start to the child's end */
};

/* Called once, from the loop. `r` belongs to `p` and lives until proc_free(),
 * which may be called from here; bytes to be kept are taken with buf_take(). */
typedef void proc_done_fn(struct proc *p, struct proc_result *r, void *arg);

/* Starts the child; `o` is not needed afterwards, but for the bytes at `in`.
 * The caller frees the result with proc_free(). */
struct proc *proc_start(struct loop *l, const struct proc_opts *o,
                        proc_done_fn *done, void *arg, struct err *e);
/* SIGKILL to the whole group. The end is still told by `done`. */
void proc_kill(struct proc *p);
/* Kills what still runs; `done` is not called any more. The loop reaps. */
void proc_free(struct proc *p);

void proc_result_release(struct proc_result *r);

#endif
