/* fake_cuda.c: a driver for tests without a GPU. Device memory is memory of the
 * process, copies and fills are done, and what else the driver is asked goes, a
 * line each, to the file that FAKE_CUDA_LOG names. A cubin is text: the names of its
 * kernels, each followed by how many parameters it has. Some names have a fate. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MODULES 64

struct module {
    int used;
    const char *text;
};
struct kernel {
    char name[64];
    int params;
    struct module *module;
};

static struct module modules[MODULES];
static struct kernel kernels[4096];
static int kernel_count, broken;

static void say(const char *fmt, ...)
{
    FILE *f = fopen(getenv("FAKE_CUDA_LOG"), "a");
    va_list ap;

    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

static void say_bytes(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        say("%02x", ((const unsigned char *)p)[i]);
}

int cuInit(unsigned flags)
{
    return (int)flags;
}
int cuGetErrorName(int code, const char **out)
{
    *out = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
           : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
                       : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}
int cuGetErrorString(int code, const char **out)
{
    *out = code ? "told" : "";
    return 0;
}
int cuDeviceGet(int *d, int i)
{
    *d = i;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int d)
{
    *c = (void *)(intptr_t)(d + 1);
    return 0;
}
int cuCtxSetCurrent(void *c)
{
    return c ? 0 : 1;
}
int cuCtxSynchronize(void)
{
    say("wait\n");
    return broken;
}

int cuMemImportFromShareableHandle(uint64_t *handle, void *fd, int kind)
{
    *handle = (uint64_t)dup((int)(intptr_t)fd);
    say("import %d\n", kind);
    return 0;
}
int cuMemRelease(uint64_t handle)
{
    say("release\n");
    return close((int)handle);
}
int cuMemAddressReserve(uint64_t *out, size_t n, size_t a, uint64_t wish,
                        unsigned long long flags)
{
    *out = (uint64_t)(uintptr_t)mmap(NULL, n, PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("reserve %zu %zu %llu %llu\n", n, a, (unsigned long long)wish, flags);
    return 0;
}
int cuMemAddressFree(uint64_t at, size_t n)
{
    say("free %zu\n", n);
    return munmap((void *)at, n);
}
int cuMemMap(uint64_t at, size_t n, size_t offset, uint64_t handle,
             unsigned long long flags)
{
    void *p = mmap((void *)at, n, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, (int)handle, 0);

    say("map %zu %zu %llu at %llu\n", n, offset, flags, (unsigned long long)at);
    return p == MAP_FAILED;
}
int cuMemUnmap(uint64_t at, size_t n)
{
    (void)at;
    say("unmap %zu\n", n);
    return 0;
}
int cuMemSetAccess(uint64_t at, size_t n, const int *access, size_t count)
{
    (void)at;
    say("access %zu %d %d %d %zu\n", n, access[0], access[1], access[2], count);
    return 0;
}
int cuMemAlloc_v2(uint64_t *out, size_t n)
{
    *out = (uint64_t)(uintptr_t)malloc(n);
    say("alloc %zu\n", n);
    return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *s)
{
    say("copy %zu\n", n);
    memmove((void *)to, (void *)from, n);
    return s != NULL;
}
int cuMemsetD8Async(uint64_t to, unsigned char v, size_t n, void *s)
{
    say("set8 %zu\n", n);
    memset((void *)to, v, n);
    return s != NULL;
}
int cuMemsetD16Async(uint64_t to, unsigned short v, size_t n, void *s)
{
    say("set16 %zu\n", n);
    for (size_t i = 0; i < n; i++)
        ((unsigned short *)to)[i] = v;
    return s != NULL;
}
int cuMemsetD32Async(uint64_t to, unsigned v, size_t n, void *s)
{
    say("set32 %zu\n", n);
    for (size_t i = 0; i < n; i++)
        ((unsigned *)to)[i] = v;
    return s != NULL;
}

/* Our own kernel is linked from PTX; the "cubin" says how many bytes it takes. */
int cuLinkCreate_v2(unsigned n, int *o, void **v, void **state)
{
    (void)o;
    (void)v;
    *state = &modules;
    return (int)n;
}
int cuLinkAddData_v2(void *state, int kind, void *data, size_t n,
                     const char *name, unsigned c, int *o, void **v)
{
    (void)state, (void)name, (void)o, (void)v;
    return kind != 1 || strlen(data) + 1 != n || c;
}
int cuLinkComplete(void *state, void **cubin, size_t *n)
{
    (void)state;
    *cubin = "monkeys_move -1";
    *n = 16;
    return 0;
}
int cuLinkDestroy(void *state)
{
    return state == NULL;
}

