/* cgroup.h: a memory limit the kernel enforces, where this user may set one. */
#ifndef WORKER_CGROUP_H
#define WORKER_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup {
    char dir[700]; /* "": there is none */
    int version;
};

/* Makes a group with a memory limit below our own. False, and an empty `dir`,
 * where that is not allowed: the caller goes on without. */
bool cgroup_make(struct cgroup *g, const char *name, uint64_t bytes);
/* The file a process writes itself into. */
void cgroup_procs(const struct cgroup *g, char *out, size_t size);
/* True when the kernel has killed a process of the group for its memory. */
bool cgroup_ran_out(const struct cgroup *g);
/* The most memory the group has had at once, caches of its own files included;
 * 0 where the kernel does not tell. */
uint64_t cgroup_peak(const struct cgroup *g);
/* Kills what is left in it and removes it. False while something is still
 * dying: to be called again. */
bool cgroup_remove(struct cgroup *g);

/* ---- how much memory there is for candidates: the machine's, or what a
 * group that we are in leaves of it. */

/* All that we could ever use: the same in every run on a machine. */
uint64_t memory_size(void);
/* What all children together may use: three quarters of what is free now. The
 * rest is the judge's, the zygotes' and everybody else's. */
uint64_t memory_for_children(void);

#endif
