/* task_word.c: how a command line names one task. */
#include "cmd/task_word.h"

#include "base/fs.h"
#include "base/mem.h"
#include "source/define.h"

#include <stdlib.h>
#include <string.h>
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
                            const struct opt_list *define, struct err *e)
{
    char *path = task_word_path(home, word, e);
    struct task *t = path ? task_load(path, e) : NULL;
    struct collection one = {.task = &t, .len = 1};

    free(path);
    if (t && define_tasks(&one, define, e) < 0) {
        task_free(t);
        return NULL;
    }
    return t;
}

/* ---- in a run ---- */

#define MOST_NAMED 5 /* of the tasks that a word may mean */

static const char *last_part(const char *id)
{
    const char *slash = strrchr(id, '/');

    return slash ? slash + 1 : id;
}

static bool is_id(const char *id, const char *word)
{
    return strcmp(id, word) == 0;
}

static bool is_last_part(const char *id, const char *word)
{
    return strcmp(last_part(id), word) == 0;
}

static bool begins_so(const char *id, const char *word)
{
    size_t n = strlen(word);

    return strncmp(id, word, n) == 0 || strncmp(last_part(id), word, n) == 0;
}

/* How many tasks fit; *found is the first. */
static size_t count_fits(struct run_view *v, const char *word,
                         bool (*fits)(const char *, const char *),
                         struct run_task **found)
{
    size_t n = 0;

    for (size_t i = 0; i < v->all; i++)
        if (fits(v->task[i].row.id, word) && n++ == 0)
            *found = &v->task[i];
    return n;
}

static int several(struct run_view *v, const char *word,
                   bool (*fits)(const char *, const char *), size_t n,
                   struct err *e)
{
    struct buf names;
    size_t named = 0;

    buf_init(&names, BUF_UNLIMITED);
    for (size_t i = 0; i < v->all && named < MOST_NAMED; i++)
        if (fits(v->task[i].row.id, word))
            buf_printf(&names, "%s%s", named++ ? ", " : "", v->task[i].row.id);
    err_set(e, ERR_INPUT, "'%s' may mean %zu tasks: %s%s", word, n,
            buf_str(&names), n > named ? ", …" : "");
    buf_release(&names);
    return -1;
}

static int none(struct run_view *v, const char *word, struct err *e)
{
    const char **names = xcalloc(2 * v->all + 1, sizeof(*names)), *near;

    for (size_t i = 0; i < v->all; i++) {
        names[i] = v->task[i].row.id;
        names[v->all + i] = last_part(v->task[i].row.id);
    }
    near = str_nearest(word, names, 2 * v->all);
    free(names);
    if (near)
        return err_set(e, ERR_INPUT, "%s has no task '%s'; did you mean '%s'?",
                       v->dir, word, near);
    return err_set(e, ERR_INPUT,
                   "%s has no task '%s'; 'monkeys status --tasks %s' lists "
                   "its tasks",
                   v->dir, word, v->dir);
}

struct run_task *task_word_in(struct run_view *v, const char *word,
                              struct err *e)
{
    static bool (*const fits[])(const char *, const char *) = {
        is_id, is_last_part, begins_so};
    struct run_task *found = NULL;

    for (size_t i = 0; word[0] && i < sizeof(fits) / sizeof(fits[0]); i++) {
        size_t n = count_fits(v, word, fits[i], &found);

        if (n > 1)
            several(v, word, fits[i], n, e);
        if (n)
            return n == 1 ? found : NULL;
    }
    none(v, word, e);
    return NULL;
}
