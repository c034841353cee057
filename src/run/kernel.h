/* kernel.h: solved kernels as files: a folder for each, with task.py, plan.md
 * (where there is one), solution.py, solution.ported.py (the ModelNew that was
 * made from its trace, where there is one) and meta.json. Seeds of packs and exported
 * archives have this shape, so that one can become the other. */
#ifndef RUN_KERNEL_H
#define RUN_KERNEL_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "task/task.h"

#include <stdbool.h>

/* All borrowed, except in what kernel_read() fills: kernel_release() frees it. */
struct kernel {
    const char *name; /* the folder's */
    struct task *task;
    struct str plan; /* p NULL: none */
    struct str solution;
    struct str ported;      /* p NULL: none */
    const char *ported_why; /* why there is none; "" or NULL: not said */
    const char *origin, *licence, *dtype;
    const char *dsl; /* the pack it was written for; "": not said */
    bool verified;
    const char *verified_on; /* or why it was not */
};

int kernel_read(const char *dir, struct kernel *out, struct err *e);
void kernel_release(struct kernel *k);
/* Every kernel in `dir`, by name. Other than 0 from `fn` ends it; a kernel that
 * `fn` empties now belongs to it. */
int kernel_each(const char *dir,
                int (*fn)(struct kernel *k, void *arg, struct err *e),
                void *arg, struct err *e);
/* Writes `dir`/k->name, all of it or nothing; `source` is the task's file. A
 * folder of that name is an error. */
int kernel_write(const char *dir, const struct kernel *k, struct str source,
                 struct err *e);
/* As `archive list --json` prints it, or (`texts`) `archive show --json`; the
 * caller owns the reference. */
json_t *kernel_json(const struct kernel *k, bool texts);
/* A task's id as a folder's name. The caller frees it. */
char *kernel_name(const char *task_id);

#endif
