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

int64_t proc_stat_time_ns(pid_t pid)
{
    char line[1024];
    const char *fields = proc_stat(pid, line, sizeof(line));
    long long t[4];

    if (!fields || sscanf(fields, // NOLINT(cert-err34-c)
                          " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
                          " %lld %lld %lld %lld",
                          &t[0], &t[1], &t[2], &t[3]) != 4)
        return 0;
    return (t[0] + t[1] + t[2] + t[3]) * (TICK_S / sysconf(_SC_CLK_TCK));
}

bool proc_stat_runs(pid_t pid)
{
    char line[1024];
    const char *fields = proc_stat(pid, line, sizeof(line));

    return fields && strncmp(fields, " R", 2) == 0;
}

static void add_tree(struct proc_tree *t, pid_t pid, int depth)
{
    char path[64];
    long child;
    FILE *f;

    t->used_ns += proc_stat_time_ns(pid);
    t->runs |= proc_stat_runs(pid);
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
