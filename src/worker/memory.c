/* memory.c: the machine's memory and that of our groups. */
#include "worker/memory.h"

#include "worker/cgroup.h"

#include <stdio.h>
#include <unistd.h>

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
