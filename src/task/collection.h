/* collection.h: many tasks, from files, folders and patterns, in a fixed order. */
#ifndef TASK_COLLECTION_H
#define TASK_COLLECTION_H

#include "task/task.h"

#include <stddef.h>

struct collection {
    struct task **task; /* by path, numbers in names by their value */
    size_t len, cap;
};

/* Adds the tasks of each word: a file, a folder (its .py files, and those of
 * its sub-folders), a glob pattern, or the name of a folder in `own` (the
 * collections that come with the program) or of a task in one, as starter/01_swish.
 * A file that is no task is an error; two tasks with one id are, too. */
int collection_add(struct collection *c, const char *const *words, size_t n,
                   const char *own, struct err *e);
void collection_release(struct collection *c);

#endif
