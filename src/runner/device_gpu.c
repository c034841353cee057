/* device_gpu.c: runs a program on a GPU, through the CUDA driver alone. The driver's
 * library is opened at run time, so that the program builds and starts without
 * it. All work goes to the default stream, in the primary context.
 *
 * A kernel can write anywhere in this context. So what is ours there, the kernel
 * that moves data, is loaded anew for each candidate, and after an error that
 * sticks to the context the runner is replaced, never repaired. */
#include "runner/device.h"

#include "base/mem.h"
#include "base/tick.h"
#include "runner/move.h"
#include "runner/program.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the driver: names and numbers match <cuda.h>, versions CUDA 11.4 ---- */

enum {
    CU_OUT_OF_MEMORY = 2,
    CU_POSIX_FD = 1, /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
    CU_ON_DEVICE = 1,
    CU_READ_WRITE = 3,
    CU_INPUT_PTX = 1,
    CU_MAX_DYNAMIC_SHARED = 8,
    CU_NON_PORTABLE_CLUSTER = 14,
    CU_L2_PROMOTION_128B = 2,
    CU_CLUSTER_SPREAD = 1,
};

enum cu_attribute {
    CU_COOPERATIVE = 2,
    CU_CLUSTER_DIMENSION = 4,
    CU_CLUSTER_SCHEDULING = 5,
    CU_PROGRAMMATIC = 6,
};

typedef uint64_t cu_address;

struct cu_launch_attribute {
    enum cu_attribute id;
    char pad[4];
    union {
        char whole[64];
        int number;
        uint32_t three[3];
    } value;
};

struct cu_launch {
    uint32_t grid[3], block[3], shared_bytes;
    void *stream;
    struct cu_launch_attribute *attribute;
    uint32_t attributes;
};

struct cu_access {
    int where, device, flags;
};

/* Each returns a CUresult; addresses are integers here. Those in the second
 * list may be missing. */
#define DRIVER_FUNCTIONS(_)                                                   \
    _(cuInit, (unsigned flags))                                               \
    _(cuGetErrorName, (int code, const char **out))                           \
    _(cuGetErrorString, (int code, const char **out))                         \
    _(cuDeviceGet, (int *device, int index))                                  \
    _(cuDevicePrimaryCtxRetain, (void **context, int device))                 \
    _(cuCtxSetCurrent, (void *context))                                       \
    _(cuCtxSynchronize, (void))                                               \
    _(cuMemImportFromShareableHandle,                                         \
      (uint64_t * handle, intptr_t fd, int kind))                             \
    _(cuMemRelease, (uint64_t handle))                                        \
    _(cuMemAddressReserve, (cu_address * out, size_t bytes, size_t alignment, \
                            cu_address wish, unsigned long long flags))       \
    _(cuMemAddressFree, (cu_address at, size_t bytes))                        \
    _(cuMemMap, (cu_address at, size_t bytes, size_t offset, uint64_t handle, \
                 unsigned long long flags))                                   \
    _(cuMemUnmap, (cu_address at, size_t bytes))                              \
    _(cuMemSetAccess, (cu_address at, size_t bytes,                           \
                       const struct cu_access *access, size_t count))         \
    _(cuMemAlloc_v2, (cu_address * out, size_t bytes))                        \
    _(cuMemcpyDtoDAsync_v2,                                                   \
      (cu_address to, cu_address source, size_t bytes, void *stream))         \
    _(cuMemsetD8Async,                                                        \
      (cu_address to, unsigned char value, size_t count, void *stream))       \
    _(cuMemsetD16Async,                                                       \
      (cu_address to, unsigned short value, size_t count, void *stream))      \
    _(cuMemsetD32Async,                                                       \
      (cu_address to, unsigned value, size_t count, void *stream))            \
    _(cuLinkCreate_v2,                                                        \
      (unsigned count, int *option, void **value, void **state))              \
    _(cuLinkAddData_v2,                                                       \
      (void *state, int kind, void *data, size_t bytes, const char *name,     \
       unsigned count, int *option, void **value))                            \
    _(cuLinkComplete, (void *state, void **cubin, size_t *bytes))             \
    _(cuLinkDestroy, (void *state))                                           \
    _(cuModuleLoadData, (void **module, const void *image))                   \
    _(cuModuleUnload, (void *module))                                         \
    _(cuModuleGetFunction, (void **function, void *module, const char *name)) \
    _(cuFuncSetAttribute, (void *function, int attribute, int value))         \
    _(cuLaunchKernel,                                                         \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, \
       void *stream, void **params, void **extra))                            \
    _(cuEventCreate, (void **event, unsigned flags))                          \
    _(cuEventRecord, (void *event, void *stream))                             \
    _(cuEventElapsedTime, (float *ms, void *start, void *end))
