/* archives.h: solved kernels, wherever they are: in a run's database, or in a
 * folder of kernels. */
#ifndef RUN_ARCHIVES_H
#define RUN_ARCHIVES_H

#include "base/err.h"
#include "base/map.h"
#include "run/kernel.h"
#include "run/view.h"

#include <stdbool.h>

/* Calls `fn` for each kernel of `dir`, which is an archive or a run, until `fn`
 * returns other than 0: also for retired ones. */
int archives_each(const char *dir,
                  int (*fn)(struct kernel *k, void *arg, struct err *e),
                  void *arg, struct err *e);

/* The kernel of a task in a run: the first attempt at E3 that the reviewer has
 * not refused; NULL: there is none. */
const struct run_attempt *archives_kernel_of(const struct run_view *v,
                                             const struct run_task *t);

struct archives_copied {
    size_t written;
    size_t known;   /* left out: its task has a kernel there */
    size_t retired; /* left out: it is retired */
};
/* Adds the kernels of each run or archive to the archive `to`, which is made if
 * it is not there. */
int archives_copy(const char *const *from, size_t n, const char *to,
                  struct archives_copied *out, struct err *e);

/* Which tasks an archive has kernels for that are not retired. */
struct archives_known {
    struct map hash;
};
/* A folder that is not there has none. */
int archives_read_known(const char *dir, struct archives_known *k,
                        struct err *e);
bool archives_knows(const struct archives_known *k, const char *task_hash);
void archives_add(struct archives_known *k, const char *task_hash);
void archives_release_known(struct archives_known *k);

#endif
