/* web_listen.h: where the server listens, and under which names it answers. */
#ifndef WEB_WEB_LISTEN_H
#define WEB_WEB_LISTEN_H

#include "base/err.h"
#include "base/opt.h"
#include "web/web_request.h"

#include <stdbool.h>

#define WEB_LISTEN "127.0.0.1:8123"

/* Must not be moved: it has pointers to itself. */
struct web_listen {
    int fd;
    char url[80]; /* "http://127.0.0.1:8123/" */
    char own[56]; /* the address alone, as a Host header has it */
    bool public;  /* other machines may reach it */
    struct web_request_hosts hosts;
    const char **names; /* of hosts */
};

/* Opens the socket. `where` is HOST:PORT, HOST a numeric address or localhost;
 * port 0 is any that is free. NULL is WEB_LISTEN, or another port when that
 * one is in use. `names` are further names, which are borrowed. */
int web_listen_open(const char *where, const struct opt_list *names,
                    struct web_listen *l, struct err *e);
/* Warns when others may look. */
void web_listen_warn(const struct web_listen *l);
/* ERR_USAGE when `where` is not an address; opens nothing. */
int web_listen_check(const char *where, struct err *e);
void web_listen_close(struct web_listen *l);

#endif
