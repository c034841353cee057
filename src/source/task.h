/* task.h: a task: one KernelBench-format file, a PyTorch program to be ported. An
 * optional file `<stem>.json` next to it, the sidecar, describes its inputs. */
#ifndef SOURCE_TASK_H
#define SOURCE_TASK_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"

#include <stddef.h>

#define TASK_MAX_BYTES ((size_t)1 << 20)

/* The task owns everything in it. */
struct task {
    char *id; /* FOLDER/STEM, or LN/ID for levelN/ID_*.py */
    char *path;
    char *source;
    size_t len;
    json_t *sidecar;     /* an object, or NULL */
    char hash[HASH_HEX]; /* of the source without comments, docstrings and
                            white space: equal for copies of a program */
    const char **ops;    /* facts/operators.h; sorted, NULL-terminated */
    struct arena memory;
};

/* Reads a file, which must be Python and define Model, get_inputs and
 * get_init_inputs. An error names the file and the line and says what to do. */
struct task *task_load(const char *path, struct err *e);
/* The same from a text, without a sidecar; `name` is the path it had. */
struct task *task_from(const char *name, struct str text, struct err *e);
/* Gives a task another source, which is checked like the first. */
int task_set_source(struct task *t, struct str text, struct err *e);
void task_free(struct task *t); /* may be NULL */

/* The id of the task at this path; the caller frees it. */
char *task_id(const char *path);

#endif
