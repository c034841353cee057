/* collection.h: many tasks, from files, folders and patterns, in a fixed order. */
#ifndef SOURCE_COLLECTION_H
#define SOURCE_COLLECTION_H

#include "source/task.h"

#include <stdbool.h>
#include <stddef.h>

struct collection {
    struct task **task; /* by path, numbers in names by their value */
    size_t len, cap;
    char **stray; /* files that are not tasks: FILE: what is wrong with it */
    size_t stray_len, stray_cap;
};

/* Adds the tasks of each word: a file, a folder (its .py files, and those of
 * its sub-folders), a glob pattern, or the name of a folder in `own` (the
 * collections that come with the program) or of a task in one, as starter/01_swish.
 * A file that is not a task goes to `stray`; when there is no other file, that
 * is an error. Two tasks with one id are an error, too. */
int collection_add(struct collection *c, const char *const *words, size_t n,
                   const char *own, struct err *e);
/* Warns of every stray file. An error when `strict` and there is one. */
int collection_report(const struct collection *c, bool strict, struct err *e);
void collection_release(struct collection *c);

#endif
