/* task_word.c: how a command line names one task. */
#include "cmd/task_word.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

char *task_word_path(const struct home *home, const char *word, struct err *e)
{
    char *own = xasprintf("%s/tasks/%s.py", home->dir, word);

    if (!fs_is_file(word) && fs_is_file(own))
        return own;
    free(own);
    if (access(word, F_OK) == 0)
        return xstrdup(word);
    err_set(
        e, ERR_INPUT,
        "%s: no such file, and no task of that name comes with the program; "
        "'monkeys tasks list' shows them",
        word);
    return NULL;
}

struct task *task_word_load(const struct home *home, const char *word,
                            struct err *e)
{
    char *path = task_word_path(home, word, e);
    struct task *t = path ? task_load(path, e) : NULL;

    free(path);
    return t;
}
