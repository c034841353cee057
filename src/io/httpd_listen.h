/* httpd_listen.h: where the server listens, under which names it answers, and what it is
 * asked. */
#ifndef IO_HTTPD_LISTEN_H
#define IO_HTTPD_LISTEN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define HTTPD_LISTEN "127.0.0.1:8123"

/* ---- what a browser requests, read from untrusted bytes: the target of the request
 * line, and the Host header ---- */

enum { HTTPD_TARGET_BYTES = 4096, HTTPD_ARGS = 8 };

struct httpd_target {
    const char *path; /* decoded; starts with '/' */
    struct {
        const char *name, *value; /* decoded */
    } arg[HTTPD_ARGS];
    size_t args;
};

/* Reads "/path?name=value&…" and decodes percent signs; texts belong to `a`.
 * Returns 0, or the HTTP status of a refusal: 414 for a target that is too long,
 * 400 for one that does not start with '/', has a bad escape, is not UTF-8, or
 * contains control characters (a NUL, too), an argument twice, or too many. */
int httpd_target_parse(struct str target, struct arena *a,
                       struct httpd_target *out);
/* The value of an argument; NULL: it is not there. */
const char *httpd_target_arg(const struct httpd_target *r, const char *name);

/* The names under which the server may be addressed. A page of a stranger whose
 * name was made to point here has another name in its requests. */
struct httpd_hosts {
    const char *const *name;
    size_t names;
    bool any_address; /* every numeric address is one, too */
};

/* True when a Host header, with or without a port, has one of them. */
bool httpd_host_ok(const struct httpd_hosts *h, const char *header);

/* ---- where it listens ---- */

/* Must not be moved: it has pointers to itself. */
struct httpd_listen {
    int fd;
    char url[80]; /* "http://127.0.0.1:8123/" */
    char own[56]; /* the address alone, as a Host header has it */
    bool public;  /* other machines may reach it */
    struct httpd_hosts hosts;
    const char **names; /* of hosts */
};

/* Opens the socket. `where` is HOST:PORT, HOST a numeric address or localhost;
 * port 0 is any that is free. NULL is HTTPD_LISTEN, or another port when that
 * one is in use. `names` are further names, which are borrowed. */
int httpd_listen_open(const char *where, const struct opt_list *names,
                      struct httpd_listen *l, struct err *e);
/* Warns when others may look. */
void httpd_listen_warn(const struct httpd_listen *l);
/* ERR_USAGE when `where` is not an address; opens nothing. */
int httpd_listen_check(const char *where, struct err *e);
void httpd_listen_close(struct httpd_listen *l);

#endif
