/* health.c: progress is processor time, which the kernel counts. */
#include "worker/health.h"

#include "base/tick.h"
#include "worker/proc_stat.h"

#define BUSY_S 600 /* what a program that computes may take for an answer */
/* A look counts for no more than this: who was stopped himself for an hour has
 * not waited for an hour. */
#define LOOK_NS (2 * TICK_S)

void health_asked(struct health *h, pid_t pid)
{
    if (h->asked_ns)
        return;
    h->asked_ns = h->looked_ns = tick_now_ns();
    h->idle_ns = 0;
    h->used = proc_stat_time_ns(pid);
}

void health_answered(struct health *h)
{
    h->asked_ns = 0;
}

bool health_owes(const struct health *h)
{
    return h->asked_ns != 0;
}

bool health_stuck(struct health *h, pid_t pid, pid_t child, int64_t patience_ns)
{
    int64_t now = tick_now_ns(), since;
    int64_t used;
    bool moved;

    if (!h->asked_ns)
        return false;
    used = proc_stat_time_ns(pid);
    if (child > 0)
        used += proc_stat_tree(child).used_ns;
    moved = used != h->used || proc_stat_runs(pid);
    since = now - h->looked_ns;
    h->idle_ns = moved ? 0 : h->idle_ns + (since < LOOK_NS ? since : LOOK_NS);
    h->used = used;
    h->looked_ns = now;
    return h->idle_ns > patience_ns || now - h->asked_ns > BUSY_S * TICK_S;
}
