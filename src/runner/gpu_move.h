/* gpu_move.h: copies, fills and counters on a GPU, on its default stream. */
#ifndef RUNNER_GPU_MOVE_H
#define RUNNER_GPU_MOVE_H

#include "runner/driver.h"
#include "runner/plan.h"

struct gpu_mover {
    const struct driver *driver;
    void *cubin; /* of our kernel, for this GPU */
    void *module, *kernel;
};

/* Compiles our kernel for the GPU of the current context. */
int gpu_mover_init(struct gpu_mover *m, const struct driver *d,
                   struct answer *a);
/* Loads and unloads our kernel. Each candidate gets a fresh copy, because
 * kernels can write anywhere in their context. */
int gpu_mover_load(struct gpu_mover *m, struct answer *a);
int gpu_mover_unload(struct gpu_mover *m);

/* One move; `region` is the address of the region. */
int gpu_mover_copy(const struct gpu_mover *m, cu_address region,
                   const struct plan_node *n, struct answer *a);
int gpu_mover_fill(const struct gpu_mover *m, cu_address region,
                   const struct plan_node *n, struct answer *a);
int gpu_mover_add(const struct gpu_mover *m, cu_address region,
                  const struct plan_node *n, struct answer *a);

#endif
