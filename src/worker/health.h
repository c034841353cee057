/* health.h: whether a program that owes us an answer is still working on it.
 *
 * A program that computes may take long; one that neither answers nor uses a
 * processor, nor waits for one, is stuck. So patience is counted in time
 * without progress, and only a far longer time ends a busy one. */
#ifndef WORKER_HEALTH_H
#define WORKER_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* ---- what the kernel tells about processes ---- */

/* The fields of /proc/PID/stat after the name, from the state on, in `line`;
 * NULL if there is no such process. */
const char *health_stat(pid_t pid, char *line, size_t cap);

/* Both for the process and all its descendants: the time of all, and whether
 * one of them runs. */
struct health_tree {
    int64_t used_ns;
    bool runs;
};
struct health_tree health_tree(pid_t pid);

#endif
