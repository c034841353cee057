/* task.h: one KernelBench-format file: a PyTorch program to be ported. A file
 * `<stem>.json` beside it, the sidecar, may say more about its inputs. */
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"

#include <stddef.h>

#define TASK_MAX_BYTES ((size_t)1 << 20)

/* All of it belongs to the task. */
struct task {
    char *id; /* FOLDER/STEM, or LN/ID for levelN/ID_*.py */
    char *path;
    char *source;
    size_t len;
    json_t *sidecar;     /* an object, or NULL */
    char hash[HASH_HEX]; /* of the source without comments, docstrings and
                            white space: equal for copies of one program */
    const char **ops; /* torch operators of class Model, sorted; NULL-ended */
    struct arena memory;
};

/* Reads a file: it must be Python that defines Model, get_inputs and
 * get_init_inputs. An error names the file, the line and the remedy. */
struct task *task_load(const char *path, struct err *e);
/* The same from a text that has no file any more; `name` is its path for
 * messages. It has no sidecar. */
struct task *task_from(const char *name, struct str text, struct err *e);
void task_free(struct task *t);

/* The id a path gives; the caller frees it. */
char *task_id(const char *path);

#endif