#define DRIVER_NEWER_FUNCTIONS(_)                                           \
    _(cuLaunchKernelEx, (const struct cu_launch *config, void *function,    \
                         void **params, void **extra))                      \
    _(cuTensorMapEncodeTiled,                                               \
      (void *out, int dtype, uint32_t rank, cu_address at,                  \
       const uint64_t *shape, const uint64_t *strides, const uint32_t *box, \
       const uint32_t *steps, int interleave, int swizzle, int promotion,   \
       int fill))

/* A declaration has no parentheses around its name. */
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DRIVER_POINTER(name, arguments) int(*name) arguments;
struct driver {
    void *library;
    DRIVER_FUNCTIONS(DRIVER_POINTER)
    DRIVER_NEWER_FUNCTIONS(DRIVER_POINTER)
};
#undef DRIVER_POINTER

struct gpu_mover {
    const struct driver *driver;
    void *cubin; /* of our kernel, for this GPU */
    void *module, *kernel;
};

struct gpu_modules {
    const struct driver *driver;
    size_t modules;
    void **cubin;            /* for each module of the program */
    void **function;         /* for each function */
    struct gpu_needs *needs; /* what its launches require */
};

#define ENTRY(name, arguments) {#name, offsetof(struct driver, name)},
static const struct {
    const char *name;
    size_t at;
} functions[] = {DRIVER_FUNCTIONS(ENTRY)},
  newer[] = {DRIVER_NEWER_FUNCTIONS(ENTRY)};
#undef ENTRY

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* C has no cast from a data pointer to a function pointer. */
static bool driver_find(struct driver *d, const char *name, size_t at)
{
    void *found = dlsym(d->library, name);

    *(void **)((char *)d + at) = found;
    return found != NULL;
}

/* Opens the library and finds the functions. */
static int driver_open(struct driver *d, struct answer *a)
{
    /* Global, because candidates' libraries call cuTensorMapEncodeTiled by
     * name. */
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!d->library)
        // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no thread yet
        return answer_fail(a, NO_DEVICE, 0, "%s", dlerror());
    for (size_t i = 0; i < COUNT(functions); i++)
        if (!driver_find(d, functions[i].name, functions[i].at))
            return answer_fail(a, NO_DEVICE, 0, "the CUDA driver has no %s",
                               functions[i].name);
    for (size_t i = 0; i < COUNT(newer); i++)
        driver_find(d, newer[i].name, newer[i].at);
    return 0;
}

/* Returns 0 if `code` is 0; otherwise -1, with what failed and the name of the
 * error. A launch or module that runs out of memory gets NO_MEMORY. */
static int driver_check(const struct driver *d, int code, enum status status,
                        const char *what, struct answer *a)
{
    const char *name = NULL, *text = NULL;

    if (code == 0)
        return 0;
    d->cuGetErrorName(code, &name);
    d->cuGetErrorString(code, &text);
    if (code == CU_OUT_OF_MEMORY &&
        (status == LAUNCH_FAILED || status == NO_MODULE))
        status = NO_MEMORY;
    return answer_fail(a, status, (uint64_t)code, "%s: %s: %s", what,
                       name ? name : "an error without a name",
                       text ? text : "");
}

