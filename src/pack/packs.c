/* packs.c: the search path of packs. */
#include "pack/packs.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>

void packs_path_init(struct packs_path *p, const struct opt_list *given,
                     const struct home *home)
{
    p->own = fs_join(home->dir, "packs");
    p->dirs = xcalloc(given->len + 1, sizeof(*p->dirs));
    for (size_t i = 0; i < given->len; i++)
        p->dirs[i] = given->item[i];
    p->dirs[given->len] = p->own;
    p->path = (struct pack_path){p->dirs, given->len + 1};
}

void packs_path_release(struct packs_path *p)
{
    free(p->own);
    free(p->dirs);
    *p = (struct packs_path){0};
}

int packs_list(const struct opt_list *given, const struct home *home,
               struct pack_list *out, struct err *e)
{
    struct packs_path p;
    int rc;

    packs_path_init(&p, given, home);
    rc = pack_list(&p.path, out, e);
    packs_path_release(&p);
    return rc;
}

struct pack *packs_load(const struct packs_path *p, const char *id,
                        struct err *e)
{
    char *dir = pack_find(&p->path, id, e);
    struct pack *pack = NULL;
    struct problems problems;

    if (!dir)
        return NULL;
    problems_init(&problems);
    pack = pack_load(&p->path, dir, &problems);
    if (!pack)
        problems_to_err(&problems, e);
    problems_release(&problems);
    free(dir);
    return pack;
}
