/* health.c: processor time, from files of /proc, and progress by it. */
#include "worker/health.h"

#include "base/tick.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEEPEST 16 /* generations of processes that are looked at */

const char *health_stat(pid_t pid, char *line, size_t cap)
{
    char path[64];
    const char *name_end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    f = fopen(path, "re");
    if (!f)
        return NULL;
    /* The name, in brackets, may hold anything. */
    name_end = fgets(line, (int)cap, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return name_end ? name_end + 1 : NULL;
}

/* One process as a tree of its own. */
static struct health_tree health_look(pid_t pid)
{
    char line[1024];
    const char *fields = health_stat(pid, line, sizeof(line));
    struct health_tree t = {0, false};
    long long used[4];

    if (!fields)
        return t;
    t.runs = strncmp(fields, " R", 2) == 0;
    if (sscanf(fields, // NOLINT(cert-err34-c)
               " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
               " %lld %lld %lld %lld",
               &used[0], &used[1], &used[2], &used[3]) == 4)
        t.used_ns = (used[0] + used[1] + used[2] + used[3]) *
                    (TICK_S / sysconf(_SC_CLK_TCK));
    return t;
}

/* Processor time of the process and of children that it has waited for, in
 * nanoseconds (counted in clock ticks); 0 if there is no such process. */
static int64_t health_time_ns(pid_t pid)
{
    return health_look(pid).used_ns;
}

/* Whether it computes, or would if it had a processor. */
static bool health_runs(pid_t pid)
{
    return health_look(pid).runs;
}

static void add_tree(struct health_tree *t, pid_t pid, int depth)
{
    struct health_tree own = health_look(pid);
    char path[64];
    long child;
    FILE *f;

    t->used_ns += own.used_ns;
    t->runs |= own.runs;
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid,
             (long)pid);
    f = depth < DEEPEST ? fopen(path, "re") : NULL;
    if (!f)
        return;
    while (fscanf(f, "%ld", &child) == 1) // NOLINT(cert-err34-c)
        add_tree(t, (pid_t)child, depth + 1);
    fclose(f);
}

struct health_tree health_tree(pid_t pid)
{
    struct health_tree t = {0, false};

    add_tree(&t, pid, 0);
    return t;
}

/* ---- progress is processor time, which the kernel counts ---- */

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
    h->used = health_time_ns(pid);
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
    used = health_time_ns(pid);
    if (child > 0)
        used += health_tree(child).used_ns;
    moved = used != h->used || health_runs(pid);
    since = now - h->looked_ns;
    h->idle_ns = moved ? 0 : h->idle_ns + (since < LOOK_NS ? since : LOOK_NS);
    h->used = used;
    h->looked_ns = now;
    return h->idle_ns > patience_ns || now - h->asked_ns > BUSY_S * TICK_S;
}
