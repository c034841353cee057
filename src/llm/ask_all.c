/* ask_all.c: starts units of work, and ends them together.
 *
 * The end of all is never carried out where it is found, deep within one of the
 * coroutines: it is noted, and whoever asks next hears of it. What still waits
 * then is cancelled from ask_all(), outside of all coroutines, the newest first:
 * work that others have started is over before they are, and may write into what
 * is theirs. */
#include "llm/ask_all.h"

#include "base/log.h"
#include "base/mem.h"
#include "llm/llm.h"

#include <stdlib.h>

/* Units of work that are started before the loop runs: what needs no wait must not
 * keep signals from being heard. */
#define STREAK 64

struct ask_work {
    struct ask_all *a;
    struct ask_group *group; /* NULL: started by ask_all() */
    ask_fn *fn;
    size_t item;
    void *arg;
    struct co *co; /* NULL: it runs within another one's */
    struct ask_work *older, *newer;
};

static void ask_end_all(struct ask_all *a, enum ask_end end)
{
    if (a->over)
        return;
    a->over = true;
    a->end = end;
    loop_stop(a->part.loop);
}

static void ask_tell(const struct ask_all *a)
{
    if (a->part.step && !a->over)
        a->part.step(&a->progress, a->part.arg);
}

/* ---- a unit of work ---- */

static void ask_work_run(void *arg)
{
    struct ask_work *w = arg;
    struct ask_all *a = w->a;
    struct ask_group *group = w->group;
    struct err e = ERR_INIT;
    int rc = w->fn(a, w->item, w->arg, &e);

    if (rc < 0 && e.kind != ERR_NONE && !a->over) {
        a->err = e;
        ask_end_all(a, ASK_FAILED);
    }
    *(w->newer ? &w->newer->older : &a->newest) = w->older;
    if (w->older)
        w->older->newer = w->newer;
    free(w);
    a->progress.open--;
    a->progress.done += rc == 0;
    ask_tell(a);
    loop_stop(a->part.loop);
    if (group && --group->open == 0)
        co_happen(&group->over);
}

static void ask_work_start(struct ask_work like, bool apart)
{
    struct ask_all *a = like.a;
    struct ask_work *w = xmalloc(sizeof(*w));
    struct co *co;

    *w = like;
    w->older = a->newest;
    if (w->older)
        w->older->newer = w;
    a->newest = w;
    a->progress.started++;
    a->progress.open++;
    if (!apart)
        ask_work_run(w);
    else if ((co = co_start(ask_work_run, w))) /* else `w` is gone */
        w->co = co;
}

void ask_all_start(struct ask_all *a, struct ask_group *g, ask_fn *fn,
                   void *arg)
{
    g->open++;
    ask_work_start((struct ask_work){.a = a, .group = g, .fn = fn, .arg = arg},
                   co_alive() < CO_MOST);
}

int ask_all_wait(struct ask_group *g)
{
    g->over = (struct co_event){0};
    return g->open ? co_wait(&g->over) : 0;
}

int ask_all_question(struct ask_all *a, const struct ledger_question *q,
                     struct arena *memory, struct ledger_answer *out)
{
    struct ledger_question full = *q;
    int rc;

    if (a->over)
        return -1;
    full.task = -1;
    full.client = a->part.client;
    full.request.max_tokens = a->part.max_tokens;
    a->progress.questions++;
    a->under_way++;
    rc = ledger_ask(a->part.ledger, &full, memory, out);
    a->under_way--;
    if (rc < 0 || a->over)
        return -1;
    if (a->stopping || out->end == LEDGER_STOPPED) {
        if (!a->under_way)
            ask_end_all(a, ASK_STOPPED);
        return -1; /* a reply is in the store */
    }
    ask_tell(a);
    if (out->end == LEDGER_ANSWERED || out->end == LEDGER_FAILED)
        return 0;
    if (out->end == LEDGER_BROKEN)
        a->err = *out->err;
    ask_end_all(a, out->end == LEDGER_BROKEN ? ASK_FAILED : ASK_NO_BUDGET);
    return -1;
}

/* ---- all ---- */

void ask_all_stop(struct ask_all *a)
{
    if (a->over)
        return;
    if (a->stopping++ || !a->under_way || llm_is_patient(a->part.client)) {
        ask_end_all(a, ASK_STOPPED);
        return;
    }
    log_warn("stopping once open calls are answered; interrupt again to stop "
             "now");
    ledger_stop(a->part.ledger);
}

static void ask_on_stop(int signo, void *arg)
{
    (void)signo;
    ask_all_stop(arg);
}

/* What runs within another one's coroutine is cancelled with it. */
static void ask_cancel_newest(struct ask_all *a)
{
    struct ask_work *w = a->newest;

    while (!w->co)
        w = w->older;
    co_cancel(w->co);
}

static void ask_pause(void *arg)
{
    loop_stop(arg);
}

static bool ask_may_start(const struct ask_all *a, size_t left)
{
    size_t most = a->part.most ? a->part.most : CO_MOST;

    return left && !a->over && !a->stopping && a->progress.open < most;
}

enum ask_end ask_all(struct ask_all *a, size_t count, ask_fn *fn, void *arg,
                     struct err *e)
{
    size_t next = 0;

    if (a->part.signals && loop_add_stops(a->part.loop, ask_on_stop, a, e) < 0)
        return ASK_FAILED;
    while (!a->over) {
        uint64_t pause = 0;

        for (size_t n = 0; n < STREAK && ask_may_start(a, count - next); n++)
            ask_work_start(
                (struct ask_work){.a = a, .fn = fn, .item = next++, .arg = arg},
                true);
        if (ask_may_start(a, count - next))
            pause = loop_defer(a->part.loop, ask_pause, a->part.loop);
        else if (a->over || a->progress.open == 0)
            break;
        loop_run(a->part.loop);
        loop_remove(a->part.loop, pause);
    }
    a->over = true;
    while (a->newest)
        ask_cancel_newest(a);
    if (a->end == ASK_FAILED)
        *e = a->err;
    return a->end;
}
