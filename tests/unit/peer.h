/* peer.h: a server of tests/servers/ in a process of its own. It prints its
 * port as its first line and lives until testpeer_stop(). */
#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include <stdbool.h>
#include <sys/types.h>

struct testpeer {
    pid_t pid;
    int port;
};

/* Runs `python3 argv…`; a server that does not start ends the test program. */
struct testpeer testpeer_start(const char *const *argv);
void testpeer_stop(struct testpeer *s);

/* A self-signed certificate for 127.0.0.1 and its key, as files in `dir`; the
 * caller frees the names. False when openssl cannot make one. */
bool testpeer_certificate(const char *dir, char **cert, char **key);

#endif