int cuModuleLoadData(void **module, const void *image)
{
    if (strncmp(image, "bad", 3) == 0)
        return 1;
    if (strncmp(image, "big", 3) == 0)
        return 2;
    for (int i = 0; i < MODULES; i++)
        if (!modules[i].used) {
            modules[i] = (struct module){1, image};
            *module = &modules[i];
            say("load %.12s\n", (const char *)image);
            return 0;
        }
    return 2;
}
int cuModuleUnload(void *module)
{
    struct module *m = module;

    say("unload %.12s\n", m->text);
    m->used--;
    return m->used ? 1 : broken;
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    char word[64];
    int params, n;

    for (const char *p = ((struct module *)module)->text;
         sscanf(p, " %63s %d%n", word, &params, &n) == 2; p += n)
        if (strcmp(word, name) == 0) {
            struct kernel *k = &kernels[kernel_count++ % 4096];

            snprintf(k->name, sizeof(k->name), "%s", name);
            k->params = params;
            k->module = module;
            *function = k;
            return 0;
        }
    return 500;
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
    say("attribute %s %d %d\n", ((struct kernel *)function)->name, attribute,
        value);
    return value > 200000;
}

static int launch(struct kernel *k, void **params)
{
    if (!k->module->used)
        return 1;
    if (k->params < 0)
        say_bytes(params[0], 432);
    for (int i = 0; i < k->params; i++) {
        say(i ? "," : "");
        say_bytes(params[i], 8);
    }
    say("\n");
    printf("printed by a kernel\n");
    fflush(stdout);
    if (strcmp(k->name, "stray") == 0)
        broken = 700;
    return strcmp(k->name, "refused") == 0 ? 1 : 0;
}
int cuLaunchKernel(struct kernel *k, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *s, void **params, void **extra)
{
    say("launch %s %u,%u,%u %u,%u,%u %u ", k->name, gx, gy, gz, bx, by, bz,
        shared);
    return s || extra ? 1 : launch(k, params);
}
struct attribute {
    int id, pad;
    union {
        char whole[64];
        unsigned u[3];
    } value;
};
struct config {
    unsigned g[3], b[3], shared;
    void *stream;
    struct attribute *a;
    unsigned count;
};
int cuLaunchKernelEx(const struct config *c, struct kernel *k, void **params,
                     void **extra)
{
    say("extended %s %u,%u,%u %u,%u,%u %u", k->name, c->g[0], c->g[1], c->g[2],
        c->b[0], c->b[1], c->b[2], c->shared);
    for (unsigned i = 0; i < c->count; i++)
        say(" %d:%u,%u,%u", c->a[i].id, c->a[i].value.u[0], c->a[i].value.u[1],
            c->a[i].value.u[2]);
    say(" ");
    return c->stream || extra ? 1 : launch(k, params);
}
int cuTensorMapEncodeTiled(void *out, int dtype, uint32_t rank, void *at,
                           const uint64_t *shape, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill)
{
    if ((uintptr_t)out % 64 || (uintptr_t)at % 16 || interleave ||
        promotion != 2)
        return 1;
    memset(out, 0x5a, 128);
    say("tensor map %d %u:", dtype, rank);
    for (uint32_t i = 0; i < rank; i++)
        say(" %llu/%llu/%u/%u", (unsigned long long)shape[i],
            i ? (unsigned long long)strides[i - 1] : 0, box[i], steps[i]);
    say(" %d %d\n", swizzle, fill);
    return 0;
}
int cuEventCreate(void **event, unsigned flags)
{
    *event = malloc(1);
    say("event %u\n", flags);
    return 0;
}
int cuEventRecord(void *event, void *s)
{
    say("record\n");
    return s || !event;
}
int cuEventElapsedTime(float *ms, void *a, void *b)
{
    *ms = 0.125f;
    return a == b;
}