/* ---- moves: by the driver's functions where possible, else our kernel ---- */

#define THREADS 256
#define BLOCKS  16384 /* at most; threads loop over the remaining elements */

/* The kernel's only parameter. Each destination element is a source element,
 * plus `value` if it is an integer. Copies add 0, fills add to MOVE_ZERO, and
 * counters are their own source. */
struct move_params {
    uint64_t to, source; /* addresses */
    uint64_t value;
    uint64_t count;
    uint32_t to_kind, source_kind; /* enum dtype */
    uint32_t dims, unused;
    struct walk_dim dim[PROGRAM_DIMS];
};
#define MOVE_ZERO DTYPES /* no element type: the source is the number 0 */

/* move.ptx uses these offsets as numbers. */
_Static_assert(offsetof(struct move_params, value) == 16, "see the text");
_Static_assert(offsetof(struct move_params, count) == 24, "see the text");
_Static_assert(offsetof(struct move_params, to_kind) == 32, "see the text");
_Static_assert(offsetof(struct move_params, source_kind) == 36, "see the text");
_Static_assert(offsetof(struct move_params, dims) == 40, "see the text");
_Static_assert(offsetof(struct move_params, dim) == 48, "see the text");
_Static_assert(sizeof(struct walk_dim) == 24, "see the text");
_Static_assert(sizeof(struct move_params) == 432, "see the text");

extern const char move_ptx[]; /* move.ptx */

/* Compiles our kernel for the GPU of the current context. */
static int gpu_mover_init(struct gpu_mover *m, const struct driver *d,
                          struct answer *a)
{
    void *state = NULL, *cubin = NULL;
    size_t bytes = 0;
    int code;

    m->driver = d;
    code = d->cuLinkCreate_v2(0, NULL, NULL, &state);
    if (code == 0)
        code = d->cuLinkAddData_v2(state, CU_INPUT_PTX, (void *)move_ptx,
                                   strlen(move_ptx) + 1, "move", 0, NULL, NULL);
    if (code == 0)
        code = d->cuLinkComplete(state, &cubin, &bytes);
    if (code == 0) {
        m->cubin = xmalloc(bytes);
        memcpy(m->cubin, cubin, bytes);
    }
    if (state)
        d->cuLinkDestroy(state);
    return driver_check(d, code, NO_DEVICE, "compiling the moves", a);
}

/* Loads and unloads our kernel. Each candidate gets a fresh copy, because
 * kernels can write anywhere in their context. */
static int gpu_mover_load(struct gpu_mover *m, struct answer *a)
{
    int code = m->driver->cuModuleLoadData(&m->module, m->cubin);

    if (code == 0)
        code = m->driver->cuModuleGetFunction(&m->kernel, m->module,
                                              "monkeys_move");
    return driver_check(m->driver, code, NO_DEVICE, "loading the moves", a);
}

static int gpu_mover_unload(struct gpu_mover *m)
{
    int code = m->module ? m->driver->cuModuleUnload(m->module) : 0;

    m->module = m->kernel = NULL;
    return code;
}

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

/* One move; `region` is the address of the region. */
static int gpu_mover_copy(const struct gpu_mover *m, cu_address region,
                          const struct program_node *n, struct answer *a)
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

static int gpu_mover_fill(const struct gpu_mover *m, cu_address region,
                          const struct program_node *n, struct answer *a)
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

static int gpu_mover_add(const struct gpu_mover *m, cu_address region,
                         const struct program_node *n, struct answer *a)
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

/* ---- modules ---- */

#define PORTABLE_CLUSTER 8 /* blocks in a cluster that every GPU allows */

struct gpu_needs {
    uint32_t shared_bytes;
    bool large_cluster;
};

static uint64_t cluster_blocks(const struct program_launch *l)
{
    return (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2];
}

