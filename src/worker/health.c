/* health.c: progress is processor time, which the kernel counts. */
#include "worker/health.h"

#include "base/tick.h"
#include "worker/proc_stat.h"

#include <stdio.h>

#define BUSY_S 600 /* what a program that computes may take for an answer */
/* A look counts for no more than this: who was stopped himself for an hour has
 * not waited for an hour. */
#define LOOK_NS (2 * TICK_S)

/* User and system time of the process and of children that it has waited for, in
 * clock ticks; 0 when it is gone. */
static uint64_t time_used(pid_t pid)
{
    char line[1024];
    const char *fields = proc_stat(pid, line, sizeof(line));
    unsigned long long t[4];

    if (!fields || sscanf(fields, // NOLINT(cert-err34-c)
                          " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
                          " %llu %llu %llu %llu",
                          &t[0], &t[1], &t[2], &t[3]) != 4)
        return 0;
    return t[0] + t[1] + t[2] + t[3];
}

void health_asked(struct health *h, pid_t pid)
{
    if (h->asked_ns)
        return;
    h->asked_ns = h->looked_ns = tick_now_ns();
    h->idle_ns = 0;
    h->used = time_used(pid);
}

void health_answered(struct health *h)
{
    h->asked_ns = 0;
}

bool health_owes(const struct health *h)
{
    return h->asked_ns != 0;
}

bool health_stuck(struct health *h, pid_t pid, int64_t patience_ns)
{
    int64_t now = tick_now_ns(), since;
    uint64_t used;

    if (!h->asked_ns)
        return false;
    used = time_used(pid);
    since = now - h->looked_ns;
    h->idle_ns =
        used != h->used ? 0 : h->idle_ns + (since < LOOK_NS ? since : LOOK_NS);
    h->used = used;
    h->looked_ns = now;
    return h->idle_ns > patience_ns || now - h->asked_ns > BUSY_S * TICK_S;
}
