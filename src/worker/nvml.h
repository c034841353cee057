/* nvml.h: what each process has of the GPUs' memory, as the driver counts it.
 *
 * The driver's library is opened when it is there; nothing links to it. It
 * names processes as the host does, those in boxes too. */
#ifndef WORKER_NVML_H
#define WORKER_NVML_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nvml;

struct nvml_use {
    pid_t pid;
    uint64_t bytes;
};

/* NULL where there is no such library, or no GPU that it knows. */
struct nvml *nvml_open(const char *library);
void nvml_close(struct nvml *g);

/* Fills up to `cap` entries, one for each process and GPU; how many. */
size_t nvml_use(struct nvml *g, struct nvml_use *out, size_t cap);

#endif