static void find_needs(struct gpu_needs *needs, const struct program *p)
{
    for (size_t i = 0; i < p->calls; i++)
        for (size_t k = 0; k < p->call[i].nodes; k++) {
            const struct program_node *n = &p->call[i].node[k];
            struct gpu_needs *f = &needs[n->launch.function];

            if (n->op != OP_LAUNCH)
                continue;
            if (n->launch.shared_bytes > f->shared_bytes)
                f->shared_bytes = n->launch.shared_bytes;
            if (cluster_blocks(&n->launch) > PORTABLE_CLUSTER)
                f->large_cluster = true;
        }
}

static int load_cubins(struct gpu_modules *m, const struct program *p,
                       struct answer *a)
{
    char what[64];

    for (size_t i = 0; i < p->modules; i++) {
        snprintf(what, sizeof(what), "module %zu: cuModuleLoadData", i);
        if (driver_check(
                m->driver,
                m->driver->cuModuleLoadData(&m->cubin[i], p->module[i].data),
                NO_MODULE, what, a) < 0)
            return -1;
    }
    return 0;
}

static int unload_cubins(struct gpu_modules *m)
{
    int code = 0;

    for (size_t i = 0; i < m->modules; i++) {
        int one = m->cubin[i] ? m->driver->cuModuleUnload(m->cubin[i]) : 0;

        m->cubin[i] = NULL;
        if (one)
            code = one;
    }
    return code;
}

/* A kernel that needs more than the defaults must be configured before its
 * launch. */
static int gpu_launch_prepare(const struct gpu_modules *m, size_t i,
                              const char *name, struct answer *a)
{
    const struct gpu_needs *needs = &m->needs[i];
    char what[256];

    snprintf(what, sizeof(what), "%.100s: %u bytes of shared memory", name,
             needs->shared_bytes);
    if (needs->shared_bytes &&
        driver_check(m->driver,
                     m->driver->cuFuncSetAttribute(m->function[i],
                                                   CU_MAX_DYNAMIC_SHARED,
                                                   (int)needs->shared_bytes),
                     LAUNCH_FAILED, what, a) < 0)
        return -1;
    snprintf(what, sizeof(what), "%.100s: clusters of more than %d", name,
             PORTABLE_CLUSTER);
    return needs->large_cluster
               ? driver_check(m->driver,
                              m->driver->cuFuncSetAttribute(
                                  m->function[i], CU_NON_PORTABLE_CLUSTER, 1),
                              LAUNCH_FAILED, what, a)
               : 0;
}

static int find_kernels(struct gpu_modules *m, const struct program *p,
                        struct answer *a)
{
    char what[256];

    for (size_t i = 0; i < p->functions; i++) {
        const struct program_function *f = &p->function[i];

        snprintf(what, sizeof(what), "kernel '%.200s'", f->name);
        if (driver_check(m->driver,
                         m->driver->cuModuleGetFunction(
                             &m->function[i], m->cubin[f->module], f->name),
                         NO_SYMBOL, what, a) < 0 ||
            gpu_launch_prepare(m, i, f->name, a) < 0)
            return -1;
    }
    return 0;
}

/* Loads the modules and functions of the program. close() releases them, also
 * after a failure, and returns a CUresult. */
static int gpu_modules_open(struct gpu_modules *m, const struct driver *d,
                            const struct program *p, struct answer *a)
{
    m->driver = d;
    m->modules = p->modules;
    m->cubin = xcalloc(p->modules + 1, sizeof(*m->cubin));
    m->function = xcalloc(p->functions + 1, sizeof(*m->function));
    m->needs = xcalloc(p->functions + 1, sizeof(*m->needs));
    find_needs(m->needs, p);
    return load_cubins(m, p, a) < 0 || find_kernels(m, p, a) < 0 ? -1 : 0;
}

