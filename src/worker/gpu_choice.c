/* gpu_choice.c: as much of NVML as tells which GPUs there are. */
#include "worker/gpu_choice.h"

#include "base/home.h"
#include "base/mem.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- from "cuda:N" to one GPU ---- */

/* The n-th name of CUDA_VISIBLE_DEVICES; without it the name of the n-th is n. */
static int nth_name(int64_t n, const char *listed, char *out, size_t size,
                    struct err *e)
{
    struct str rest = str_of(listed ? listed : ""), name;

    if (!listed)
        return snprintf(out, size, "%lld", (long long)n), 0;
    while (n > 0 && str_cut(&rest, ',', &name))
        n--;
    if (!str_cut(&rest, ',', &name))
        name = rest;
    name = str_trim(name);
    if (n == 0 && name.n > 0 && name.n < size)
        return snprintf(out, size, "%.*s", (int)name.n, name.p), 0;
    return err_set(e, ERR_INPUT,
                   "--device: CUDA_VISIBLE_DEVICES is '%s' and has no such "
                   "GPU",
                   listed);
}

/* The GPU that CUDA calls so: by its number, or by the beginning of its UUID. */
static int gpu_by_name(const char *name, const struct nvml *g, struct gpu *out,
                       struct err *e)
{
    int64_t number = -1;

    str_to_i64(str_of(name), 0, DEVICE_MAX, &number);
    for (size_t i = 0; i < nvml_count(g); i++) {
        unsigned node;

        if (!nvml_gpu(g, i, out->visible, sizeof(out->visible), &node))
            continue;
        if (number < 0 ? strncmp(out->visible, name, strlen(name)) == 0
                       : number == (int64_t)i) {
            snprintf(out->node, sizeof(out->node), "/dev/nvidia%u", node);
            return 0;
        }
    }
    return err_set(e, ERR_INPUT,
                   "--device: no GPU '%s' (nvidia-smi -L lists them; MIG "
                   "is not supported)",
                   name);
}

int gpu_choose(const char *device, const char *listed, const struct nvml *g,
               struct gpu *out, struct err *e)
{
    char name[sizeof(out->visible)];
    int64_t n = 0;

    *out = (struct gpu){.visible = ""};
    if (strcmp(device, "cpu") == 0)
        return 0;
    if (!device_is_gpu(device, &n))
        return err_set(e, ERR_USAGE, "--device: '%s' is not cpu or cuda:N",
                       device);
    if (nth_name(n, listed, name, sizeof(name), e) < 0)
        return -1;
    if (g)
        return gpu_by_name(name, g, out, e);
    if (!str_to_i64(str_of(name), 0, DEVICE_MAX, &n))
        return err_set(e, ERR_INPUT,
                       "--device: CUDA_VISIBLE_DEVICES has '%s', and without "
                       "libnvidia-ml.so.1 only numbers can be found",
                       name);
    snprintf(out->visible, sizeof(out->visible), "%lld", (long long)n);
    snprintf(out->node, sizeof(out->node), "/dev/nvidia%lld", (long long)n);
    return 0;
}
