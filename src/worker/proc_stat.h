/* proc_stat.h: what the kernel tells of a process on one line. */
#ifndef WORKER_PROC_STAT_H
#define WORKER_PROC_STAT_H

#include <stddef.h>
#include <sys/types.h>

/* The fields of /proc/PID/stat behind the name, from the state on, in `line`;
 * NULL when there is no such process. */
const char *proc_stat(pid_t pid, char *line, size_t cap);

#endif
