/* task_word.h: how a command line names one task. */
#ifndef CMD_TASK_WORD_H
#define CMD_TASK_WORD_H

#include "base/home.h"
#include "task/task.h"

/* The path of a task: a file, or COLLECTION/NAME of one that comes with the
 * program. The caller frees it. NULL: there is neither. */
char *task_word_path(const struct home *home, const char *word, struct err *e);
struct task *task_word_load(const struct home *home, const char *word,
                            struct err *e);

#endif
