/* cuda_host.c: the CUDA runtime that a candidate's host functions are linked with in a compiler.
 * It runs no kernel and has no device: it writes down what would be launched, with the bytes of
 * every parameter, and answers questions as an H100 would. There is no data in its process.
 *
 * hosted_compiler.py speaks to it by lines. Standard input:
 *
 *   key HEX                             32 digits that begin every tensor map
 *   kernel NAME REGISTERS SHARED N SIZE...    of each kernel: its parameters' sizes in bytes
 *   call NAME N WORD...                 a function of the candidate's, words in hexadecimal
 *
 * Descriptor 3:
 *
 *   call                                the next call begins
 *   map ADDRESS DTYPE RANK SHAPE... STRIDES... BOX... SWIZZLE FILL
 *   launch NAME GRID(3) BLOCK(3) CLUSTER(3) SHARED COOPERATIVE PDL N HEX...
 *   done                                everything was called
 *   error                               and a text up to the end: what went wrong
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER           3
#define PARAMETERS       256
#define STACK_BYTES      (256 << 10) /* cleared before a call */
#define MAP_BYTES        128
#define USUAL_SHARED     (48 << 10) /* that a block may have without asking */
#define MOST_SHARED      (227 << 10)
#define SM_SHARED        (228 << 10)
#define SM_REGISTERS     65536
#define SM_THREADS       2048
#define SM_BLOCKS        32
#define SM_COUNT         132
#define WARP             32
#define PORTABLE_CLUSTER 8
#define MOST_CLUSTER     16

struct kernel {
    const char *name;
    const void *function; /* the host's stub, which stands for it */
    long dynamic; /* bytes of shared memory that it may have; -1: as usual */
    int large_cluster;
    int known; /* what follows has been read */
    int registers, shared, params;
    uint32_t size[PARAMETERS];
};

/* The generated part of the source: its functions, each taking words. */
struct monkeys_function {
    const char *name;
    void (*call)(const unsigned long long *words);
};
extern const struct monkeys_function monkeys_functions[];

static struct kernel **kernels;
static size_t kernel_count;
static FILE *out;
static const char *calling = "a function";
static unsigned char key[16];
static uint64_t maps;
static cudaError_t last_error;

/* ---- failures ---- */

static __attribute__((noreturn, format(printf, 1, 2))) void
fail(const char *form, ...)
{
    va_list list;

    fprintf(out, "error\n");
    va_start(list, form);
    vfprintf(out, form, list);
    va_end(list);
    fflush(out);
    fflush(stdout);
    _exit(0);
}

static cudaError_t keep(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer",
     "invalid device pointer"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
     "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice",
     "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice",
     "invalid device ordinal"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound",
     "named symbol not found"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize",
     "unsupported cluster size requested"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const char *cudaGetErrorName(cudaError_t code)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (errors[i].code == code)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t code)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (errors[i].code == code)
            return errors[i].text;
    return "unrecognized error code";
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

/* What a function of the candidate's ends with: its own code, or what the runtime has kept. */
void monkeys_end(const char *name, long code)
{
    cudaError_t error = code ? (cudaError_t)code : last_error;

    if (error != cudaSuccess)
        fail("%s: %s (%d): %s", name, cudaGetErrorName(error), (int)error,
             cudaGetErrorString(error));
}

void monkeys_threw(const char *name, const char *what)
{
    fail("%s: %s", name, what);
}

/* ---- kernels ---- */

static struct kernel *kernel_of(const void *function)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (kernels[i]->function == function && kernels[i]->known)
            return kernels[i];
    return NULL;
}

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;

    handle = binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const char *function, char *device,
                            const char *name, int limit, void *thread,
                            void *block, void *bdim, void *gdim, int *size)
{
    struct kernel *k = calloc(1, sizeof(*k));

    kernels = realloc(kernels, (kernel_count + 1) * sizeof(*kernels));
    if (!k || !kernels)
        abort();
    *k = (struct kernel){.name = name, .function = function, .dynamic = -1};
    kernels[kernel_count++] = k;
}

