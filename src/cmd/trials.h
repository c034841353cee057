/* trials.h: whether packs really work here: the first seed of each goes through
 * the worker, box and judge like any candidate. */
#ifndef CMD_TRIALS_H
#define CMD_TRIALS_H

#include "base/home.h"
#include "base/opt.h"
#include "pack/pack.h"

#include <stdbool.h>
#include <stddef.h>

struct trial {
    const char *dir; /* of the pack */
    /* what came of it */
    bool tried; /* there is a seed, and a device that the pack runs on */
    bool correct;
    char *detail; /* for people; the caller frees it */
    /* private */
    struct pack *pack;
    const char *device;
};

/* Fills what came of each. `given` are the folders of --packs. */
int trials_run(const struct home *home, const struct opt_list *given,
               struct trial *trial, size_t n, struct err *e);

#endif