/* Loads the cubins again, in their initial state. */
static int gpu_modules_reload(struct gpu_modules *m, const struct program *p,
                              struct answer *a)
{
    return driver_check(m->driver, unload_cubins(m), CONTEXT_BROKEN,
                        "cuModuleUnload", a) < 0 ||
                   load_cubins(m, p, a) < 0 || find_kernels(m, p, a) < 0
               ? -1
               : 0;
}

static int gpu_modules_close(struct gpu_modules *m)
{
    int code = unload_cubins(m);

    free(m->cubin);
    free(m->function);
    free(m->needs);
    *m = (struct gpu_modules){0};
    return code;
}

/* ---- parameters ---- */

static int encode_map(const struct driver *d,
                      const struct program_tensor_map *m, cu_address region,
                      void *out, struct answer *a)
{
    static const uint32_t steps[PROGRAM_TENSOR_MAP] = {1, 1, 1, 1, 1};

    if (!d->cuTensorMapEncodeTiled)
        return answer_fail(a, LAUNCH_FAILED, 0,
                           "this driver has no tensor maps");
    return driver_check(
        d,
        d->cuTensorMapEncodeTiled(out, (int)m->dtype, m->rank, region + m->at,
                                  m->shape, m->stride, m->box, steps, 0,
                                  (int)m->swizzle, CU_L2_PROMOTION_128B,
                                  (int)m->fill),
        LAUNCH_FAILED, "cuTensorMapEncodeTiled", a);
}

/* The driver requires aligned tensor maps. */
static void *aligned_room(struct arena *arena, size_t bytes)
{
    char *room = arena_alloc(arena, bytes + PROGRAM_MAP_ALIGN);

    return room + (-(uintptr_t)room & (PROGRAM_MAP_ALIGN - 1));
}

static int fill_struct(const struct driver *d, const struct program_struct *s,
                       cu_address region, char *out, struct answer *a)
{
    memcpy(out, s->data, s->bytes);
    for (size_t i = 0; i < s->patches; i++) {
        const struct program_patch *patch = &s->patch[i];
        uint64_t address = region + patch->param.value;

        if (patch->param.kind == PARAM_POINTER)
            memcpy(out + patch->offset, &address, sizeof(address));
        else if (encode_map(d, patch->param.map, region, out + patch->offset,
                            a) < 0)
            return -1;
    }
    return 0;
}

/* cuLaunchKernel takes the address of each parameter's bytes. */
static int bind_launch(const struct driver *d, struct program_launch *l,
                       cu_address region, struct arena *arena, struct answer *a)
{
    uint64_t *value = arena_alloc(arena, (l->params + 1) * sizeof(*value));
    void **address = arena_alloc(arena, (l->params + 1) * sizeof(*address));

    l->bound = address;
    for (size_t i = 0; i < l->params; i++) {
        const struct program_param *p = &l->param[i];

        value[i] = p->value + (p->kind == PARAM_POINTER ? region : 0);
        address[i] = &value[i];
        if (p->kind == PARAM_MAP) {
            address[i] = aligned_room(arena, PROGRAM_MAP_BYTES);
            if (encode_map(d, p->map, region, address[i], a) < 0)
                return -1;
        }
        if (p->kind == PARAM_STRUCT) {
            address[i] = aligned_room(arena, p->structure->bytes);
            if (fill_struct(d, p->structure, region, address[i], a) < 0)
                return -1;
        }
    }
    return 0;
}

/* Builds the parameters of every launch, in the arena. */
static int gpu_bind(const struct driver *d, struct program *p,
                    cu_address region, struct arena *arena, struct answer *a)
{
    for (size_t i = 0; i < p->calls; i++)
        for (size_t k = 0; k < p->call[i].nodes; k++) {
            struct program_node *n = &p->call[i].node[k];

            if (n->op == OP_LAUNCH &&
                bind_launch(d, &n->launch, region, arena, a) < 0) {
                a->node = k;
                return -1;
            }
        }
    return 0;
}

