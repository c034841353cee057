/* gpu.c: from "cuda:N" to one GPU. */
#include "worker/gpu.h"

#include "base/device.h"
#include "base/str.h"
#include "worker/nvml.h"

#include <stdio.h>
#include <string.h>

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
