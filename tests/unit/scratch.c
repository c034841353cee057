/* scratch.c: two lists, of texts and of folders. */
#include "scratch.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct list {
    char **item;
    size_t len, cap;
};

static struct list texts, dirs;

static char *keep(struct list *l, char *s)
{
    l->item = xgrow(l->item, &l->cap, l->len, sizeof(*l->item));
    return l->item[l->len++] = s;
}

char *scratch_dir(void)
{
    char *dir = xasprintf("%s/monkeys-unit-XXXXXX",
                          access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");

    if (!mkdtemp(dir))
        BUG("no folder %s", dir);
    return keep(&dirs, dir);
}

char *scratch_path(const char *dir, const char *name)
{
    return keep(&texts, fs_join(dir, name));
}

char *scratch_text(const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        BUG("out of memory");
    va_end(ap);
    return keep(&texts, text);
}

const char *scratch_read(const char *path)
{
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;

    if (fs_read(path, &b, &e) < 0)
        BUG("%s", e.text);
    return keep(&texts, buf_take(&b, NULL));
}

char *scratch_put(const char *dir, const char *name, const char *text)
{
    char *path = scratch_path(dir, name), *slash = strrchr(path, '/');
    struct err e = ERR_INIT;
    int rc;

    *slash = '\0';
    rc = fs_mkdirs(path, &e);
    *slash = '/';
    if (rc < 0 || fs_replace(path, text, strlen(text), &e) < 0)
        BUG("%s", e.text);
    return path;
}

void scratch_env(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1); /* NOLINT(concurrency-mt-unsafe) */
    else
        unsetenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

static void forget(struct list *l)
{
    for (size_t i = 0; i < l->len; i++)
        free(l->item[i]);
    free(l->item);
    *l = (struct list){0};
}

void scratch_end(void)
{
    for (size_t i = 0; i < dirs.len; i++)
        fs_remove_tree(dirs.item[i]);
    forget(&dirs);
    forget(&texts);
}