/* ---- launches ---- */

static void gpu_launch_add_number(struct cu_launch *c, enum cu_attribute id,
                                  int value)
{
    struct cu_launch_attribute *at = &c->attribute[c->attributes++];

    memset(at, 0, sizeof(*at));
    at->id = id;
    at->value.number = value;
}

static int launch_extended(const struct driver *d, void *function,
                           const struct program_launch *l)
{
    struct cu_launch_attribute attribute[4];
    struct cu_launch c = {.shared_bytes = l->shared_bytes,
                          .attribute = attribute};

    memcpy(c.grid, l->grid, sizeof(c.grid));
    memcpy(c.block, l->block, sizeof(c.block));
    if (l->pdl)
        gpu_launch_add_number(&c, CU_PROGRAMMATIC, 1);
    if (l->cooperative)
        gpu_launch_add_number(&c, CU_COOPERATIVE, 1);
    if (cluster_blocks(l) > 1) {
        gpu_launch_add_number(&c, CU_CLUSTER_SCHEDULING, CU_CLUSTER_SPREAD);
        gpu_launch_add_number(&c, CU_CLUSTER_DIMENSION, 0);
        memcpy(attribute[c.attributes - 1].value.three, l->cluster,
               sizeof(l->cluster));
    }
    return d->cuLaunchKernelEx(&c, function, l->bound, NULL);
}

static int gpu_launch(const struct driver *d, void *function,
                      const struct program_launch *l, const char *name,
                      struct answer *a)
{
    bool plain = !l->pdl && !l->cooperative && cluster_blocks(l) == 1;
    char what[256];
    int code;

    if (!plain && !d->cuLaunchKernelEx)
        return answer_fail(a, LAUNCH_FAILED, 0,
                           "this driver has no cuLaunchKernelEx");
    code = plain
               ? d->cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2],
                                   l->block[0], l->block[1], l->block[2],
                                   l->shared_bytes, NULL, l->bound, NULL)
               : launch_extended(d, function, l);
    if (code == 0)
        return 0;
    snprintf(what, sizeof(what), "launching '%.200s'", name);
    return driver_check(d, code, LAUNCH_FAILED, what, a);
}

/* ---- the device ---- */

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
    const struct program *program;
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

static int gpu_load(struct device *d, struct program *p, struct arena *arena,
                    struct answer *a)
{
    if (program_has(p, MODULE_LIBRARY))
        return answer_fail(a, BAD_PROGRAM, 0, "a library needs --device cpu");
    d->program = p;
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

static int device_gpu_execute(struct device *d, const struct program_node *n,
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
                      d->program->function[n->launch.function].name, a);
}

/* Waits after each node, to know which one failed. Does not wait before a
 * launch that may overlap the previous one: it must also overlap while it is
 * judged. */
static int device_gpu_wait_for(struct device *d, const struct program_call *c,
                               size_t i, struct answer *a)
{
    if (i + 1 < c->nodes && c->node[i + 1].op == OP_LAUNCH &&
        c->node[i + 1].launch.pdl)
        return 0;
    return device_gpu_check(d, d->driver.cuCtxSynchronize(), CONTEXT_BROKEN,
                            "after this node", a);
}

static int issue(struct device *d, const struct program_call *c, unsigned flags,
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

static int issue_timed(struct device *d, const struct program_call *c,
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

static int gpu_run(struct device *d, const struct program_call *c,
                   unsigned flags, struct answer *a)
{
    bool timed = flags & RUN_TIMED;
    float ms = 0;
    int rc;

    if ((flags & RUN_RELOAD) && d->used &&
        gpu_modules_reload(&d->modules, d->program, a) < 0)
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
    d->program = NULL;
    return device_gpu_check(d, code, CONTEXT_BROKEN, "unloading", a);
}

const struct device_kind device_cuda = {
    "cuda", gpu_open, gpu_map, gpu_load, gpu_run, gpu_unload,
};
