/* cgroup.c: cgroup version 2, else the memory controller of version 1. */
#include "worker/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool cgroup_write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

    if (fd >= 0)
        close(fd);
    return done;
}

/* Our place in the hierarchy `kind` ("" is version 2), or "". */
static void own_place(const char *kind, char *out, size_t size)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[512], *first, *second;

    out[0] = '\0';
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        first = strchr(line, ':');
        second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            continue;
        *second = '\0';
        if (strcmp(first + 1, kind) == 0)
            snprintf(out, size, "%s",
                     strcmp(second + 1, "/") ? second + 1 : "");
    }
    if (f)
        fclose(f);
}

static bool make_below(struct cgroup *g, const char *parent, const char *name,
                       uint64_t bytes)
{
    char path[800], text[32];
    const char *file = g->version == 2 ? "memory.max" : "memory.limit_in_bytes";

    if (snprintf(g->dir, sizeof(g->dir), "%s/monkeys-%ld-%s", parent,
                 (long)getpid(), name) >= (int)sizeof(g->dir) ||
        mkdir(g->dir, 0755) < 0) {
        g->dir[0] = '\0';
        return false;
    }
    snprintf(path, sizeof(path), "%s/%s", g->dir, file);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    if (cgroup_write_text(path, text))
        return true;
    cgroup_remove(g);
    return false;
}

bool cgroup_make(struct cgroup *g, const char *name, uint64_t bytes)
{
    char own[512], parent[640];

    *g = (struct cgroup){.version = 2};
    own_place("", own, sizeof(own));
    snprintf(parent, sizeof(parent), "/sys/fs/cgroup%s", own);
    if (make_below(g, parent, name, bytes))
        return true;
    g->version = 1;
    own_place("memory", own, sizeof(own));
    snprintf(parent, sizeof(parent), "/sys/fs/cgroup/memory%s", own);
    return make_below(g, parent, name, bytes);
}

void cgroup_procs(const struct cgroup *g, char *out, size_t size)
{
    if (g->dir[0])
        snprintf(out, size, "%s/cgroup.procs", g->dir);
    else
        out[0] = '\0';
}

bool cgroup_ran_out(const struct cgroup *g)
{
    char path[800], word[64];
    unsigned long long count;
    bool out = false;
    FILE *f;

    if (!g->dir[0])
        return false;
    snprintf(path, sizeof(path), "%s/%s", g->dir,
             g->version == 2 ? "memory.events" : "memory.oom_control");
    f = fopen(path, "re");
    while (f &&
           fscanf(f, "%63s %llu", word, &count) == 2) // NOLINT(cert-err34-c)
        out = out || (strcmp(word, "oom_kill") == 0 && count > 0);
    if (f)
        fclose(f);
    return out;
}

/* ---- figures ---- */

/* The number that DIR/NAME holds; `other` where there is none, as in "max". */
static uint64_t cgroup_number_in(const char *dir, const char *name,
                                 uint64_t other)
{
    unsigned long long value;
    char path[800];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "re");
    if (!f)
        return other;
    if (fscanf(f, "%llu", &value) == 1) // NOLINT(cert-err34-c)
        other = value;
    fclose(f);
    return other;
}

uint64_t cgroup_peak(const struct cgroup *g)
{
    if (!g->dir[0])
        return 0;
    return cgroup_number_in(
        g->dir, g->version == 2 ? "memory.peak" : "memory.max_usage_in_bytes",
        0);
}

/* Memory that the kernel takes back when somebody needs it: copies of files. */
static uint64_t reclaimable(const char *dir, int version)
{
    const char *prefix = version == 2 ? "" : "total_";
    char path[800], word[64], wanted[2][32];
    unsigned long long value;
    uint64_t sum = 0;
    FILE *f;

    snprintf(wanted[0], sizeof(wanted[0]), "%sactive_file", prefix);
    snprintf(wanted[1], sizeof(wanted[1]), "%sinactive_file", prefix);
    snprintf(path, sizeof(path), "%s/memory.stat", dir);
    f = fopen(path, "re");
    while (f &&
           fscanf(f, "%63s %llu", word, &value) == 2) // NOLINT(cert-err34-c)
        if (strcmp(word, wanted[0]) == 0 || strcmp(word, wanted[1]) == 0)
            sum += value;
    if (f)
        fclose(f);
    return sum;
}

