/* box.h: the sandbox a candidate runs in, made of system calls alone.
 *
 * Theory of operation. A zygote forks an outer process, which calls box_outer():
 * it joins its memory cgroup, becomes an unprivileged user for good, and moves
 * into fresh user, pid, net, ipc, mount and uts namespaces. It forks the inner
 * process, the first one of the pid namespace, which calls box_inner(): a
 * private root on a bounded tmpfs with read-only binds, a fresh /proc, resource
 * limits, Landlock, seccomp. The order matters: the uid is dropped before the
 * namespaces so that root of the host owns nothing inside, and Landlock and
 * seccomp come last because they would forbid the steps before them. When the
 * outer process is killed the inner one goes with it, and with the first
 * process of a pid namespace every other process in it.
 *
 * Where namespaces are refused, a thin box keeps the uid, the limits, Landlock
 * and seccomp; the file system is then the host's, made unreachable by
 * Landlock instead of being absent. The policy's `level` says which is meant:
 * nothing is ever left out silently.
 *
 * A policy is text, a word and its value on each line:
 *   level full|thin     what to build
 *   uid N               the unprivileged user, when started as root; 0: there
 *                       is none here, and root keeps its number without rights
 *   root DIR            an empty folder to build the private root on (full)
 *   tmp BYTES           size of the private file system, /tmp included
 *   ro PATH             visible, read-only, executable
 *   dev PATH            a device node: read, write, ioctl
 *   link PATH           a symbolic link to be made as it is outside
 *   scratch DIR         a writable folder besides /tmp (thin)
 *   proc read|write     /proc: write also lets a GPU driver name its threads
 *   cgroup FILE         a cgroup.procs file to write ourselves into
 *   limit NAME N        NAME: as, nproc, nofile, fsize, cpu, stack
 */
#ifndef WORKER_BOX_H
#define WORKER_BOX_H

#include <stddef.h>

/* Each returns 0, or -1 with a line in `text` (`size` bytes) that names the step
 * and the reason. After a failure the process must end: it may be half boxed. */
int box_outer(const char *policy, char *text, size_t size);
int box_inner(const char *policy, char *text, size_t size);

/* The kernel's Landlock version, 0 when there is none. */
int box_landlock_abi(void);

#endif
