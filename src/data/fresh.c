/* fresh.c: a folder under another name until it is complete. */
#include "data/fresh.h"

#include "base/fs.h"
#include "base/mem.h"

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

void fresh_drop(struct fresh *f)
{
    if (f->dir)
        fs_remove_tree(f->dir);
    free(f->dir);
    f->dir = NULL;
}
