/* fresh.c: a folder under another name until it is complete. */
#include "data/fresh.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int fresh_begin(struct fresh *f, const char *to, struct err *e)
{
    *f = (struct fresh){.to = to};
    if (access(to, F_OK) == 0)
        return err_set(e, ERR_INPUT,
                       "%s: exists already; remove it, or name another folder "
                       "with -o",
                       to);
    f->dir = xasprintf("%s.XXXXXX", to);
    if (mkdtemp(f->dir) && chmod(f->dir, 0755) == 0)
        return 0;
    err_sys(e, "%s: cannot create", to);
    e->kind = ERR_INPUT;
    free(f->dir);
    f->dir = NULL;
    return -1;
}

int fresh_end(struct fresh *f, struct err *e)
{
    if (rename(f->dir, f->to) < 0)
        return err_sys(e, "%s: cannot replace", f->to);
    free(f->dir);
    f->dir = NULL;
    return 0;
}

static void remove_tree(const char *dir)
{
    struct err ignored = ERR_INIT;
    struct fs_names names = {0};

    if (fs_list(dir, true, &names, &ignored) == 0)
        for (size_t i = 0; i < names.len; i++) {
            char *path = fs_join(dir, names.name[i]);

            if (unlink(path) < 0 && (errno == EISDIR || errno == EPERM))
                remove_tree(path);
            free(path);
        }
    fs_names_release(&names);
    rmdir(dir);
}

void fresh_drop(struct fresh *f)
{
    if (f->dir)
        remove_tree(f->dir);
    free(f->dir);
    f->dir = NULL;
}
