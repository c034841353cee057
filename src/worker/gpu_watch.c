/* gpu_watch.c: no candidate keeps more of a GPU's memory than it was granted.
 *
 * Nothing can hold a process to a part of a GPU's memory beforehand. So the driver
 * is asked all the time, and who has too much is ended: its neighbours may meet a
 * full device for a moment, and are tried again alone (worker/verdict.py). */
#include "worker/host_int.h"
#include "worker/nvml.h"
#include "worker/proc_stat.h"

#include "base/tick.h"

#include <stdio.h>
#include <string.h>

#define EVERY_MS  100 /* a look can wait 80 ms for the driver */
#define PROCESSES 512
#define LEVELS    8 /* keeper, candidate, and what that may have started */

static pid_t parent_of(pid_t pid)
{
    char line[1024];
    const char *fields = proc_stat(pid, line, sizeof(line));
    long parent = 0;

    if (!fields ||
        sscanf(fields, " %*c %ld", &parent) != 1) // NOLINT(cert-err34-c)
        return 0;
    return (pid_t)parent;
}

static struct child *owner_of(const struct host *h, pid_t pid)
{
    for (struct child *c = h->children; c; c = c->next)
        if (c->gpu_pid == pid)
            return c;
    for (int i = 0; i < LEVELS && pid > 1; i++) {
        for (struct child *c = h->children; c; c = c->next)
            if (c->pid == pid)
                return c;
        pid = parent_of(pid);
    }
    return NULL;
}

static void look(struct host *h)
{
    struct nvml_use use[PROCESSES];
    size_t n = nvml_use(h->o.nvml, use, PROCESSES);

    for (struct child *c = h->children; c; c = c->next)
        c->gpu_now = 0;
    for (size_t i = 0; i < n; i++) {
        struct child *c = owner_of(h, use[i].pid);

        if (!c)
            continue;
        c->gpu_pid = use[i].pid;
        c->gpu_now += use[i].bytes;
        if (c->gpu_now > c->gpu_peak)
            c->gpu_peak = c->gpu_now;
        if (c->job && c->job->gpu_memory && c->gpu_now > c->job->gpu_memory)
            child_kill(c, "memory");
    }
    /* Who is not there any more: its pid may become a stranger's. */
    for (struct child *c = h->children; c; c = c->next)
        if (c->gpu_now == 0)
            c->gpu_pid = 0;
}

static void on_time(void *arg)
{
    struct host *h = arg;

    h->gpu_timer =
        loop_add_timer(h->loop, tick_now_ns() + EVERY_MS * TICK_MS, on_time, h);
    if (h->children)
        look(h);
}

void gpu_watch_start(struct host *h)
{
    if (h->o.nvml)
        on_time(h);
}

void gpu_watch_stop(struct host *h)
{
    loop_remove(h->loop, h->gpu_timer);
}
