/* child.h: one candidate's process: its socket until the judge has it, its
 * output, its deadline, its memory group. */
#ifndef WORKER_CHILD_H
#define WORKER_CHILD_H

#include "base/buf.h"
#include "io/loop.h"
#include "io/server.h"
#include "worker/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_OUTPUT ((size_t)65536) /* bytes of its last output kept */

struct job;
struct zygote;

struct child {
    struct child *next;
    struct loop *loop;
    struct zygote *owner;
    struct job *job; /* NULL: waits for one, or is not wanted any more */
    char name[32];
    pid_t pid;     /* the keeper of its box */
    int pidfd;     /* -1 until the zygote has forked it */
    int judge_end; /* our end of its socket; -1 once the judge has it */
    int pipe;      /* its stdout and stderr */
    uint64_t pipe_id, timer;
    int64_t asked_ns; /* when it was last asked for: to be made, or to end */
    int64_t stage_ns, stage_began_ns; /* its deadline, and since when */
    const char *over; /* what it is killed for when that has passed */
    int64_t used_ns;  /* processor time that its box had used by then */
    struct buf output;
    struct cgroup group;
    const char *killed; /* "timeout", "late", "memory", or NULL */
    uint64_t resident;  /* its largest process, in bytes, as its zygote says */
    bool spare;         /* kept ready, and no job has had it */
    bool wanted_dead;
};

/* Asks the zygote for it. */
struct child *child_new(struct loop *l, struct server *zygote, const char *name,
                        uint64_t memory, struct err *e);
/* The zygote has forked it; takes the descriptor. */
void child_born(struct child *c, pid_t pid, int pidfd);
/* Leaves its memory group to the caller. */
void child_free(struct child *c);

/* It must be told another deadline within `ms` (0: none), or is killed for
 * `why`. Its time begins when it is born. Where others keep the processors busy,
 * its own processor time counts: it gets as much longer as it had to wait for
 * them, and at most CHILD_SLOWEST times `ms`. */
#define CHILD_SLOWEST 8
void child_deadline(struct child *c, int64_t ms, const char *why);
/* How much of its own time it has spent since then, counted in the same way:
 * what it computed, or all the time when it did next to nothing. */
int64_t child_spent_ns(const struct child *c);
void child_kill(struct child *c, const char *why);
/* Reads what is left of its output. */
void child_drain(struct child *c);
/* How it ended, as the judge is told: what it was killed for, or `status`. */
const char *child_why(const struct child *c, const char *status);
/* The most memory it has had, when it is dead: of its group, or without one of
 * its largest process, pages that it shares with its zygote included. */
uint64_t child_peak(const struct child *c);

/* ---- whether a program that owes us an answer is still working on it ----
 *
 * A program that computes may take long; one that neither answers nor uses a
 * processor, nor waits for one, is stuck. So patience is counted in time
 * without progress, and only a far longer time ends a busy one. */

struct health {
    int64_t asked_ns; /* 0: it owes nothing */
    int64_t idle_ns;  /* seen without progress for so long */
    int64_t looked_ns;
    int64_t used; /* processor time at the last look */
};

/* It was asked something now. Asking again changes nothing. */
void health_asked(struct health *h, pid_t pid);
void health_answered(struct health *h);
bool health_owes(const struct health *h);
/* To be called again and again while it owes an answer. Where it waits for a
 * child of its own (0: none), that makes progress for it. */
bool health_stuck(struct health *h, pid_t pid, pid_t child,
                  int64_t patience_ns);

#endif
