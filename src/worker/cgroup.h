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
/* The tightest of the groups that we are in ourselves: its limit, and what is
 * left of that; UINT64_MAX where none has a limit. */
void cgroup_room(uint64_t *limit, uint64_t *unused);
/* Kills what is left in it and removes it. False while something is still
 * dying: to be called again. */
bool cgroup_remove(struct cgroup *g);

#endif
