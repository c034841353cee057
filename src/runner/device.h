/* device.h: where a plan is executed. One device a process; it serves candidates
 * one after the other: map, load, any number of runs, unload. */
#ifndef RUNNER_DEVICE_H
#define RUNNER_DEVICE_H

#include "runner/answer.h"
#include "runner/plan.h"

enum run_flag {
    RUN_MUTE = 1,   /* launches and calls are left out, moves are done */
    RUN_TIMED = 2,  /* clear the caches first, measure */
    RUN_RELOAD = 4, /* cubins are loaded again: their globals start fresh */
};

struct device;

/* Functions that can fail return -1 after filling the answer. */
struct device_kind {
    const char *name;
    struct device *(*open)(struct answer *a);
    /* Maps the region; the descriptor stays the caller's. */
    int (*map)(struct device *d, int fd, uint64_t bytes, struct answer *a);
    /* Loads the plan's modules and binds its parameters; what is made lives in
     * the plan's arena or until unload(). */
    int (*load)(struct device *d, struct plan *p, struct arena *arena,
                struct answer *a);
    int (*run)(struct device *d, const struct plan_call *c, unsigned flags,
               struct answer *a);
    /* Forgets modules and region; after a load that failed half-way, too. */
    int (*unload)(struct device *d, struct answer *a);
};

extern const struct device_kind device_cpu, device_cuda;

#endif
