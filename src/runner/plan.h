/* plan.h: what the judge asks for: modules, their functions, and calls, each a
 * list of moves and launches over one region of memory. docs/RUNNER.md
 * describes the layout in bytes.
 *
 * A plan that was read lies inside its region, so offsets need no further
 * checks. It borrows the bytes it was read from; the rest is in the arena. */
#ifndef RUNNER_PLAN_H
#define RUNNER_PLAN_H

#include "base/arena.h"
#include "base/err.h"
#include "runner/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_MAGIC      0x312f6e616c706b6dull /* "mkplan/1" */
#define PLAN_BYTES      ((uint64_t)1 << 30)
#define PLAN_REGION     ((uint64_t)1 << 46)
#define PLAN_MODULES    4096
#define PLAN_FUNCTIONS  65536
#define PLAN_CALLS      1024
#define PLAN_NODES      ((uint64_t)1 << 20) /* in all calls */
#define PLAN_PARAMS     4096                /* per launch or call */
#define PLAN_NAME       4096
#define PLAN_DIMS       16
#define PLAN_TENSOR_MAP 5     /* dimensions of a tensor map */
#define PLAN_STRUCT     32764 /* bytes of a parameter */
#define PLAN_MAP_BYTES  128   /* of a tensor map */
#define PLAN_MAP_ALIGN  64

enum plan_module_kind { MODULE_CUBIN = 1, MODULE_LIBRARY = 2 };

struct plan_module {
    enum plan_module_kind kind;
    const char *data;
    size_t bytes;
};

struct plan_function {
    size_t module;
    const char *name;
};

/* A strided array. Strides count elements; only a copy's source may have
 * negative strides. */
struct plan_place {
    uint64_t at; /* bytes from the start of the region, a multiple of the
                    element size */
    enum dtype dtype;
    unsigned dims;
    const uint64_t *n;
    const int64_t *stride;
};

struct plan_tensor_map {
    uint64_t at;
    unsigned dtype, rank, swizzle, fill;
    uint64_t shape[PLAN_TENSOR_MAP];
    uint64_t stride[PLAN_TENSOR_MAP]; /* bytes; rank - 1 of them */
    uint32_t box[PLAN_TENSOR_MAP];
};

enum plan_param_kind {
    PARAM_POINTER = 1,
    PARAM_NUMBER,
    PARAM_MAP,
    PARAM_STRUCT,
};

struct plan_param {
    enum plan_param_kind kind;
    uint64_t value; /* an offset, or a number's bits */
    const struct plan_tensor_map *map;
    const struct plan_struct *structure;
};

/* Bytes passed as they are, except where a patch inserts a pointer or a tensor
 * map. Patches are in order, do not overlap, and lie within the bytes. */
struct plan_struct {
    const char *data;
    size_t bytes, patches;
    const struct plan_patch *patch;
};

struct plan_patch {
    size_t offset;
    struct plan_param param;
};

/* A kernel, or a library function, which has only parameters. */
struct plan_launch {
    size_t function;
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    bool cooperative, pdl;
    size_t params;
    const struct plan_param *param;
    void *bound; /* the parameters as built by the device */
};

enum plan_op { OP_COPY = 1, OP_FILL, OP_ADD, OP_LAUNCH, OP_CALL };

struct plan_node {
    enum plan_op op;
    struct plan_place to, source; /* of moves */
    uint64_t value;               /* a fill's bits, or the number to add */
    struct plan_launch launch;
};

struct plan_call {
    struct plan_node *node;
    size_t nodes;
};

struct plan {
    struct plan_module *module;
    struct plan_function *function;
    struct plan_call *call;
    size_t modules, functions, calls;
};

/* Reads a plan of `bytes` bytes for a region of `region` bytes. `data` is
 * aligned for words and must not change while the plan is in use. */
int plan_read(struct plan *p, const void *data, size_t bytes, uint64_t region,
              struct arena *a, struct err *e);

/* The first module of this kind, or NULL. */
const struct plan_module *plan_has(const struct plan *p,
                                   enum plan_module_kind kind);

#endif
