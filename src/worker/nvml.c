/* nvml.c: as much of NVML as tells which GPUs there are. */
#include "worker/nvml.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdlib.h>

#define DEVICES 64

typedef int init_fn(void);
typedef int count_fn(unsigned *count);
typedef int device_fn(unsigned index, void **device);
typedef int uuid_fn(void *device, char *out, unsigned size);
typedef int node_fn(void *device, unsigned *node);

struct nvml {
    void *library;
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
    if (g->library && symbol(g->library, "nvmlShutdown", (void *)&g->shut) &&
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
