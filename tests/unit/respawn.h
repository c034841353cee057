/* respawn.h: this program again, as a process that a test may kill: one suite,
 * with more in its environment. */
#ifndef TESTS_RESPAWN_H
#define TESTS_RESPAWN_H

#include <sys/types.h>

struct respawned {
    pid_t pid;
    int out; /* its standard output */
};

/* Runs the suite with NAME=VALUE and MONKEYS_FAULT_STORE=FAULT ("": none). A
 * failure is a BUG. */
struct respawned respawn(const char *suite, const char *name, const char *value,
                         const char *fault);

#endif
