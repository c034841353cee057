/* web_beside.h: a server beside a run, in a thread of its own with a store of its
 * own that only reads. The run and the server share no state, so that the page can
 * neither stop nor delay the run. */
#ifndef WEB_WEB_BESIDE_H
#define WEB_WEB_BESIDE_H

#include "base/err.h"
#include "web/web_listen.h"

struct web_beside;

/* Shows the run in `dir`; takes over the socket. */
struct web_beside *web_beside_start(const char *dir, struct web_listen *where,
                                    struct err *e);
/* Shows how the run ended to whoever looks, then ends. */
void web_beside_end(struct web_beside *b);

#endif
