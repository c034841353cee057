/* nvml.c: as much of NVML as tells which GPUs there are and who has how much. */
#include "worker/nvml.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdlib.h>

#define DEVICES 64

/* As NVML lays it out since its version 11 (the functions' _v3). */
struct entry {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

typedef int init_fn(void);
typedef int count_fn(unsigned *count);
typedef int device_fn(unsigned index, void **device);
typedef int uuid_fn(void *device, char *out, unsigned size);
typedef int node_fn(void *device, unsigned *node);
typedef int running_fn(void *device, unsigned *count, struct entry *out);

struct nvml {
    void *library;
    running_fn *running;
    init_fn *shut;
    void *device[DEVICES];
    unsigned count;
};

/* A pointer to data becomes one to a function; C has no cast for that. */
static void *symbol(void *library, const char *name, void *fn)
{
    void *found = dlsym(library, name);

    *(void **)fn = found;
    return found;
}

static int find_devices(struct nvml *g)
{
    count_fn *count;
    device_fn *device;
    unsigned n = 0;

    if (!symbol(g->library, "nvmlDeviceGetCount_v2", (void *)&count) ||
        !symbol(g->library, "nvmlDeviceGetHandleByIndex_v2", (void *)&device) ||
        count(&n) != 0)
        return -1;
    for (unsigned i = 0; i < n && g->count < DEVICES; i++)
        if (device(i, &g->device[g->count]) == 0)
            g->count++;
    return g->count ? 0 : -1;
}

struct nvml *nvml_open(const char *library)
{
    struct nvml *g = xcalloc(1, sizeof(*g));
    init_fn *init;

    g->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (g->library &&
        symbol(g->library, "nvmlDeviceGetComputeRunningProcesses_v3",
               (void *)&g->running) &&
        symbol(g->library, "nvmlShutdown", (void *)&g->shut) &&
        symbol(g->library, "nvmlInit_v2", (void *)&init) && init() == 0) {
        if (find_devices(g) == 0)
            return g;
        g->shut();
    }
    if (g->library)
        dlclose(g->library);
    free(g);
    return NULL;
}

void nvml_close(struct nvml *g)
{
    if (!g)
        return;
    g->shut();
    dlclose(g->library);
    free(g);
}

size_t nvml_count(const struct nvml *g)
{
    return g->count;
}

bool nvml_gpu(const struct nvml *g, size_t i, char *uuid, size_t size,
              unsigned *node)
{
    uuid_fn *get_uuid;
    node_fn *get_node;

    return symbol(g->library, "nvmlDeviceGetUUID", (void *)&get_uuid) &&
           symbol(g->library, "nvmlDeviceGetMinorNumber", (void *)&get_node) &&
           get_uuid(g->device[i], uuid, (unsigned)size) == 0 &&
           get_node(g->device[i], node) == 0;
}

size_t nvml_use(struct nvml *g, struct nvml_use *out, size_t cap)
{
    struct entry entry[256];
    size_t n = 0;

    for (unsigned d = 0; d < g->count; d++) {
        unsigned count = sizeof(entry) / sizeof(entry[0]);

        if (g->running(g->device[d], &count, entry) != 0)
            continue;
        for (unsigned i = 0; i < count && n < cap; i++) {
            /* The driver does not know how much, or not in our terms who. */
            if (entry[i].bytes == ~0ULL || entry[i].pid == 0)
                continue;
            out[n].pid = (pid_t)entry[i].pid;
            out[n++].bytes = entry[i].bytes;
        }
    }
    return n;
}
