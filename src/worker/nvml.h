/* nvml.h: which GPUs there are. The driver's library is opened when it is there;
 * nothing links to it. */
#ifndef WORKER_NVML_H
#define WORKER_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nvml;

/* NULL where there is no such library, or no GPU that it knows. */
struct nvml *nvml_open(const char *library);
void nvml_close(struct nvml *g);

/* How many GPUs, and the i-th of them in nvidia-smi's order: its UUID and the
 * number of its device node. False: the driver does not say. */
size_t nvml_count(const struct nvml *g);
bool nvml_gpu(const struct nvml *g, size_t i, char *uuid, size_t size,
              unsigned *node);

#endif
