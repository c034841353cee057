/* lock.h: one process at a time works in a run's folder. The lock is the
 * kernel's, on DIR/lock: it ends with the process, however that ends. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "base/err.h"

struct lock {
    int fd;
};

/* ERR_INPUT when another holds it; the text names its process. */
int lock_take(const char *dir, struct lock *l, struct err *e);
void lock_drop(struct lock *l);
/* The process that holds it; 0: none does. */
long lock_owner(const char *dir);

#endif
