/* task.h: a task: one KernelBench-format file, a PyTorch program to be ported. An
 * optional file `<stem>.json` next to it, the sidecar, describes its inputs. */
#ifndef SOURCE_TASK_H
#define SOURCE_TASK_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/str.h"

#include <stdbool.h>
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
    const char **ops;    /* source/operators.h; sorted, NULL-terminated */
    struct arena memory;
};

/* Reads a file, which must be Python and define Model, get_inputs and
 * get_init_inputs. An error names the file and the line and says what to do. */
struct task *task_load(const char *path, struct err *e);
/* The same from a text, without a sidecar; `name` is the path it had. */
struct task *task_from(const char *name, struct str text, struct err *e);
void task_free(struct task *t); /* may be NULL */

/* The id of the task at this path; the caller frees it. */
char *task_id(const char *path);

/* ---- many tasks, from files, folders and patterns, in a fixed order ---- */

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

/* ---- --define NAME=VALUE: other sizes for a task. The value of a line
 * `NAME = literal` at module level is replaced, and the result is the task's
 * source from then on: its hash, prompts, jobs and the archive follow. */

/* The option, for a table whose values are a `type` with a struct opt_list
 * `field`. */
#define DEFINE_OPTION(type, field)                                           \
    {                                                                        \
        "define", 0, OPT_LIST, "NAME=VALUE",                                 \
            "set a size of the tasks, such as T=2048: replaces the number "  \
            "or boolean that their module assigns to NAME; may be repeated", \
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
