/* archives.h: solved kernels, wherever they are: in a run's database, or in a
 * folder of kernels. */
#ifndef RUN_ARCHIVES_H
#define RUN_ARCHIVES_H

#include "base/err.h"
#include "base/map.h"
#include "run/kernel.h"

#include <stdbool.h>

/* Each kernel of `dir`: of a run, those at E3 that no reviewer refused. */
int archives_each(const char *dir,
                  int (*fn)(struct kernel *k, void *arg, struct err *e),
                  void *arg, struct err *e);

/* Which tasks an archive has kernels for. */
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
