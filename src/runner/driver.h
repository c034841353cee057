/* driver.h: the parts of the CUDA driver that a runner needs. The library
 * is opened at run time, so that the program builds and starts without it.
 * Names and numbers match cuda.h; function versions are those of CUDA 11.4
 * and later. */
#ifndef RUNNER_DRIVER_H
#define RUNNER_DRIVER_H

#include "runner/answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Opens the library and finds the functions. */
int driver_open(struct driver *d, struct answer *a);

/* Returns 0 if `code` is 0; otherwise -1, with what failed and the name of the
 * error. A launch or module that runs out of memory gets NO_MEMORY. */
int driver_check(const struct driver *d, int code, enum status status,
                 const char *what, struct answer *a);

#endif
