/* box_filter.h: the two filters of the box, Landlock and seccomp. Private to
 * the box. */
#ifndef WORKER_BOX_FILTER_H
#define WORKER_BOX_FILTER_H

/* Files as the policy of box.h says; /tmp and /dev/shm (full) or the scratch
 * folders (thin) are writable. 0, or -1 with errno; ENOSYS without Landlock. */
int box_restrict_files(const char *policy);

/* System calls no candidate needs are refused with EPERM. 0 or -1. */
int box_filter_calls(void);

#endif