/* A variable of the device: it stays in the cubin, where the judge looks at it. */
void __cudaRegisterVar(void **handle, char *host, char *device,
                       const char *name, int external, size_t size,
                       int constant, int global)
{
    (void)handle;
}

cudaError_t __cudaGetKernel(cudaKernel_t *out_kernel, const void *function)
{
    *out_kernel = (cudaKernel_t)function;
    return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t *out_kernel, const void *function)
{
    return __cudaGetKernel(out_kernel, function);
}

cudaError_t cudaFuncSetAttribute(const void *function,
                                 enum cudaFuncAttribute attribute, int value)
{
    struct kernel *k = kernel_of(function);

    if (!k)
        return keep(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || value + k->shared > MOST_SHARED)
            return keep(cudaErrorInvalidValue);
        k->dynamic = value;
    }
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
        k->large_cluster = value != 0;
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *function,
                                   enum cudaFuncCache config)
{
    (void)config;
    return kernel_of(function) ? cudaSuccess
                               : keep(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a,
                                  const void *function)
{
    const struct kernel *k = kernel_of(function);

    if (!k)
        return keep(cudaErrorInvalidDeviceFunction);
    memset(a, 0, sizeof(*a));
    a->sharedSizeBytes = (size_t)k->shared;
    a->numRegs = k->registers;
    a->maxThreadsPerBlock = 1024;
    a->binaryVersion = a->ptxVersion = 90;
    a->maxDynamicSharedSizeBytes =
        k->dynamic >= 0 ? (int)k->dynamic : USUAL_SHARED - k->shared;
    return cudaSuccess;
}

/* ---- launches ---- */

struct launch {
    dim3 grid, block, cluster;
    size_t shared;
    int cooperative, pdl;
};

/* As the hardware gives them out: to a warp, in units of 8 for each thread. */
static int registers_of(const struct kernel *k, int threads)
{
    return (k->registers + 7) / 8 * 8 * ((threads + WARP - 1) / WARP * WARP);
}

static uint64_t product(dim3 d)
{
    return (uint64_t)d.x * d.y * d.z;
}

static cudaError_t check_launch(const struct kernel *k, const struct launch *l)
{
    size_t most =
        (size_t)(k->dynamic >= 0 ? k->dynamic : USUAL_SHARED - k->shared);
    uint64_t threads = product(l->block), blocks = product(l->cluster);

    if (!product(l->grid) || l->grid.x > INT32_MAX || l->grid.y > 65535 ||
        l->grid.z > 65535 || !threads || l->block.x > 1024 ||
        l->block.y > 1024 || l->block.z > 64 || threads > 1024)
        return cudaErrorInvalidConfiguration;
    if (l->shared > most)
        return cudaErrorInvalidValue;
    if (registers_of(k, (int)threads) > SM_REGISTERS)
        return cudaErrorLaunchOutOfResources;
    if (!blocks ||
        blocks > (k->large_cluster ? MOST_CLUSTER : PORTABLE_CLUSTER) ||
        l->grid.x % l->cluster.x || l->grid.y % l->cluster.y ||
        l->grid.z % l->cluster.z)
        return cudaErrorInvalidClusterSize;
    return cudaSuccess;
}

static void write_three(dim3 d)
{
    fprintf(out, " %u %u %u", d.x, d.y, d.z);
}

static cudaError_t launch(const void *function, const struct launch *l,
                          void **args)
{
    const struct kernel *k = kernel_of(function);
    cudaError_t error = k ? check_launch(k, l) : cudaErrorInvalidDeviceFunction;

    if (error != cudaSuccess)
        return keep(error);
    fprintf(out, "launch %s", k->name);
    write_three(l->grid);
    write_three(l->block);
    write_three(l->cluster);
    fprintf(out, " %zu %d %d %d", l->shared, l->cooperative, l->pdl, k->params);
    for (int i = 0; i < k->params; i++) {
        const unsigned char *byte = args[i];

        fputc(' ', out);
        for (uint32_t at = 0; at < k->size[i]; at++)
            fprintf(out, "%02x", byte[at]);
    }
    fputc('\n', out);
    return cudaSuccess;
}

static const dim3 one = {1, 1, 1};
static struct {
    dim3 grid, block;
    size_t shared;
    struct CUstream_st *stream;
} pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     struct CUstream_st *stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                       void *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *(struct CUstream_st **)stream = pushed.stream;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
                             void **args, size_t shared, cudaStream_t stream)
{
    (void)stream;
    return launch(function, &(struct launch){grid, block, one, shared, 0, 0},
                  args);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                               void **args, size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel((const void *)kernel, grid, block, args, shared,
                            stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid,
                                        dim3 block, void **args, size_t shared,
                                        cudaStream_t stream)
{
    (void)stream;
    return launch(function, &(struct launch){grid, block, one, shared, 1, 0},
                  args);
}

static void read_attribute(const cudaLaunchAttribute *a, struct launch *l)
{
    switch (a->id) {
    case cudaLaunchAttributeClusterDimension:
        l->cluster = (dim3){a->val.clusterDim.x, a->val.clusterDim.y,
                            a->val.clusterDim.z};
        break;
    case cudaLaunchAttributeCooperative:
        l->cooperative = a->val.cooperative != 0;
        break;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
        l->pdl = a->val.programmaticStreamSerializationAllowed != 0;
        break;
    case cudaLaunchAttributeIgnore: /* and what changes nothing but the speed */
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
        break;
    default:
        fail("%s: the launch attribute %d is not supported; clusters, "
             "cooperative launches and "
             "programmatic stream serialization are",
             calling, (int)a->id);
    }
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c,
                                const void *function, void **args)
{
    struct launch l = {c->gridDim, c->blockDim, one, c->dynamicSmemBytes, 0, 0};

    for (unsigned i = 0; i < c->numAttrs; i++)
        read_attribute(&c->attrs[i], &l);
    return launch(function, &l, args);
}

/* ---- tensor maps ---- */

static const unsigned char map_bytes[] = {1, 2, 4, 4, 8, 8, 2,
                                          4, 8, 2, 4, 4, 4};

static int bad_map(const void *map, unsigned dtype, unsigned rank,
                   uint64_t address, const cuuint64_t *shape,
                   const cuuint64_t *stride, const cuuint32_t *box,
                   unsigned swizzle)
{
    static const unsigned widths[] = {0, 32, 64, 128};

    if ((uintptr_t)map % 64 || dtype >= sizeof(map_bytes) || rank < 1 ||
        rank > 5 || address % 16 || !address || swizzle > 3)
        return 1;
    for (unsigned i = 0; i < rank; i++)
        if (!shape[i] || shape[i] > (uint64_t)1 << 32 || !box[i] ||
            box[i] > 256)
            return 1;
    for (unsigned i = 0; i + 1 < rank; i++)
        if (stride[i] % 16 || stride[i] >= (uint64_t)1 << 40)
            return 1;
    if (box[0] * map_bytes[dtype] % 16)
        return 1;
    return swizzle && box[0] * map_bytes[dtype] > widths[swizzle];
}

/* 128 bytes that only the compiler knows the meaning of: the key, and a number. */
static void write_map(void *map)
{
    unsigned char *byte = map;

    maps++;
    for (int i = 0; i < MAP_BYTES; i += 32) {
        memcpy(byte + i, key, sizeof(key));
        memset(byte + i + 16, i, 8);
        memcpy(byte + i + 24, &maps, 8);
    }
}

CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType dtype, cuuint32_t rank, void *address,
    const cuuint64_t *shape, const cuuint64_t *stride, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill)
{
    (void)promotion; /* a matter of speed; the runner has its own */
    if (bad_map(map, dtype, rank, (uintptr_t)address, shape, stride, box,
                swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        fail("%s: an interleaved tensor map is not supported", calling);
    for (unsigned i = 0; i < rank; i++)
        if (steps[i] != 1)
            fail("%s: a tensor map whose element strides are not 1 is not "
                 "supported",
                 calling);
    write_map(map);
    fprintf(out, "map %llx %d %u", (unsigned long long)(uintptr_t)address,
            (int)dtype, rank);
    for (unsigned i = 0; i < rank; i++)
        fprintf(out, " %llu", (unsigned long long)shape[i]);
    for (unsigned i = 0; i + 1 < rank; i++)
        fprintf(out, " %llu", (unsigned long long)stride[i]);
    for (unsigned i = 0; i < rank; i++)
        fprintf(out, " %u", box[i]);
    fprintf(out, " %d %d\n", (int)swizzle, (int)fill);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult code, const char **text)
{
    *text = code == CUDA_SUCCESS               ? "CUDA_SUCCESS"
            : code == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
                                               : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
    *text = code == CUDA_SUCCESS               ? "no error"
            : code == CUDA_ERROR_INVALID_VALUE ? "invalid argument"
                                               : "unknown error";
    return CUDA_SUCCESS;
}

cudaError_t
cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                 unsigned version, unsigned long long flags,
                                 enum cudaDriverEntryPointQueryResult *status)
{
    static const struct {
        const char *name;
        void *function;
    } known[] = {{"cuTensorMapEncodeTiled", (void *)cuTensorMapEncodeTiled},
                 {"cuGetErrorName", (void *)cuGetErrorName},
                 {"cuGetErrorString", (void *)cuGetErrorString}};

    (void)version;
    (void)flags;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(known[i].name, symbol) == 0) {
            *function = known[i].function;
            if (status)
                *status = cudaDriverEntryPointSuccess;
            return cudaSuccess;
        }
    fail("%s: the driver's %s is not available to host functions, which make "
         "tensor maps and "
         "launch kernels",
         calling, symbol);
}

