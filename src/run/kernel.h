/* kernel.h: solved kernels as files: a folder for each, with task.py, task.json
 * (its sidecar) and plan.md (if there are any), solution.py,
 * solution_ported.py (the file that the judge made of its trace, if there is
 * one) and meta.json. Seeds of packs and exported archives have the same
 * format, so one can become the other. */
#ifndef RUN_KERNEL_H
#define RUN_KERNEL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "source/task.h"

#include <stdbool.h>

/* Strings and task are borrowed, except after kernel_read(): then the kernel
 * owns them, and kernel_release() frees them. */
struct kernel {
    const char *name; /* the folder's */
    struct task *task;
    struct str plan; /* p NULL: none */
    struct str solution;
    struct str ported;      /* p NULL: none */
    const char *ported_why; /* why `ported` is missing; "", NULL: unknown */
    const char *origin, *licence, *dtype;
    const char *dsl; /* the pack it was written for; "": unknown */
    bool verified;
    int64_t rules;           /* of truth, that it was verified by (verdict.h) */
    const char *verified_on; /* device, precision, evidence; if not verified:
                                why not */
    /* A retired kernel was found broken when it was verified again. It is kept
     * and listed, but neither shown nor exported. */
    const char *retired_on; /* the date; NULL, "": it is not retired */
    const char *retired_why;
    json_t *judged; /* what the judge measured: errors and timing; NULL:
                       unknown */
    json_t *piece;  /* of a piece of other tasks: kind, level, depth, parents,
                      needs; NULL: it is none */
};

#define KERNEL_MAX_TEXT ((size_t)8 << 20) /* of a plan or a program */

bool kernel_is_retired(const struct kernel *k);
/* It was verified by older rules of truth: `archive reverify` judges it again,
 * and until then it enters no archive. */
bool kernel_is_older(const struct kernel *k);
/* That it has now; NULL: none. */
const char *kernel_evidence(const struct kernel *k);
int kernel_read(const char *dir, struct kernel *out, struct err *e);
void kernel_release(struct kernel *k);
/* Calls `fn` for each kernel in `dir`, in the order of their names, until `fn`
 * returns other than 0. The kernel is released after each call; to keep it,
 * `fn` copies the struct and sets *k to zero. */
int kernel_each(const char *dir,
                int (*fn)(struct kernel *k, void *arg, struct err *e),
                void *arg, struct err *e);
/* Writes the folder `dir`/k->name, completely or not at all; `source` is the
 * task's file. It is an error if that folder exists. */
int kernel_write(const char *dir, const struct kernel *k, struct str source,
                 struct err *e);
/* Reads the meta.json in a kernel's folder (a new reference), and replaces it,
 * completely or not at all. */
json_t *kernel_meta(const char *dir, struct err *e);
int kernel_put_meta(const char *dir, const json_t *meta, struct err *e);
/* What meta.json says about a kernel, as JSON (a new reference) and back. */
json_t *kernel_meta_of(const struct kernel *k);
void kernel_take_meta(const json_t *meta, struct kernel *out);
/* What a kernel keeps of the record of its verdict (a new reference), or NULL. */
json_t *kernel_judged(const json_t *record);
/* What a kernel that a run has found says of itself: its name, where it comes from, and
 * what has verified it. Texts are in `a`, or those of `f`. */
struct kernel_finding {
    const char *method, *model, *device, *precision, *dsl;
    int64_t attempt;
};
void kernel_found(struct kernel *k, struct arena *a, const char *task_id,
                  const struct kernel_finding *f);
/* As `archive list --json` prints it, or (`texts`) `archive show --json`; the
 * caller owns the reference. */
json_t *kernel_json(const struct kernel *k, bool texts);
/* A task's id, or another kernel's name, as a folder's name that Python can
 * import. The caller frees it. */
char *kernel_name(const char *task_id);
/* The name, or NAME_2 and so on if `dir` has such a folder. The caller frees
 * it. */
char *kernel_free_name(const char *dir, const char *name);

#endif
