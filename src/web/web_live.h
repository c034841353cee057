/* web_live.h: the runs that a server shows, kept in memory and up to date. A
 * check that finds no change takes microseconds; otherwise only new rows are
 * read. Runs that have ended are checked less often, but a `resume` is noticed,
 * as is a folder that was replaced. */
#ifndef WEB_WEB_LIVE_H
#define WEB_WEB_LIVE_H

#include "base/err.h"
#include "run/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct web_live_run {
    char *dir;
    struct run_view view; /* while `open` */
    bool open;
    struct err why;  /* it is not */
    int64_t version; /* of its view; never falls */
    int64_t next_ns; /* when to look again */
};

struct web_live {
    struct web_live_run *run;
    size_t runs;
    int64_t version; /* grows with each of theirs */
};

/* Reads all of the runs. ERR_INPUT when one is no run. */
int web_live_open(const char *const *dirs, size_t n, struct web_live *l,
                  struct err *e);
void web_live_close(struct web_live *l);

/* Looks at the runs whose time has come; `now`: at all of them. True when there
 * was news. A run that cannot be read any more is closed, and tried again at each
 * look. */
bool web_live_look(struct web_live *l, bool now);

#endif
