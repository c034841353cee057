/* web_request.h: what a browser requests, read from untrusted bytes: the target
 * of the request line, and the Host header. */
#ifndef WEB_WEB_REQUEST_H
#define WEB_WEB_REQUEST_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { WEB_TARGET_BYTES = 4096, WEB_ARGS = 8 };

struct web_request {
    const char *path; /* decoded; starts with '/' */
    struct {
        const char *name, *value; /* decoded */
    } arg[WEB_ARGS];
    size_t args;
};

/* Reads "/path?name=value&…" and decodes percent signs; texts belong to `a`.
 * Returns 0, or the HTTP status of a refusal: 414 for a target that is too long,
 * 400 for one that does not start with '/', has a bad escape, is not UTF-8, or
 * contains control characters (a NUL, too), an argument twice, or too many. */
int web_request_parse(struct str target, struct arena *a,
                      struct web_request *out);
/* The value of an argument; NULL: it is not there. */
const char *web_request_arg(const struct web_request *r, const char *name);

/* The names under which the server may be addressed. A page of a stranger whose
 * name was made to point here has another name in its requests. */
struct web_request_hosts {
    const char *const *name;
    size_t names;
    bool any_address; /* every numeric address is one, too */
};

/* True when a Host header, with or without a port, has one of them. */
bool web_request_host_ok(const struct web_request_hosts *h, const char *header);

#endif
