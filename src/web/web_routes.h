/* web_routes.h: what is there at which path: the page, its data as JSON, and the
 * events that tell it when to ask again. docs/PAGE.md describes them. */
#ifndef WEB_WEB_ROUTES_H
#define WEB_WEB_ROUTES_H

#include "analyze/views.h"
#include "base/buf.h"
#include "base/str.h"
#include "web/web_live.h"
#include "web/web_request.h"

#include <stdint.h>

/* A text that several answers share, however slowly they are read. */
struct web_text {
    size_t refs, n;
    char data[];
};
void web_text_drop(struct web_text *t); /* NULL: nothing */

struct web_routes {
    struct web_live *live;
    struct buf page, policy; /* its Content-Security-Policy */
    /* The views as they were asked for last. */
    struct {
        int64_t version;
        struct web_text *text;
    } kept[VIEWS];
};

/* The Content-Security-Policy of what is no page. */
#define WEB_NOTHING "default-src 'none'; frame-ancestors 'none'"

struct web_answer {
    unsigned status;
    const char *type;
    const char *policy; /* NULL: WEB_NOTHING */
    struct str fixed; /* p not NULL: it stays as it is while the server runs */
    struct web_text *shared; /* not NULL: it is this, which the caller drops */
    struct buf body;         /* otherwise */
};

void web_routes_init(struct web_routes *r, struct web_live *live);
void web_routes_release(struct web_routes *r);

/* `a` holds an empty body. */
void web_routes_answer(struct web_routes *r, const struct web_request *q,
                       struct web_answer *a);
/* An event that says which version each run has. */
void web_routes_event(const struct web_live *l, struct buf *out);

#endif
