/* task_word.h: how a command line names one task. */
#ifndef CMD_TASK_WORD_H
#define CMD_TASK_WORD_H

#include "base/home.h"

/* The path of a task: a file, or COLLECTION/NAME of one that comes with the
 * program. The caller frees it; whether it can be read is found out later. */
char *task_word_path(const struct home *home, const char *word);

#endif
