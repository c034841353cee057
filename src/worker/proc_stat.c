/* proc_stat.c: files of /proc. */
#include "worker/proc_stat.h"

#include "base/tick.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEEPEST 16 /* generations of processes that are looked at */

const char *proc_stat(pid_t pid, char *line, size_t cap)
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
static struct proc_tree proc_stat_look(pid_t pid)
{
    char line[1024];
    const char *fields = proc_stat(pid, line, sizeof(line));
    struct proc_tree t = {0, false};
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

int64_t proc_stat_time_ns(pid_t pid)
{
    return proc_stat_look(pid).used_ns;
}

bool proc_stat_runs(pid_t pid)
{
    return proc_stat_look(pid).runs;
}

static void add_tree(struct proc_tree *t, pid_t pid, int depth)
{
    struct proc_tree own = proc_stat_look(pid);
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

struct proc_tree proc_stat_tree(pid_t pid)
{
    struct proc_tree t = {0, false};

    add_tree(&t, pid, 0);
    return t;
}
