/* loop.h: the event loop: descriptors, timers, signals and exits of children, one
 * callback at a time, all in the calling thread.
 *
 * A source is known by its id. Ids are never reused, so removing one twice is
 * harmless. A callback may remove any source, including its own; an event already
 * fetched for it is dropped. A loop does not own descriptors: remove the source,
 * then close the descriptor.
 *
 * There may be any number of loops. No function may be called from another thread;
 * a thread wakes a loop through an eventfd added as a source. */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

typedef void loop_fd_fn(int fd, unsigned events, void *arg);
typedef void loop_timer_fn(void *arg);
typedef void loop_signal_fn(int signo, void *arg);
/* What waitid() reports: si_code, si_status; si_pid is 0 when the child was reaped
 * elsewhere. During the call the child is still a zombie, so its pid and process
 * group cannot be reused yet. It is reaped when the call returns. */
typedef void loop_child_fn(const siginfo_t *info, void *arg);

struct loop *loop_new(struct err *e);
/* Forgets all sources without calling them; not from inside loop_run(). */
void loop_free(struct loop *l);

/* The add functions return the id, or 0 and fill `e`. */

/* Calls back while `fd` is ready for what `interest` names (level-triggered).
 * A hang-up or an error is reported as all of the interest: the next read or
 * write tells which. Files that epoll cannot watch are refused. */
uint64_t loop_add_fd(struct loop *l, int fd, unsigned interest, loop_fd_fn *fn,
                     void *arg, struct err *e);
/* Interest 0 reports nothing, not even hang-ups. A removed id is a BUG. */
int loop_set_interest(struct loop *l, uint64_t id, unsigned interest,
                      struct err *e);
/* Calls back once, at `at_ns` of tick_now_ns() or later. Cannot fail. Timers due
 * at the same time run in the order in which they were added. */
uint64_t loop_add_timer(struct loop *l, int64_t at_ns, loop_timer_fn *fn,
                        void *arg);
/* Calls back once, when the current callback has returned: a timer due now. */
uint64_t loop_defer(struct loop *l, loop_timer_fn *fn, void *arg);
/* Blocks `signo` until the source is removed, and calls back instead. Add signals
 * before other threads start, so that they inherit the mask. Of several sources
 * for one signal, only one is called. Does not keep loop_run() running. */
uint64_t loop_add_signal(struct loop *l, int signo, loop_signal_fn *fn,
                         void *arg, struct err *e);
/* Calls back when the user wants the program to stop: for SIGINT, SIGTERM and
 * SIGHUP (a closed terminal), unless nohup has made it ignore the last. */
int loop_add_stops(struct loop *l, loop_signal_fn *fn, void *arg,
                   struct err *e);
/* Calls back once, when the child has ended, and reaps it. `fn` NULL: only
 * reaps. A child whose source is removed is the caller's to reap. */
uint64_t loop_add_child(struct loop *l, pid_t pid, loop_child_fn *fn, void *arg,
                        struct err *e);

/* False when it was removed before. */
bool loop_remove(struct loop *l, uint64_t id);

/* Returns when no source but signals is left, or after loop_stop(). */
void loop_run(struct loop *l);
/* The same for at most `ns` (0: what is ready now); true when it returned before
 * that. */
bool loop_run_for(struct loop *l, int64_t ns);
/* Ends loop_run() after the current callback; pending events wait for the next
 * run. */
void loop_stop(struct loop *l);

#endif
