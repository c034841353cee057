/* peer.h: a server of tests/servers/ in a process of its own. It prints its
 * port as its first line and lives until testpeer_stop(). */
#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include <sys/types.h>

struct testpeer {
    pid_t pid;
    int port;
};

/* Runs `python3 argv…`; a server that does not start ends the test program. */
struct testpeer testpeer_start(const char *const *argv);
void testpeer_stop(struct testpeer *s);

#endif
