/* gpu.c: runs a plan on a GPU. All work goes to the default stream, in the
 * primary context. */
#include "runner/device.h"

#include "base/mem.h"
#include "base/tick.h"
#include "runner/driver.h"
#include "runner/gpu_launch.h"
#include "runner/gpu_move.h"

#include <stdio.h>
#include <stdlib.h>

#define SCRATCH_BYTES ((size_t)256 << 20) /* larger than any L2 cache */

struct device {
    struct driver driver;
    int ordinal;
    struct gpu_mover mover;
    /* Created by the first timed run. */
    cu_address scratch;
    void *start, *end;
    /* The region. */
    cu_address region;
    uint64_t bytes, handle;
    bool reserved, mapped;
    /* The candidate's. */
    const struct plan *plan;
    struct gpu_modules modules;
    bool used; /* the modules have run since they were loaded */
};

static int device_gpu_check(struct device *d, int code, enum status status,
                            const char *what, struct answer *a)
{
    return driver_check(&d->driver, code, status, what, a);
}

static int open_context(struct device *d, struct answer *a)
{
    void *context = NULL;

    return driver_open(&d->driver, a) < 0 ||
                   device_gpu_check(d, d->driver.cuInit(0), NO_DEVICE, "cuInit",
                                    a) < 0 ||
                   device_gpu_check(d, d->driver.cuDeviceGet(&d->ordinal, 0),
                                    NO_DEVICE, "cuDeviceGet", a) < 0 ||
                   device_gpu_check(
                       d,
                       d->driver.cuDevicePrimaryCtxRetain(&context, d->ordinal),
                       NO_DEVICE, "cuDevicePrimaryCtxRetain", a) < 0 ||
                   device_gpu_check(d, d->driver.cuCtxSetCurrent(context),
                                    NO_DEVICE, "cuCtxSetCurrent", a) < 0
               ? -1
               : 0;
}

/* Discards what kernels print. It may contain inputs, and the tail of this
 * process's output is shown to whoever is using it when it dies. */
static int close_output(struct answer *a)
{
    if (!freopen("/dev/null", "w", stdout))
        return answer_sys(a, NO_DEVICE, "/dev/null");
    return 0;
}

static struct device *gpu_open(struct answer *a)
{
    struct device *d = xcalloc(1, sizeof(*d));

    if (close_output(a) < 0 || open_context(d, a) < 0 ||
        gpu_mover_init(&d->mover, &d->driver, a) < 0) {
        free(d);
        return NULL;
    }
    return d;
}

static int gpu_map(struct device *d, int fd, uint64_t bytes, struct answer *a)
{
    const struct cu_access access = {CU_ON_DEVICE, d->ordinal, CU_READ_WRITE};

    if (device_gpu_check(d,
                         d->driver.cuMemImportFromShareableHandle(
                             &d->handle, fd, CU_POSIX_FD),
                         NO_DEVICE, "cuMemImportFromShareableHandle", a) < 0)
        return -1;
    d->bytes = bytes;
    if (device_gpu_check(
            d, d->driver.cuMemAddressReserve(&d->region, bytes, 0, 0, 0),
            NO_DEVICE, "cuMemAddressReserve", a) < 0)
        return -1;
    d->reserved = true;
    if (device_gpu_check(d,
                         d->driver.cuMemMap(d->region, bytes, 0, d->handle, 0),
                         NO_DEVICE, "cuMemMap", a) < 0)
        return -1;
    d->mapped = true;
    return device_gpu_check(
        d, d->driver.cuMemSetAccess(d->region, bytes, &access, 1), NO_DEVICE,
        "cuMemSetAccess", a);
}

static int gpu_load(struct device *d, struct plan *p, struct arena *arena,
                    struct answer *a)
{
    if (plan_has(p, MODULE_LIBRARY))
        return answer_fail(a, BAD_PLAN, 0, "a library needs --device cpu");
    d->plan = p;
    d->used = false;
    return gpu_mover_load(&d->mover, a) < 0 ||
                   gpu_modules_open(&d->modules, &d->driver, p, a) < 0 ||
                   gpu_bind(&d->driver, p, d->region, arena, a) < 0
               ? -1
               : 0;
}

/* ---- running ---- */

/* Evicts the call's data from the cache. */
static int clear_cache(struct device *d, struct answer *a)
{
    if (!d->scratch &&
        (device_gpu_check(d,
                          d->driver.cuMemAlloc_v2(&d->scratch, SCRATCH_BYTES),
                          NO_DEVICE, "memory to clear the cache with", a) < 0 ||
         device_gpu_check(d, d->driver.cuEventCreate(&d->start, 0), NO_DEVICE,
                          "cuEventCreate", a) < 0 ||
         device_gpu_check(d, d->driver.cuEventCreate(&d->end, 0), NO_DEVICE,
                          "cuEventCreate", a) < 0))
        return -1;
    return device_gpu_check(
        d, d->driver.cuMemsetD8Async(d->scratch, 0, SCRATCH_BYTES, NULL),
        NO_DEVICE, "clearing the cache", a);
}

