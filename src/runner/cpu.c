/* cpu.c: runs a plan on the CPU. The region is shared memory, and functions
 * come from libraries. */
#include "runner/device.h"

#include "base/mem.h"
#include "base/tick.h"
#include "runner/drop.h"
#include "runner/library.h"
#include "runner/move.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct device {
    char *region;
    uint64_t bytes;
    struct library *library; /* one per module */
    size_t libraries;
    void **function;
};

static struct device *cpu_open(struct answer *a)
{
    (void)a;
    return xcalloc(1, sizeof(struct device));
}

static int cpu_map(struct device *d, int fd, uint64_t bytes, struct answer *a)
{
    struct stat st;
    void *p;

    if (fstat(fd, &st) < 0)
        return answer_sys(a, NO_DEVICE, "the region");
    if (!bytes || (uint64_t)st.st_size < bytes)
        return answer_fail(a, BAD_REQUEST, 0,
                           "the region has %lld bytes, not %llu",
                           (long long)st.st_size, (unsigned long long)bytes);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return answer_sys(a, NO_DEVICE, "mapping the region");
    d->region = p;
    d->bytes = bytes;
    return 0;
}

/* ---- loading ---- */

/* Runs the library's constructors, so drop_processes() comes first. */
static int load_libraries(struct device *d, const struct plan *p,
                          struct answer *a)
{
    if (p->modules && drop_processes() < 0)
        return answer_sys(a, NO_DEVICE, "giving up processes");
    d->library = xcalloc(p->modules + 1, sizeof(*d->library));
    for (size_t i = 0; i < p->modules; i++) {
        d->libraries++;
        if (library_open(&d->library[i], &p->module[i], a) < 0)
            return -1;
    }
    return 0;
}

static int find_functions(struct device *d, const struct plan *p,
                          struct answer *a)
{
    d->function = xcalloc(p->functions + 1, sizeof(*d->function));
    for (size_t i = 0; i < p->functions; i++) {
        const struct plan_function *f = &p->function[i];

        d->function[i] = library_find(&d->library[f->module], f->name, a);
        if (!d->function[i])
            return -1;
    }
    return 0;
}

static int cpu_load(struct device *d, struct plan *p, struct arena *arena,
                    struct answer *a)
{
    if (plan_has(p, MODULE_CUBIN))
        return answer_fail(a, BAD_PLAN, 0, "a cubin needs --device cuda");
    if (load_libraries(d, p, a) < 0 || find_functions(d, p, a) < 0)
        return -1;
    for (size_t i = 0; i < p->calls; i++)
        for (size_t k = 0; k < p->call[i].nodes; k++)
            if (p->call[i].node[k].op == OP_CALL)
                library_bind(&p->call[i].node[k].launch,
                             (uint64_t)(uintptr_t)d->region, arena);
    if (p->modules && drop_the_rest() < 0)
        return answer_sys(a, NO_DEVICE, "giving up system calls");
    return 0;
}

/* ---- running ---- */

static void execute(struct device *d, const struct plan_node *n, bool mute)
{
    switch (n->op) {
    case OP_COPY:
        move_copy(d->region, n);
        break;
    case OP_FILL:
        move_fill(d->region, n);
        break;
    case OP_ADD:
        move_add(d->region, n);
        break;
    case OP_CALL:
        if (!mute)
            library_call(d->function[n->launch.function], &n->launch);
        break;
    case OP_LAUNCH:
        BUG("a launch on the CPU");
    }
}

static int cpu_run(struct device *d, const struct plan_call *c, unsigned flags,
                   struct answer *a)
{
    int64_t start = tick_now_ns();

    for (size_t i = 0; i < c->nodes; i++)
        execute(d, &c->node[i], flags & RUN_MUTE);
    a->host_ns = (uint64_t)(tick_now_ns() - start);
    return 0;
}

static int cpu_unload(struct device *d, struct answer *a)
{
    (void)a;
    for (size_t i = 0; i < d->libraries; i++)
        library_close(&d->library[i]);
    free(d->library);
    free(d->function);
    if (d->region)
        munmap(d->region, d->bytes);
    *d = (struct device){0};
    return 0;
}

const struct device_kind device_cpu = {
    "cpu", cpu_open, cpu_map, cpu_load, cpu_run, cpu_unload,
};
