/* packs.h: finds the pack for a command with --packs and --dsl. */
#ifndef PACK_PACKS_H
#define PACK_PACKS_H

#include "base/home.h"
#include "base/opt.h"
#include "pack/pack.h"

#define PACKS_HELP                                                            \
    "also look for packs in DIR (may be repeated); the environment variable " \
    "MONKEYS_PACKS names further folders, separated by colons"

/* The search path: the given folders, then the program's own. */
struct packs_path {
    struct pack_path path;
    const char **dirs;
    char *own;
};
void packs_path_init(struct packs_path *p, const struct opt_list *given,
                     const struct home *home);
void packs_path_release(struct packs_path *p);

int packs_list(const struct opt_list *given, const struct home *home,
               struct pack_list *out, struct err *e);
/* Loads the pack `id`. The caller frees it with pack_free(). */
struct pack *packs_load(const struct packs_path *p, const char *id,
                        struct err *e);

#endif
