/* task_word.h: how a command line names one task. */
#ifndef CMD_TASK_WORD_H
#define CMD_TASK_WORD_H

#include "base/home.h"
#include "base/opt.h"
#include "run/view.h"
#include "source/task.h"

/* The path of a task: a file, or COLLECTION/NAME of one that comes with the
 * program. The caller frees it. NULL: there is neither. */
char *task_word_path(const struct home *home, const char *word, struct err *e);
/* The task there, with what --define sets in it. */
struct task *task_word_load(const struct home *home, const char *word,
                            const struct opt_list *define, struct err *e);
/* A task of a run: its id, the last part of it, or the beginning of either if
 * no other task begins so. NULL names the nearest, or those that are meant. */
struct run_task *task_word_in(struct run_view *v, const char *word,
                              struct err *e);

#endif
