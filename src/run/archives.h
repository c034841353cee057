/* archives.h: the solved kernels of a run, or of an archive: a folder with a
 * folder for each kernel (kernel.h), or the address of a shared one
 * (shared.h). */
#ifndef RUN_ARCHIVES_H
#define RUN_ARCHIVES_H

#include "base/err.h"
#include "base/map.h"
#include "run/kernel.h"
#include "store/store.h"

#include <stdbool.h>

/* Calls `fn` for each kernel of `dir`, an archive or a run, until `fn` returns
 * other than 0. The kernel is gone after the call: `fn` must not keep it.
 * Retired kernels are included. Rows of a shared archive that are no kernels
 * are left out, with a warning. */
int archives_each(const char *dir,
                  int (*fn)(struct kernel *k, void *arg, struct err *e),
                  void *arg, struct err *e);

/* ---- the kernels of a run, as rows of kernels.sql ----
 *
 * The kernel that stands for a task or a piece is that of its first attempt that is correct at
 * E3 and whose entry has not left the archive. It need not have an entry: that of an
 * unfinished round has not joined yet. If the first kernel was refused at the end, the next
 * one takes its place, although nobody has reviewed it. Export writes it unless it is
 * retired; no other takes the place of a retired one. */

/* The task of a row as it was when the run began. The caller frees it. */
struct task *archives_task(struct store *s, const json_t *row, struct err *e);
/* The same of any task; errors name this path. */
struct task *archives_recall(struct store *s, const char *id,
                             const char *source, const char *path,
                             struct err *e);

struct archives_copied {
    size_t written;
    size_t known;   /* not written: the archive has a kernel of the same task
                       that is not retired; a shared archive, one in the same
                       language */
    size_t retired; /* not written: it is retired */
    size_t older;   /* not written: older rules of truth judged it. Those of a
                       shared archive are written to a folder, where they can
                       be judged again */
};
/* Adds the kernels of each run or archive to the archive `to`, and creates that
 * if it does not exist. */
int archives_copy(const char *const *from, size_t n, const char *to,
                  struct archives_copied *out, struct err *e);

/* Writes the kernels of runs to a new archive for people: each with the verifier's
 * record, and an index of all. */
int archives_list(const char *const *run, size_t runs, const char *to,
                  struct archives_copied *out, struct err *e);

/* Adds the hashes of the tasks that an archive, a folder, has a kernel for: with
 * any value. Retired kernels do not count; a folder that does not exist has
 * none. */
int archives_known(const char *dir, struct map *tasks, struct err *e);

#endif