/* By its symbol, because the header calls it deprecated. */
cudaError_t entry_point(const char *symbol, void **function,
                        unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult
                            *status) __asm__("cudaGetDriverEntryPoint");
cudaError_t entry_point(const char *symbol, void **function,
                        unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *status)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, status);
}

/* ---- the device ---- */

static const struct {
    enum cudaDeviceAttr attribute;
    int value;
} facts[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, INT32_MAX},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, USUAL_SHARED},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, MOST_SHARED},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, SM_SHARED},
    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    {cudaDevAttrMaxRegistersPerBlock, SM_REGISTERS},
    {cudaDevAttrMaxRegistersPerMultiprocessor, SM_REGISTERS},
    {cudaDevAttrMaxThreadsPerMultiProcessor, SM_THREADS},
    {cudaDevAttrMaxBlocksPerMultiprocessor, SM_BLOCKS},
    {cudaDevAttrMultiProcessorCount, SM_COUNT},
    {cudaDevAttrWarpSize, WARP},
    {cudaDevAttrL2CacheSize, 50 << 20},
    {cudaDevAttrTotalConstantMemory, 64 << 10},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrComputeCapabilityMajor, 9},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrClockRate, 1980000},
    {cudaDevAttrMemoryClockRate, 2619000},
    {cudaDevAttrGlobalMemoryBusWidth, 5120},
};

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    if (device)
        return keep(cudaErrorInvalidDevice);
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
        if (facts[i].attribute == attribute) {
            *value = facts[i].value;
            return cudaSuccess;
        }
    fail("%s: the device's attribute %d is not known where host functions run",
         calling, (int)attribute);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    if (device)
        return keep(cudaErrorInvalidDevice);
    memset(p, 0, sizeof(*p));
    strcpy(p->name, "NVIDIA H100");
    p->totalGlobalMem = (size_t)80 << 30;
    p->sharedMemPerBlock = USUAL_SHARED;
    p->sharedMemPerBlockOptin = MOST_SHARED;
    p->sharedMemPerMultiprocessor = SM_SHARED;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = SM_REGISTERS;
    p->warpSize = WARP;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT32_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 64 << 10;
    p->major = 9;
    p->multiProcessorCount = SM_COUNT;
    p->maxThreadsPerMultiProcessor = SM_THREADS;
    p->maxBlocksPerMultiProcessor = SM_BLOCKS;
    p->l2CacheSize = 50 << 20;
    p->memoryBusWidth = 5120;
    p->cooperativeLaunch = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device ? keep(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return cudaRuntimeGetVersion(version);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int threads, size_t shared,
    unsigned flags)
{
    const struct kernel *k = kernel_of(function);
    int most = SM_BLOCKS, each;

    (void)flags;
    if (!k)
        return keep(cudaErrorInvalidDeviceFunction);
    if (threads < 1 || threads > 1024)
        return keep(cudaErrorInvalidValue);
    each = SM_THREADS / ((threads + WARP - 1) / WARP * WARP);
    most = each < most ? each : most;
    each = k->registers ? SM_REGISTERS / registers_of(k, threads) : most;
    most = each < most ? each : most;
    shared += (size_t)k->shared + 1024;
    each = shared > SM_SHARED ? 0 : (int)(SM_SHARED / shared);
    *blocks = each < most ? each : most;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                          const void *function,
                                                          int threads,
                                                          size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, function, threads, shared, 0);
}

