/* server.h: a server of tests/servers/ in a process of its own. It prints its
 * port as its first line and lives until server_stop(). */
#ifndef TESTS_SERVER_H
#define TESTS_SERVER_H

#include <sys/types.h>

struct server {
    pid_t pid;
    int port;
};

/* Runs `python3 argv…`; a server that does not start ends the test program. */
struct server server_start(const char *const *argv);
void server_stop(struct server *s);

#endif
