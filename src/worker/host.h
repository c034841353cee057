/* host.h: the processes of one host: a judge, a zygote for each pack in use,
 * and their children. It hands jobs to the judge, gets children for it, keeps
 * every deadline, and replaces what is sick. It moves frames and owns
 * lifetimes; it never looks into JSON. docs/PROTOCOL.md describes the frames.
 *
 * Everything runs on one loop, in one thread. */
#ifndef WORKER_HOST_H
#define WORKER_HOST_H

#include "base/err.h"
#include "io/frame.h"
#include "io/loop.h"

#include <stddef.h>
#include <stdint.h>

struct host;
struct host_opts {
    const char *python, *home;
    const char *const *packs; /* folders that hold packs, then home/packs */
    size_t pack_count;
    const char *device, *box; /* box: "full", "thin" or "none" */
    const char *gpu_node;     /* the granted GPU's; "": none */
    const char *scratch;      /* a folder of ours, readable by everybody */
    const char *cache;        /* where compiled objects are kept; "": nowhere */
    int64_t children, prewarm;
    int64_t patience_s; /* with a judge or zygote that makes no progress */
    uint64_t memory;    /* of a child, when a job says nothing; 0: no limit */
    uint64_t total_memory; /* of all; 0: the judge asks the device */
    unsigned uid; /* the first of those that children have; 0: all have ours */
};

/* What goes to the owner: ready, answer, infra, note. */
typedef void host_out_fn(const struct frame *f, void *arg);

struct host *host_new(struct loop *l, const struct host_opts *o,
                      host_out_fn *out, void *arg, struct err *e);
/* Kills everything. */
void host_free(struct host *h);

void host_job(struct host *h, const struct frame *job);
void host_cancel(struct host *h, const char *id);
void host_cancel_all(struct host *h);
/* Jobs without an answer yet. */
size_t host_pending(const struct host *h);

#endif
