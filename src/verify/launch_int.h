/* launch_int.h: what the files of the launchers share. */
#ifndef VERIFY_LAUNCH_INT_H
#define VERIFY_LAUNCH_INT_H

#include "verify/launch.h"

/* Each launcher has one as its first member. */
struct launch {
    const struct launch_type *type;
    struct loop *loop;
    const struct verifier_opts *o;
    const char *address, *key;
};

struct launch_type {
    const char *name;
    size_t size; /* of its struct, which begins zeroed */
    int (*start)(struct launch *x, struct err *e);
    void (*tick)(struct launch *x, size_t connected); /* NULL: nothing */
    void (*stop)(struct launch *x);                   /* also after -1 */
};
extern const struct launch_type launch_none, launch_local, launch_slurm;

#define LAUNCH_WORDS 96

/* The command line of a worker that connects, NULL at its end. `device` and
 * `children` are texts of the caller's; the array borrows everything. */
int launch_argv(const struct launch *x, const char *device,
                const char *children, const char *argv[LAUNCH_WORDS],
                struct err *e);
/* The same as one line for a shell; the caller frees it. */
char *launch_line(const char *const *argv);

#endif