static void tighten(const char *dir, int version, uint64_t *limit,
                    uint64_t *unused)
{
    static const char *const names[3][2] = {
        [1] = {"memory.limit_in_bytes", "memory.usage_in_bytes"},
        [2] = {"memory.max", "memory.current"}};
    uint64_t most = cgroup_number_in(dir, names[version][0], UINT64_MAX), used,
             soft;

    /* Version 1 says "none" by a number that no machine has. */
    if (most >= UINT64_MAX / 4)
        return;
    used = cgroup_number_in(dir, names[version][1], 0);
    soft = reclaimable(dir, version);
    used -= soft < used ? soft : used;
    if (most < *limit)
        *limit = most;
    if (most - (used < most ? used : most) < *unused)
        *unused = most - (used < most ? used : most);
}

/* From our own place up to `base`, where the hierarchy is mounted. */
static void tighten_upwards(const char *base, const char *place, int version,
                            uint64_t *const room[2])
{
    char dir[700], *slash;

    snprintf(dir, sizeof(dir), "%s%s", base, place);
    for (;;) {
        tighten(dir, version, room[0], room[1]);
        slash = strrchr(dir, '/');
        if (!slash || slash < dir + strlen(base))
            return;
        *slash = '\0';
    }
}

/* The tightest of the groups that we are in ourselves: its limit, and what is
 * left of that; UINT64_MAX where none has a limit. */
static void cgroup_room(uint64_t *limit, uint64_t *unused)
{
    uint64_t *const room[2] = {limit, unused};
    char own[512];

    *limit = *unused = UINT64_MAX;
    own_place("", own, sizeof(own));
    tighten_upwards("/sys/fs/cgroup", own, 2, room);
    own_place("memory", own, sizeof(own));
    tighten_upwards("/sys/fs/cgroup/memory", own, 1, room);
}

/* ---- the end ---- */

/* Sends `signo` to every process of the group. Returns how many there are. */
static size_t signal_all(const struct cgroup *g, int signo)
{
    char path[800];
    size_t count = 0;
    long pid;
    FILE *f;

    cgroup_procs(g, path, sizeof(path));
    f = fopen(path, "re");
    while (f && fscanf(f, "%ld", &pid) == 1) { // NOLINT(cert-err34-c)
        kill((pid_t)pid, signo);
        count++;
    }
    if (f)
        fclose(f);
    return count;
}

/* All are stopped before one is killed, so that none forks meanwhile. */
static void kill_all(const struct cgroup *g)
{
    size_t before = 0, now;

    while ((now = signal_all(g, SIGSTOP)) > before)
        before = now;
    signal_all(g, SIGKILL);
}

bool cgroup_remove(struct cgroup *g)
{
    if (g->dir[0])
        kill_all(g);
    if (g->dir[0] && rmdir(g->dir) < 0 && errno == EBUSY)
        return false;
    g->dir[0] = '\0';
    return true;
}

/* ---- the machine's memory and that of our groups ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t machine_size(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What could be had without swapping. */
static uint64_t machine_free(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    unsigned long long kib = 0;
    char line[128];
    int found = 0;

    while (f && !found && fgets(line, sizeof(line), f))
        found = sscanf(line, "MemAvailable: %llu", // NOLINT(cert-err34-c)
                       &kib) == 1;
    if (f)
        fclose(f);
    return found ? (uint64_t)kib * 1024 : machine_size();
}

uint64_t memory_size(void)
{
    uint64_t size, unused;

    cgroup_room(&size, &unused);
    return least(size, machine_size());
}

uint64_t memory_for_children(void)
{
    uint64_t size, unused;

    cgroup_room(&size, &unused);
    return least(unused, machine_free()) / 4 * 3;
}
