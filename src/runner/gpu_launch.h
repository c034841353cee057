/* gpu_launch.h: the modules of a plan on a GPU, and launches of their kernels. */
#ifndef RUNNER_GPU_LAUNCH_H
#define RUNNER_GPU_LAUNCH_H

#include "runner/driver.h"
#include "runner/plan.h"

struct gpu_modules {
    const struct driver *driver;
    size_t modules;
    void **cubin;            /* of each module of the plan */
    void **function;         /* of each function */
    struct gpu_needs *needs; /* what its launches ask of it */
};

/* Loads what the plan names; close() gives it back, after a failure, too. It
 * returns a CUresult. */
int gpu_modules_open(struct gpu_modules *m, const struct driver *d,
                     const struct plan *p, struct answer *a);
int gpu_modules_close(struct gpu_modules *m);
/* Cubins start afresh. */
int gpu_modules_reload(struct gpu_modules *m, const struct plan *p,
                       struct answer *a);

/* Makes the parameters of every launch; they live in the arena. */
int gpu_bind(const struct driver *d, struct plan *p, cu_address region,
             struct arena *arena, struct answer *a);

int gpu_launch(const struct driver *d, void *function,
               const struct plan_launch *l, const char *name, struct answer *a);

#endif
