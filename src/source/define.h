/* define.h: --define NAME=VALUE: other sizes for a task. The value of a line
 * `NAME = literal` at module level is replaced, and the result is the task's
 * source from then on: its hash, prompts, jobs and the archive follow. */
#ifndef SOURCE_DEFINE_H
#define SOURCE_DEFINE_H

#include "base/opt.h"
#include "source/collection.h"

/* The option, for a table whose values are a `type` with a struct opt_list
 * `field`. */
#define DEFINE_OPTION(type, field)                                           \
    {                                                                        \
        "define", 0, OPT_LIST, "NAME=VALUE",                                 \
            "set a size of the tasks, such as T=2048: replaces the value "   \
            "where their module assigns a number or a truth value to NAME; " \
            "may be repeated",                                               \
            offsetof(type, field), 0, 0                                      \
    }

/* Rewrites `source` for one NAME=VALUE; the result goes to `out`. Returns 1 if
 * it has such a line, 0 if not. A line that assigns something other than a
 * number, True or False is an error, and so is a second one; `path` is for
 * messages. */
int define_in(const char *path, struct str source, const char *word,
              struct buf *out, struct err *e);
/* Applies all words to all tasks. A name that no task assigns is an error. */
int define_tasks(struct collection *c, const struct opt_list *words,
                 struct err *e);

#endif
