/* collection.c: words of the command line to tasks. */
#include "source/collection.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

struct paths {
    char **path;
    size_t len, cap;
};

static void add_path(struct paths *p, char *path)
{
    p->path = xgrow(p->path, &p->cap, p->len, sizeof(*p->path));
    p->path[p->len++] = path;
}

/* Digits compare by value, so that 2_x comes before 10_x. */
static int natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *end_a, *end_b;
            unsigned long x = strtoul(a, &end_a, 10);
            unsigned long y = strtoul(b, &end_b, 10);

            if (x != y)
                return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int collection_by_path(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int order = natural(x, y);

    return order ? order : strcmp(x, y);
}

static int collection_add_folder(struct paths *p, const char *dir,
                                 struct err *e)
{
    struct fs_names names;
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *path = fs_join(dir, names.name[i]);

        bool hidden = names.name[i][0] == '.' || names.name[i][0] == '_';

        if (!hidden && fs_is_dir(path))
            rc = collection_add_folder(p, path, e);
        else if (!hidden && str_ends(str_of(path), ".py"))
            add_path(p, xstrdup(path));
        free(path);
    }
    fs_names_release(&names);
    return rc;
}

static int add_pattern(struct paths *p, const char *word, struct err *e)
{
    glob_t found;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the locale
    int rc = glob(word, 0, NULL, &found);

    if (rc != 0)
        return err_set(e, ERR_INPUT,
                       "%s: no such file, folder, collection or built-in task",
                       word);
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++) {
        if (fs_is_dir(found.gl_pathv[i]))
            rc = collection_add_folder(p, found.gl_pathv[i], e);
        else
            add_path(p, xstrdup(found.gl_pathv[i]));
    }
    globfree(&found);
    return rc;
}

static int collection_add_word(struct paths *p, const char *word,
                               const char *own, struct err *e)
{
    char *named = fs_join(own, word), *one = xasprintf("%s.py", named);
    bool is_named = !strchr(word, '/') && fs_is_dir(named);
    int rc;

    if (fs_is_file(word)) {
        add_path(p, xstrdup(word));
        rc = 0;
    } else if (is_named) {
        rc = collection_add_folder(p, named, e);
    } else if (fs_is_dir(word)) {
        rc = collection_add_folder(p, word, e);
    } else if (fs_is_file(one)) {
        add_path(p, xstrdup(one));
        rc = 0;
    } else {
        rc = add_pattern(p, word, e);
    }
    free(named);
    free(one);
    return rc;
}

static void add_stray(struct collection *c, const char *what)
{
    c->stray = xgrow(c->stray, &c->stray_cap, c->stray_len, sizeof(*c->stray));
    c->stray[c->stray_len++] = xstrdup(what);
}

static int load_all(struct collection *c, const struct paths *p, struct err *e)
{
    struct map seen;
    int rc = 0;

    map_init(&seen);
    for (size_t i = 0; i < c->len; i++)
        map_set(&seen, str_of(c->task[i]->id), c->task[i]);
    for (size_t i = 0; rc == 0 && i < p->len; i++) {
        struct err one = ERR_INIT;
        struct task *t = task_load(p->path[i], &one), *twin;

        if (!t) {
            add_stray(c, one.text);
            continue;
        }
        twin = map_get(&seen, str_of(t->id));
        if (twin && strcmp(twin->path, t->path) != 0)
            rc = err_set(e, ERR_INPUT,
                         "%s and %s both have the id %s; rename one folder",
                         twin->path, t->path, t->id);
        if (twin) {
            task_free(t);
            continue;
        }
        map_set(&seen, str_of(t->id), t);
        c->task = xgrow(c->task, &c->cap, c->len, sizeof(*c->task));
        c->task[c->len++] = t;
    }
    map_release(&seen);
    if (rc == 0 && c->len == 0)
        rc = err_set(e, ERR_INPUT, "%s", c->stray[0]);
    return rc;
}

int collection_add(struct collection *c, const char *const *words, size_t n,
                   const char *own, struct err *e)
{
    struct paths p = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        size_t from = p.len;

        rc = collection_add_word(&p, words[i], own, e);
        if (rc == 0 && p.len > from)
            qsort(p.path + from, p.len - from, sizeof(*p.path),
                  collection_by_path);
        else if (rc == 0)
            rc = err_set(e, ERR_INPUT, "%s: contains no task", words[i]);
    }
    if (rc == 0)
        rc = load_all(c, &p, e);
    for (size_t i = 0; i < p.len; i++)
        free(p.path[i]);
    free(p.path);
    return rc;
}

int collection_report(const struct collection *c, bool strict, struct err *e)
{
    size_t n = c->stray_len;

    for (size_t i = 0; i < n; i++)
        log_warn("%s%s", c->stray[i], strict ? "" : " (skipped)");
    if (strict && n)
        return err_set(e, ERR_INPUT, "%zu file%s not %s (above)", n,
                       n == 1 ? " is" : "s are", n == 1 ? "a task" : "tasks");
    return 0;
}

void collection_release(struct collection *c)
{
    for (size_t i = 0; i < c->stray_len; i++)
        free(c->stray[i]);
    free(c->stray);
    for (size_t i = 0; i < c->len; i++)
        task_free(c->task[i]);
    free(c->task);
    *c = (struct collection){0};
}
