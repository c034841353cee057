/* web_live.c: when to look at a run, and what to do when that fails. */
#include "web/web_live.h"

#include "base/mem.h"
#include "base/tick.h"

#include <stdlib.h>

/* A run at work, and one that is not. */
#define WORKING_NS TICK_S
#define RESTING_NS (2 * TICK_S)
/* Looking takes at most this share of the time. */
#define SHARE 20

static bool web_live_open_run(struct web_live_run *r)
{
    r->why = (struct err)ERR_INIT;
    r->open = run_view_open(r->dir, &r->view, &r->why) == 0;
    if (!r->open)
        return false;
    /* Whoever has seen an earlier version has seen none of this one. */
    if (r->version)
        run_view_renumber(&r->view, r->version + 1);
    r->version = r->view.version;
    return true;
}

int web_live_open(const char *const *dirs, size_t n, struct web_live *l,
                  struct err *e)
{
    *l = (struct web_live){.run = xcalloc(n, sizeof(*l->run)), .version = 1};
    for (; l->runs < n; l->runs++) {
        struct web_live_run *r = &l->run[l->runs];

        r->dir = xstrdup(dirs[l->runs]);
        if (web_live_open_run(r))
            continue;
        *e = r->why;
        free(r->dir);
        web_live_close(l);
        return -1;
    }
    return 0;
}

void web_live_close(struct web_live *l)
{
    for (size_t i = 0; i < l->runs; i++) {
        if (l->run[i].open)
            run_view_close(&l->run[i].view);
        free(l->run[i].dir);
    }
    free(l->run);
    *l = (struct web_live){0};
}

static bool web_live_look_at(struct web_live_run *r)
{
    int64_t start_ns = tick_now_ns(), rest_ns = RESTING_NS, took_ns;
    bool news;
    int rc;

    if (!r->open) {
        news = web_live_open_run(r);
    } else {
        rc = run_view_refresh(&r->view, &r->why);
        r->open = rc >= 0;
        news = rc != 0;
        r->version = r->open ? r->view.version : r->version + 1;
    }
    if (r->open && r->view.state == RUN_RUNNING)
        rest_ns = WORKING_NS;
    took_ns = tick_now_ns() - start_ns;
    if (rest_ns < SHARE * took_ns)
        rest_ns = SHARE * took_ns;
    r->next_ns = start_ns + rest_ns;
    return news;
}

bool web_live_look(struct web_live *l, bool now)
{
    bool news = false;

    for (size_t i = 0; i < l->runs; i++)
        if (now || tick_now_ns() >= l->run[i].next_ns)
            news |= web_live_look_at(&l->run[i]);
    l->version += news;
    return news;
}
