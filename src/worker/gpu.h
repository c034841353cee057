/* gpu.h: which GPU "cuda:N" is.
 *
 * N counts as torch's does: through CUDA_VISIBLE_DEVICES where that is set, else
 * through what nvidia-smi lists. The judge and every candidate are given that one
 * GPU, by a name that means the same in a box with one device node as outside. */
#ifndef WORKER_GPU_H
#define WORKER_GPU_H

#include "base/err.h"

struct nvml;

struct gpu {
    char visible[96]; /* for CUDA_VISIBLE_DEVICES */
    char node[40];    /* the device node a box needs; "" on the CPU */
};

/* `device` is "cpu" or "cuda:N", `listed` what CUDA_VISIBLE_DEVICES says or NULL.
 * Without NVML (g is NULL) numbers are taken at their word. */
int gpu_choose(const char *device, const char *listed, const struct nvml *g,
               struct gpu *out, struct err *e);

#endif
