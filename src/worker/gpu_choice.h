/* gpu_choice.h: finds the chosen GPU, using NVML. The driver's library is
 * opened at run time if it exists; nothing links to it. */
#ifndef WORKER_GPU_CHOICE_H
#define WORKER_GPU_CHOICE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct nvml;

/* NULL where there is no such library, or no GPU that it knows. */
struct nvml *nvml_open(const char *library);
void nvml_close(struct nvml *g);
/* How many GPUs, and the i-th of them in nvidia-smi's order: its UUID and the
 * number of its device node. False: the driver does not say. */
size_t nvml_count(const struct nvml *g);
bool nvml_gpu(const struct nvml *g, size_t i, char *uuid, size_t size,
              unsigned *node);

/* ---- which GPU "cuda:N" is.
 *
 * N counts through CUDA_VISIBLE_DEVICES where that is set, else through what
 * nvidia-smi lists; numbers in that variable are nvidia-smi's, too (torch's only
 * where all GPUs are alike, or with CUDA_DEVICE_ORDER=PCI_BUS_ID). The judge and
 * every candidate are given that one GPU, by its UUID, which means the same in a
 * box with one device node as outside. */

struct nvml;

struct gpu {
    char visible[96]; /* for CUDA_VISIBLE_DEVICES */
    char node[40];    /* the device node a box needs; "" on the CPU */
};

/* `device` is "cpu" or "cuda:N", `listed` what CUDA_VISIBLE_DEVICES says or NULL.
 * Without NVML (g is NULL) a number is taken at its word. */
int gpu_choose(const char *device, const char *listed, const struct nvml *g,
               struct gpu *out, struct err *e);

#endif
