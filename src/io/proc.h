/* proc.h: runs a program with input, collects its output, and ends it at a
 * deadline. The child is spawned, never forked, and leads its own process group,
 * so that its descendants can be killed with it. It inherits only descriptors 0, 1
 * and 2, no blocked signals and no handlers. Signals from the terminal do not
 * reach it: stop it with proc_kill() or proc_free().
 *
 * How a child ends is a result; an error means that it could not be started. */
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
    const char *const *argv; /* NULL-terminated; argv[0] without '/': on PATH */
    const char *const
        *env;        /* "NAME=value", ends with NULL; NULL: ours without API
                                keys */
    const char *cwd; /* NULL: ours; a relative argv[0] starts there */
    const void *in;  /* bytes for stdin, borrowed until the end */
    size_t in_len;   /* 0: stdin is empty */
    size_t out_limit, err_limit; /* bytes kept of stdout and of stderr */
    bool kill_past_limit;        /* else the rest is read and discarded */
    int64_t timeout_ns;          /* then the group is killed; 0: no limit */
    int64_t grace_ns; /* from SIGTERM to SIGKILL; 0: SIGKILL at once */
};

struct proc_result {
    int exit_code; /* -1 when a signal ended it */
    int signal;    /* 0 when it exited by itself */
    bool timed_out;
    bool out_truncated, err_truncated;
    struct buf out, err;
    int64_t wall_ns; /* from the start to the child's end */
};

/* Called once, from the loop. `r` belongs to `p` and is valid until proc_free(),
 * which may be called from here. Keep output with buf_take(). */
typedef void proc_done_fn(struct proc *p, struct proc_result *r, void *arg);

/* Starts the child. Of `o` only the bytes at `in` are needed afterwards. The
 * caller frees the result with proc_free(). */
struct proc *proc_start(struct loop *l, const struct proc_opts *o,
                        proc_done_fn *done, void *arg, struct err *e);
/* Sends SIGKILL to the whole group; `done` is still called. */
void proc_kill(struct proc *p);
/* Kills what still runs, without calling `done`; the loop reaps it. */
void proc_free(struct proc *p);

void proc_result_release(struct proc_result *r);

/* ---- several programs, a number of them at a time ---- */

struct procs_item {
    struct proc_opts opts;
    struct proc_result result; /* the caller releases it */
    struct err failed;         /* kind ERR_NONE: it was started */
};

/* Runs all of them, at most `at_once` at a time, and calls `ended` after each. That
 * a program cannot be started is recorded in its item, and is not an error. */
int procs_run(struct procs_item *item, size_t n, size_t at_once,
              void (*ended)(size_t done, void *arg), void *arg, struct err *e);

#endif