/* ---- what host functions may not do ---- */

#define ALLOCATE "allocate with torch.empty in forward and pass the tensor"
#define COPY                                                                \
    "there is no data where host functions run; copy in a kernel, or with " \
    "torch in forward"
#define SYMBOL "pass values and tensors to the kernel as parameters"
#define ZERO   "zero with torch.zeros in forward, or in a kernel"
#define STREAM                                                               \
    "everything is launched on one stream, in order; leave streams, events " \
    "and graphs out"

/* Under the symbols of the real ones, whatever their parameters are. */
#define REFUSE(name, advice)                                              \
    cudaError_t monkeys_no_##name(void) __asm__(#name);                   \
    cudaError_t monkeys_no_##name(void)                                   \
    {                                                                     \
        fail("%s: " #name " is not available to host functions: " advice, \
             calling);                                                    \
    }

REFUSE(cudaMalloc, ALLOCATE)
REFUSE(cudaMallocAsync, ALLOCATE)
REFUSE(cudaMallocFromPoolAsync, ALLOCATE)
REFUSE(cudaMallocManaged, ALLOCATE)
REFUSE(cudaMallocHost, ALLOCATE)
REFUSE(cudaMallocPitch, ALLOCATE)
REFUSE(cudaHostAlloc, ALLOCATE)
REFUSE(cudaHostRegister, ALLOCATE)
REFUSE(cudaFreeAsync, ALLOCATE)
REFUSE(cudaFreeHost, ALLOCATE)
REFUSE(cudaMemcpy, COPY)
REFUSE(cudaMemcpyAsync, COPY)
REFUSE(cudaMemcpy2D, COPY)
REFUSE(cudaMemcpy2DAsync, COPY)
REFUSE(cudaMemcpyToSymbol, SYMBOL)
REFUSE(cudaMemcpyToSymbolAsync, SYMBOL)
REFUSE(cudaMemcpyFromSymbol, SYMBOL)
REFUSE(cudaMemcpyFromSymbolAsync, SYMBOL)
REFUSE(cudaGetSymbolAddress, SYMBOL)
REFUSE(cudaPointerGetAttributes,
       "every pointer argument is memory of the device")
