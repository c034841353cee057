/* gpu_launch.c: modules, parameters, launches. */
#include "runner/gpu_launch.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTABLE_CLUSTER 8 /* blocks in a cluster that every GPU allows */

struct gpu_needs {
    uint32_t shared_bytes;
    bool large_cluster;
};

static uint64_t cluster_blocks(const struct plan_launch *l)
{
    return (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2];
}

/* ---- modules ---- */

static void find_needs(struct gpu_needs *needs, const struct plan *p)
{
    for (size_t i = 0; i < p->calls; i++)
        for (size_t k = 0; k < p->call[i].nodes; k++) {
            const struct plan_node *n = &p->call[i].node[k];
            struct gpu_needs *f = &needs[n->launch.function];

            if (n->op != OP_LAUNCH)
                continue;
            if (n->launch.shared_bytes > f->shared_bytes)
                f->shared_bytes = n->launch.shared_bytes;
            if (cluster_blocks(&n->launch) > PORTABLE_CLUSTER)
                f->large_cluster = true;
        }
}

static int load_cubins(struct gpu_modules *m, const struct plan *p,
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

static int find_kernels(struct gpu_modules *m, const struct plan *p,
                        struct answer *a)
{
    char what[256];

    for (size_t i = 0; i < p->functions; i++) {
        const struct plan_function *f = &p->function[i];

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

int gpu_modules_open(struct gpu_modules *m, const struct driver *d,
                     const struct plan *p, struct answer *a)
{
    m->driver = d;
    m->modules = p->modules;
    m->cubin = xcalloc(p->modules + 1, sizeof(*m->cubin));
    m->function = xcalloc(p->functions + 1, sizeof(*m->function));
    m->needs = xcalloc(p->functions + 1, sizeof(*m->needs));
    find_needs(m->needs, p);
    return load_cubins(m, p, a) < 0 || find_kernels(m, p, a) < 0 ? -1 : 0;
}

int gpu_modules_reload(struct gpu_modules *m, const struct plan *p,
                       struct answer *a)
{
    return driver_check(m->driver, unload_cubins(m), CONTEXT_BROKEN,
                        "cuModuleUnload", a) < 0 ||
                   load_cubins(m, p, a) < 0 || find_kernels(m, p, a) < 0
               ? -1
               : 0;
}

int gpu_modules_close(struct gpu_modules *m)
{
    int code = unload_cubins(m);

    free(m->cubin);
    free(m->function);
    free(m->needs);
    *m = (struct gpu_modules){0};
    return code;
}

/* ---- parameters ---- */

static int encode_map(const struct driver *d, const struct plan_tensor_map *m,
                      cu_address region, void *out, struct answer *a)
{
    static const uint32_t steps[PLAN_TENSOR_MAP] = {1, 1, 1, 1, 1};

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
    char *room = arena_alloc(arena, bytes + PLAN_MAP_ALIGN);

    return room + (-(uintptr_t)room & (PLAN_MAP_ALIGN - 1));
}

static int fill_struct(const struct driver *d, const struct plan_struct *s,
                       cu_address region, char *out, struct answer *a)
{
    memcpy(out, s->data, s->bytes);
    for (size_t i = 0; i < s->patches; i++) {
        const struct plan_patch *patch = &s->patch[i];
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
static int bind_launch(const struct driver *d, struct plan_launch *l,
                       cu_address region, struct arena *arena, struct answer *a)
{
    uint64_t *value = arena_alloc(arena, (l->params + 1) * sizeof(*value));
    void **address = arena_alloc(arena, (l->params + 1) * sizeof(*address));

    l->bound = address;
    for (size_t i = 0; i < l->params; i++) {
        const struct plan_param *p = &l->param[i];

        value[i] = p->value + (p->kind == PARAM_POINTER ? region : 0);
        address[i] = &value[i];
        if (p->kind == PARAM_MAP) {
            address[i] = aligned_room(arena, PLAN_MAP_BYTES);
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

int gpu_bind(const struct driver *d, struct plan *p, cu_address region,
             struct arena *arena, struct answer *a)
{
    for (size_t i = 0; i < p->calls; i++)
        for (size_t k = 0; k < p->call[i].nodes; k++) {
            struct plan_node *n = &p->call[i].node[k];

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
                           const struct plan_launch *l)
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

int gpu_launch(const struct driver *d, void *function,
               const struct plan_launch *l, const char *name, struct answer *a)
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
