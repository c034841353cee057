/* task_word.c: how a command line names one task. */
#include "cmd/task_word.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>

char *task_word_path(const struct home *home, const char *word)
{
    char *own = xasprintf("%s/tasks/%s.py", home->dir, word);

    if (!fs_is_file(word) && fs_is_file(own))
        return own;
    free(own);
    return xstrdup(word);
}