REFUSE(cudaMemset, ZERO)
REFUSE(cudaMemsetAsync, ZERO)
REFUSE(cudaMemset2D, ZERO)
REFUSE(cudaMemset2DAsync, ZERO)
REFUSE(cudaStreamCreate, STREAM)
REFUSE(cudaStreamCreateWithFlags, STREAM)
REFUSE(cudaStreamCreateWithPriority, STREAM)
REFUSE(cudaStreamDestroy, STREAM)
REFUSE(cudaStreamWaitEvent, STREAM)
REFUSE(cudaStreamBeginCapture, STREAM)
REFUSE(cudaStreamEndCapture, STREAM)
REFUSE(cudaEventCreate, STREAM)
REFUSE(cudaEventCreateWithFlags, STREAM)
REFUSE(cudaEventRecord, STREAM)
REFUSE(cudaEventSynchronize, STREAM)
REFUSE(cudaEventElapsedTime, STREAM)
REFUSE(cudaEventDestroy, STREAM)
REFUSE(cudaGraphCreate, STREAM)
REFUSE(cudaGraphInstantiate, STREAM)
REFUSE(cudaGraphLaunch, STREAM)

cudaError_t cudaFree(void *p)
{
    if (p)
        fail("%s: cudaFree is not available to host functions: " ALLOCATE,
             calling);
    return cudaSuccess; /* which is how some wake the device */
}

