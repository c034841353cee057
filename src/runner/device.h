/* device.h: a device that runs a program, and what it answers. */
#ifndef RUNNER_DEVICE_H
#define RUNNER_DEVICE_H

#include "runner/program.h"

#include <stdint.h>

/* The outcome of a request. It is sent to the judge as these bytes, and functions
 * that can fail fill it in, like `struct err` elsewhere. */
enum status {
    DONE,
    BAD_REQUEST,    /* not a request, or not allowed now */
    BAD_PROGRAM,    /* invalid program: word and reason in the text */
    NO_MODULE,      /* a module failed to load */
    NO_SYMBOL,      /* function not found in a module */
    LAUNCH_FAILED,  /* a launch was refused; the runner can continue */
    CONTEXT_BROKEN, /* a kernel broke the context: replace the runner */
    NO_MEMORY,      /* on the device or the host */
    NO_DEVICE,      /* the machine's fault, never the candidate's */
    CALL_ENDED,     /* a library ended its process: how is in the text */
};

#define NO_NODE UINT64_MAX

struct answer {
    uint64_t status;
    uint64_t detail; /* errno or CUresult, or 0 */
    uint64_t host_ns;
    uint64_t device_ns;
    uint64_t node; /* of the call that failed, or NO_NODE */
    char text[2048];
};

/* Returns -1, so that `return answer_fail(…)` is the whole failure path. */
int answer_fail(struct answer *a, enum status status, uint64_t detail,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same with the text of the current errno. */
int answer_sys(struct answer *a, enum status status, const char *what);

/* One device per process. It serves one candidate after the other: map, load, any
 * number of runs, unload. */
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
    /* Loads the program's modules and binds its parameters. The results live in
     * the program's arena or until unload(). */
    int (*load)(struct device *d, struct program *p, struct arena *arena,
                struct answer *a);
    int (*run)(struct device *d, const struct program_call *c, unsigned flags,
               struct answer *a);
    /* Unloads the modules and unmaps the region, also after a load that failed
     * halfway. */
    int (*unload)(struct device *d, struct answer *a);
};

extern const struct device_kind device_cpu, device_cuda;

#endif
