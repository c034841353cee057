/* gpu_launch.h: a plan's modules on a GPU, and launches of their kernels. */
#ifndef RUNNER_GPU_LAUNCH_H
#define RUNNER_GPU_LAUNCH_H

#include "runner/driver.h"
#include "runner/plan.h"

struct gpu_modules {
    const struct driver *driver;
    size_t modules;
    void **cubin;            /* for each module of the plan */
    void **function;         /* for each function */
    struct gpu_needs *needs; /* what its launches require */
};

/* Loads the modules and functions of the plan. close() releases them, also
 * after a failure, and returns a CUresult. */
int gpu_modules_open(struct gpu_modules *m, const struct driver *d,
                     const struct plan *p, struct answer *a);
int gpu_modules_close(struct gpu_modules *m);
/* Loads the cubins again, in their initial state. */
int gpu_modules_reload(struct gpu_modules *m, const struct plan *p,
                       struct answer *a);

/* Builds the parameters of every launch, in the arena. */
int gpu_bind(const struct driver *d, struct plan *p, cu_address region,
             struct arena *arena, struct answer *a);

int gpu_launch(const struct driver *d, void *function,
               const struct plan_launch *l, const char *name, struct answer *a);

#endif
