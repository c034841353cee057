/* seeds.h: seeds of packs go through the verifier like any candidate: all of a
 * pack, in one or more precisions, or the first of each. With all seeds, a
 * smuggled kernel is verified, too. It is right but not of the pack's language:
 * evidence E3 is worth something only if the compiler refuses it
 * (packs/common/smuggled). */
#ifndef RUN_SEEDS_H
#define RUN_SEEDS_H

#include "base/home.h"
#include "pack/pack.h"
#include "pack/schema.h"
#include "verify/verifying.h"

#include <stdbool.h>
#include <stddef.h>

struct seed_trial;

/* What was asked about one pack, and the answers. */
struct seeds {
    const struct pack *pack; /* borrowed */
    struct pack_seed smuggled;
    const char *device;
    struct seed_trial *trial; /* by seed, then by precision */
    size_t len, cap, done;
    const struct verifying_values *v; /* while they are verified */
    struct term *bar;
};

/* All borrowed. */
struct seeds_opts {
    const struct home *home;
    const struct verifying_values *v; /* "auto" is decided for the pack */
    const struct opt_list *precision; /* words and lists of them; empty: the
                                         default of the pack and device */
};

/* Verifies all seeds. A pack that cannot be verified, and a seed that is not
 * correct at E3, become problems; answers that another host still has to give
 * do not. */
int seeds_verify(struct seeds *s, const struct pack *p,
                 const struct seeds_opts *o, struct problems *out,
                 struct err *e);
/* Answers that are still missing. */
size_t seeds_missing(const struct seeds *s);
/* A list with an object for each seed and precision; a new reference. */
json_t *seeds_json(const struct seeds *s);
/* Writes what was found to the meta.json of each seed that has all answers.
 * Returns how many files were written, or -1. */
int seeds_write(const struct seeds *s, struct err *e);
void seeds_release(struct seeds *s);

/* Whether a pack really works here: what its first seed says. */
struct seeds_first {
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
int seeds_try_first(const struct home *home, const struct opt_list *given,
                    struct seeds_first *first, size_t n, struct err *e);

#endif