/* ---- what the compiler asks for ---- */

static char *next(char **rest)
{
    char *word = strsep(rest, " \n");

    if (!word)
        fail("the compiler's question ends too early");
    return word;
}

static void read_key(char *rest)
{
    for (size_t i = 0; i < sizeof(key); i++) {
        unsigned byte = 0;

        sscanf(rest + 2 * i, "%2x", &byte);
        key[i] = (unsigned char)byte;
    }
}

static void read_kernel(char *rest)
{
    const char *name = next(&rest);
    int registers = atoi(next(&rest)), shared = atoi(next(&rest)),
        params = atoi(next(&rest));

    if (params > PARAMETERS)
        fail("the kernel %s has %d parameters, at most %d", name, params,
             PARAMETERS);
    for (size_t i = 0; i < kernel_count; i++) {
        struct kernel *k = kernels[i];
        char *sizes = rest;

        if (strcmp(k->name, name) != 0)
            continue;
        k->known = 1;
        k->registers = registers;
        k->shared = shared;
        k->params = params;
        for (int p = 0; p < params; p++)
            k->size[p] = (uint32_t)strtoul(sizes, &sizes, 10);
    }
}

/* Padding in a kernel's parameters holds what lay on the stack: nothing of an earlier call. */
static __attribute__((noinline)) void clear_stack(void)
{
    char room[STACK_BYTES];

    memset(room, 0, sizeof(room));
    __asm__ volatile("" : : "r"(room) : "memory");
}

static void read_call(char *rest)
{
    static unsigned long long words[PARAMETERS];
    const char *name = next(&rest);
    int count = atoi(next(&rest));

    for (int i = 0; i < count && i < PARAMETERS; i++)
        words[i] = strtoull(next(&rest), NULL, 16);
    fprintf(out, "call\n");
    for (const struct monkeys_function *f = monkeys_functions; f->name; f++)
        if (strcmp(f->name, name) == 0) {
            calling = f->name;
            last_error = cudaSuccess;
            clear_stack();
            f->call(words);
            return;
        }
    fail("there is no function %s", name);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;

    out = fdopen(ANSWER, "w");
    if (!out)
        return 1;
    while (getline(&line, &room, stdin) > 0) {
        char *rest = line;
        const char *what = next(&rest);

        if (strcmp(what, "key") == 0)
            read_key(rest);
        else if (strcmp(what, "kernel") == 0)
            read_kernel(rest);
        else if (strcmp(what, "call") == 0)
            read_call(rest);
    }
    fprintf(out, "done\n");
    fflush(out);
    fflush(stdout);
    _exit(0);
}
