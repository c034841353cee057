/* device.h: the device that runs a plan. One per process. It serves one
 * candidate after the other: map, load, any number of runs, unload. */
#ifndef RUNNER_DEVICE_H
#define RUNNER_DEVICE_H

#include "runner/answer.h"
#include "runner/plan.h"

enum run_flag {
    RUN_MUTE = 1,   /* skip launches and calls, do the moves */
    RUN_TIMED = 2,  /* clear the caches first, measure */
    RUN_RELOAD = 4, /* load cubins again to reset their globals */
};

struct device;

/* Functions that can fail return -1 and fill in the answer. */
struct device_kind {
    const char *name;
    struct device *(*open)(struct answer *a);
    /* Maps the region. The caller keeps the descriptor. */
    int (*map)(struct device *d, int fd, uint64_t bytes, struct answer *a);
    /* Loads the plan's modules and binds its parameters. The results live in
     * the plan's arena or until unload(). */
    int (*load)(struct device *d, struct plan *p, struct arena *arena,
                struct answer *a);
    int (*run)(struct device *d, const struct plan_call *c, unsigned flags,
               struct answer *a);
    /* Unloads the modules and unmaps the region, also after a load that failed
     * halfway. */
    int (*unload)(struct device *d, struct answer *a);
};

extern const struct device_kind device_cpu, device_cuda;

#endif
