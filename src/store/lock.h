/* lock.h: only one process at a time may write to a run's folder. The kernel holds
 * the lock on DIR/lock and releases it when the process ends, however it ends. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "base/err.h"
#include "store/store.h"

struct lock {
    int fd;
    bool held;
};

/* ERR_INPUT when another process holds it; the text names that process. */
int lock_take(const char *dir, struct lock *l, struct err *e);
/* Nothing happens when it is not held, as one of zeros. */
void lock_drop(struct lock *l);
/* Makes the folder, takes its lock and opens the store `name` in it, which is
 * new if there is none. NULL: neither is held. */
struct store *lock_store(const char *dir, const char *name, struct loop *loop,
                         struct lock *l, struct err *e);
/* The process that holds it; 0: none does. */
long lock_owner(const char *dir);

#endif
