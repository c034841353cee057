/* recheck.h: verifies the kernels of an archive folder or a run again (`archive
 * reverify`), after the language or its compiler has changed. A kernel that
 * fails now is retired: it is kept and listed, but no prompt shows it and
 * export does not copy it. A retired kernel that passes again is restored.
 *
 * A pass verifies each kernel once. The result is on disk when recheck_note()
 * returns, so an interrupted pass continues where it stopped, unless conditions
 * have changed. A run keeps its passes in run.db (docs/STORAGE.md). An archive
 * keeps the results in each meta.json, and the pass in the file .reverify: a
 * line "pass N UNDER", a line for each kernel that is done, and "end". */
#ifndef RUN_RECHECK_H
#define RUN_RECHECK_H

#include "base/err.h"
#include "base/str.h"
#include "source/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recheck;

/* A kernel that has been verified before; others are left out. */
struct recheck_kernel {
    const char *name;
    struct task *task;
    struct str code;
    const char *precision, *dsl; /* "": unknown */
    bool retired;
    const char *on, *why; /* retired: the date, and the first error line */
    bool done;            /* this pass has verified it */
};

/* ERR_INPUT if `dir` is neither an archive folder nor a run, or if another
 * process is writing the run. */
struct recheck *recheck_open(const char *dir, struct err *e);
int recheck_close(struct recheck *r, struct err *e); /* `r` may be NULL */

size_t recheck_count(const struct recheck *r);
const struct recheck_kernel *recheck_at(const struct recheck *r, size_t i);

/* Continues the last pass if it is incomplete and had the same conditions, else
 * begins another. `under` describes the conditions in a line. `is_meant` says
 * which kernels belong to the pass. */
int recheck_begin(struct recheck *r, const char *under,
                  bool (*is_meant)(const struct recheck_kernel *k, void *arg),
                  void *arg, struct err *e);
/* The number of the pass, from 1. */
int64_t recheck_pass(const struct recheck *r);

/* Stores the result for a kernel: retires it, or restores it. `why` is the
 * first line of the error; NULL: there is none. */
int recheck_note(struct recheck *r, size_t i, const char *verdict,
                 const char *evidence, const char *why, struct err *e);

#endif
