/* program.h: what the judge asks for: modules, their functions, and calls, each a
 * list of moves and launches over one region of memory. docs/RUNNER.md
 * describes the layout in bytes.
 *
 * A program that was read lies inside its region, so offsets need no further
 * checks. It borrows the bytes it was read from; the rest is in the arena. */
#ifndef RUNNER_PROGRAM_H
#define RUNNER_PROGRAM_H

#include "base/arena.h"
#include "base/err.h"
#include "runner/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_MAGIC      0x312f676f72706b6dull /* "mkprog/1" */
#define PROGRAM_BYTES      ((uint64_t)1 << 30)
#define PROGRAM_REGION     ((uint64_t)1 << 46)
#define PROGRAM_MODULES    4096
#define PROGRAM_FUNCTIONS  65536
#define PROGRAM_CALLS      1024
#define PROGRAM_NODES      ((uint64_t)1 << 20) /* in all calls */
#define PROGRAM_PARAMS     4096                /* per launch or call */
#define PROGRAM_NAME       4096
#define PROGRAM_DIMS       16
#define PROGRAM_TENSOR_MAP 5     /* dimensions of a tensor map */
#define PROGRAM_STRUCT     32764 /* bytes of a parameter */
#define PROGRAM_MAP_BYTES  128   /* of a tensor map */
#define PROGRAM_MAP_ALIGN  64

enum program_module_kind { MODULE_CUBIN = 1, MODULE_LIBRARY = 2 };

struct program_module {
    enum program_module_kind kind;
    const char *data;
    size_t bytes;
};

struct program_function {
    size_t module;
    const char *name;
};

/* A strided array. Strides count elements; only a copy's source may have
 * negative strides. */
struct program_place {
    uint64_t at; /* bytes from the start of the region, a multiple of the
                    element size */
    enum dtype dtype;
    unsigned dims;
    const uint64_t *n;
    const int64_t *stride;
};

struct program_tensor_map {
    uint64_t at;
    unsigned dtype, rank, swizzle, fill;
    uint64_t shape[PROGRAM_TENSOR_MAP];
    uint64_t stride[PROGRAM_TENSOR_MAP]; /* bytes; rank - 1 of them */
    uint32_t box[PROGRAM_TENSOR_MAP];
};

enum program_param_kind {
    PARAM_POINTER = 1,
    PARAM_NUMBER,
    PARAM_MAP,
    PARAM_STRUCT,
};

struct program_param {
    enum program_param_kind kind;
    uint64_t value; /* an offset, or a number's bits */
    const struct program_tensor_map *map;
    const struct program_struct *structure;
};

/* Bytes passed as they are, except where a patch inserts a pointer or a tensor
 * map. Patches are in order, do not overlap, and lie within the bytes. */
struct program_struct {
    const char *data;
    size_t bytes, patches;
    const struct program_patch *patch;
};

struct program_patch {
    size_t offset;
    struct program_param param;
};

/* Whole pages of the region. */
struct program_pages {
    uint64_t begin, end;
};

/* A kernel, or a library function, which has only parameters, and sees only
 * these pages, which are in order. */
struct program_launch {
    size_t function;
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    bool cooperative, pdl;
    size_t params;
    const struct program_param *param;
    size_t seen;
    const struct program_pages *pages;
    void *bound; /* the parameters as built by the device */
};

enum program_op { OP_COPY = 1, OP_FILL, OP_ADD, OP_LAUNCH, OP_CALL };

struct program_node {
    enum program_op op;
    struct program_place to, source; /* of moves */
    uint64_t value;                  /* a fill's bits, or the number to add */
    struct program_launch launch;
};

struct program_call {
    struct program_node *node;
    size_t nodes;
};

struct program {
    struct program_module *module;
    struct program_function *function;
    struct program_call *call;
    size_t modules, functions, calls;
};

/* Reads a program of `bytes` bytes for a region of `region` bytes. `data` is
 * aligned for words and must not change while the program is in use. */
int program_read(struct program *p, const void *data, size_t bytes,
                 uint64_t region, struct arena *a, struct err *e);

/* The first module of this kind, or NULL. */
const struct program_module *program_has(const struct program *p,
                                         enum program_module_kind kind);

#endif
