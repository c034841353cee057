/* gpu_move.c: moves data with the driver's functions where possible, otherwise
 * with our kernel. */
#include "runner/gpu_move.h"

#include "base/buf.h"
#include "base/mem.h"
#include "runner/move_ptx.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 256
#define BLOCKS  16384 /* at most; threads loop over the remaining elements */

/* ---- our kernel ---- */

int gpu_mover_init(struct gpu_mover *m, const struct driver *d,
                   struct answer *a)
{
    void *state = NULL, *cubin = NULL;
    size_t bytes = 0;
    struct buf text;
    int code;

    m->driver = d;
    buf_init(&text, 1 << 20);
    for (const char *const *piece = move_ptx_text; *piece; piece++)
        buf_puts(&text, *piece);
    code = d->cuLinkCreate_v2(0, NULL, NULL, &state);
    if (code == 0)
        code = d->cuLinkAddData_v2(state, CU_INPUT_PTX, text.data, text.len + 1,
                                   "move", 0, NULL, NULL);
    if (code == 0)
        code = d->cuLinkComplete(state, &cubin, &bytes);
    if (code == 0) {
        m->cubin = xmalloc(bytes);
        memcpy(m->cubin, cubin, bytes);
    }
    if (state)
        d->cuLinkDestroy(state);
    buf_release(&text);
    return driver_check(d, code, NO_DEVICE, "compiling the moves", a);
}

int gpu_mover_load(struct gpu_mover *m, struct answer *a)
{
    int code = m->driver->cuModuleLoadData(&m->module, m->cubin);

    if (code == 0)
        code = m->driver->cuModuleGetFunction(&m->kernel, m->module,
                                              move_ptx_entry);
    return driver_check(m->driver, code, NO_DEVICE, "loading the moves", a);
}

int gpu_mover_unload(struct gpu_mover *m)
{
    int code = m->module ? m->driver->cuModuleUnload(m->module) : 0;

    m->module = m->kernel = NULL;
    return code;
}

/* ---- moves ---- */

static int launch(const struct gpu_mover *m, const struct walk *w,
                  struct move_params *p, struct answer *a)
{
    uint64_t blocks = (w->count + THREADS - 1) / THREADS;
    void *params[] = {p};

    p->count = w->count;
    p->dims = w->dims;
    memcpy(p->dim, w->dim, sizeof(p->dim));
    if (blocks > BLOCKS)
        blocks = BLOCKS;
    return driver_check(m->driver,
                        m->driver->cuLaunchKernel(m->kernel, (unsigned)blocks,
                                                  1, 1, THREADS, 1, 1, 0, NULL,
                                                  params, NULL),
                        LAUNCH_FAILED, "a move", a);
}

int gpu_mover_copy(const struct gpu_mover *m, cu_address region,
                   const struct plan_node *n, struct answer *a)
{
    bool same = n->to.dtype == n->source.dtype;
    size_t bytes = dtype_bytes(n->to.dtype);
    struct move_params p = {
        .to = region + n->to.at,
        .source = region + n->source.at,
        .to_kind = same ? dtype_raw(n->to.dtype) : n->to.dtype,
        .source_kind = same ? dtype_raw(n->to.dtype) : n->source.dtype,
    };
    struct walk w;

    walk_init(&w, &n->to, &n->source);
    if (!w.count)
        return 0;
    if (same && walk_is_plain(&w, bytes, bytes))
        return driver_check(m->driver,
                            m->driver->cuMemcpyDtoDAsync_v2(
                                p.to, p.source, w.count * bytes, NULL),
                            LAUNCH_FAILED, "a copy", a);
    return launch(m, &w, &p, a);
}

/* Lets the driver fill a run of elements without gaps. */
static int fill_plain(const struct gpu_mover *m, cu_address to, size_t bytes,
                      uint64_t value, size_t count)
{
    switch (bytes) {
    case 1:
        return m->driver->cuMemsetD8Async(to, (unsigned char)value, count,
                                          NULL);
    case 2:
        return m->driver->cuMemsetD16Async(to, (unsigned short)value, count,
                                           NULL);
    default:
        return m->driver->cuMemsetD32Async(to, (unsigned)value,
                                           count * (bytes / 4), NULL);
    }
}

int gpu_mover_fill(const struct gpu_mover *m, cu_address region,
                   const struct plan_node *n, struct answer *a)
{
    size_t bytes = dtype_bytes(n->to.dtype);
    struct move_params p = {
        .to = region + n->to.at,
        .value = n->value,
        .to_kind = dtype_raw(n->to.dtype),
        .source_kind = MOVE_ZERO,
    };
    struct walk w;

    walk_init(&w, &n->to, NULL);
    if (!w.count)
        return 0;
    if (walk_is_plain(&w, bytes, 0) &&
        (bytes < 8 || n->value >> 32 == (n->value & UINT32_MAX)))
        return driver_check(m->driver,
                            fill_plain(m, p.to, bytes, n->value, w.count),
                            LAUNCH_FAILED, "a fill", a);
    return launch(m, &w, &p, a);
}

int gpu_mover_add(const struct gpu_mover *m, cu_address region,
                  const struct plan_node *n, struct answer *a)
{
    struct move_params p = {
        .to = region + n->to.at,
        .source = region + n->to.at,
        .value = n->value,
        .to_kind = dtype_raw(n->to.dtype),
        .source_kind = dtype_raw(n->to.dtype),
    };
    struct walk w;

    walk_init(&w, &n->to, &n->to);
    return launch(m, &w, &p, a);
}
