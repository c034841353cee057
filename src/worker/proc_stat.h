/* proc_stat.h: what the kernel tells about processes. */
#ifndef WORKER_PROC_STAT_H
#define WORKER_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The fields of /proc/PID/stat after the name, from the state on, in `line`;
 * NULL if there is no such process. */
const char *proc_stat(pid_t pid, char *line, size_t cap);

/* Processor time of the process and of children that it has waited for, in
 * nanoseconds (counted in clock ticks); 0 if there is no such process. */
int64_t proc_stat_time_ns(pid_t pid);
/* Whether it computes, or would if it had a processor. */
bool proc_stat_runs(pid_t pid);

/* Both for the process and all its descendants: the time of all, and whether
 * one of them runs. */
struct proc_tree {
    int64_t used_ns;
    bool runs;
};
struct proc_tree proc_stat_tree(pid_t pid);

#endif