static int device_gpu_execute(struct device *d, const struct plan_node *n,
                              bool mute, struct answer *a)
{
    void *function;

    switch (n->op) {
    case OP_COPY:
        return gpu_mover_copy(&d->mover, d->region, n, a);
    case OP_FILL:
        return gpu_mover_fill(&d->mover, d->region, n, a);
    case OP_ADD:
        return gpu_mover_add(&d->mover, d->region, n, a);
    case OP_LAUNCH:
        break;
    case OP_CALL:
        BUG("a library on a GPU");
    }
    if (mute)
        return 0;
    function = d->modules.function[n->launch.function];
    return gpu_launch(&d->driver, function, &n->launch,
                      d->plan->function[n->launch.function].name, a);
}

/* Waits after each node, to know which one failed. Does not wait before a
 * launch that may overlap the previous one: it must also overlap while it is
 * judged. */
static int device_gpu_wait_for(struct device *d, const struct plan_call *c,
                               size_t i, struct answer *a)
{
    if (i + 1 < c->nodes && c->node[i + 1].op == OP_LAUNCH &&
        c->node[i + 1].launch.pdl)
        return 0;
    return device_gpu_check(d, d->driver.cuCtxSynchronize(), CONTEXT_BROKEN,
                            "after this node", a);
}

static int issue(struct device *d, const struct plan_call *c, unsigned flags,
                 struct answer *a)
{
    int64_t start = tick_now_ns();

    for (size_t i = 0; i < c->nodes; i++)
        if (device_gpu_execute(d, &c->node[i], flags & RUN_MUTE, a) < 0 ||
            (!(flags & RUN_TIMED) && device_gpu_wait_for(d, c, i, a) < 0)) {
            a->node = i;
            return -1;
        }
    a->host_ns = (uint64_t)(tick_now_ns() - start);
    return 0;
}

static int issue_timed(struct device *d, const struct plan_call *c,
                       unsigned flags, struct answer *a)
{
    if (clear_cache(d, a) < 0 ||
        device_gpu_check(d, d->driver.cuEventRecord(d->start, NULL), NO_DEVICE,
                         "cuEventRecord", a) < 0 ||
        issue(d, c, flags, a) < 0)
        return -1;
    return device_gpu_check(d, d->driver.cuEventRecord(d->end, NULL),
                            CONTEXT_BROKEN, "cuEventRecord", a);
}

/* Waits for all work. A sticky error appears here: the context is lost, and the
 * node that caused it is unknown. */
static int device_gpu_settle(struct device *d, int rc, struct answer *a)
{
    int code = d->driver.cuCtxSynchronize();

    if (code == 0 || a->status == CONTEXT_BROKEN)
        return rc;
    a->node = NO_NODE;
    return device_gpu_check(d, code, CONTEXT_BROKEN, "waiting for the call", a);
}

static int gpu_run(struct device *d, const struct plan_call *c, unsigned flags,
                   struct answer *a)
{
    bool timed = flags & RUN_TIMED;
    float ms = 0;
    int rc;

    if ((flags & RUN_RELOAD) && d->used &&
        gpu_modules_reload(&d->modules, d->plan, a) < 0)
        return device_gpu_settle(d, -1, a);
    d->used = true;
    rc = timed ? issue_timed(d, c, flags, a) : issue(d, c, flags, a);
    if (device_gpu_settle(d, rc, a) < 0)
        return -1;
    if (timed &&
        device_gpu_check(d, d->driver.cuEventElapsedTime(&ms, d->start, d->end),
                         NO_DEVICE, "cuEventElapsedTime", a) < 0)
        return -1;
    a->device_ns = (uint64_t)((double)ms * 1e6);
    return 0;
}

/* ---- forgetting ---- */

static int unmap(struct device *d)
{
    int code = 0, one;

    if (d->mapped)
        code = d->driver.cuMemUnmap(d->region, d->bytes);
    if (d->reserved &&
        (one = d->driver.cuMemAddressFree(d->region, d->bytes)) != 0)
        code = one;
    if (d->handle && (one = d->driver.cuMemRelease(d->handle)) != 0)
        code = one;
    d->mapped = d->reserved = false;
    d->handle = d->region = d->bytes = 0;
    return code;
}

/* Also clears what a kernel may have left in our own memory. If any of this
 * fails, replace the runner. */
static int gpu_unload(struct device *d, struct answer *a)
{
    int code = d->driver.cuCtxSynchronize(), one;

    if ((one = gpu_modules_close(&d->modules)) != 0 ||
        (one = gpu_mover_unload(&d->mover)) != 0)
        code = one;
    if (d->scratch && ((one = d->driver.cuMemsetD8Async(
                            d->scratch, 0, SCRATCH_BYTES, NULL)) != 0 ||
                       (one = d->driver.cuCtxSynchronize()) != 0))
        code = one;
    if ((one = unmap(d)) != 0)
        code = one;
    d->plan = NULL;
    return device_gpu_check(d, code, CONTEXT_BROKEN, "unloading", a);
}

const struct device_kind device_cuda = {
    "cuda", gpu_open, gpu_map, gpu_load, gpu_run, gpu_unload,
};
