/* seeds.h: all seeds of a pack go through the verifier like any candidate, in
 * one or more precisions, for `pack check --verify`. So does a smuggled kernel,
 * which is right but not of the pack's language: evidence E3 is worth something
 * only if the compiler refuses it (packs/common/smuggled). */
#ifndef CMD_SEEDS_H
#define CMD_SEEDS_H

#include "base/home.h"
#include "pack/pack.h"
#include "pack/problems.h"
#include "verify/verifying.h"

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
/* The table on stdout. */
void seeds_print(const struct seeds *s);
/* The same as a list; a new reference. */
json_t *seeds_json(const struct seeds *s);
/* Writes what was found to the meta.json of each seed that has all answers.
 * Returns how many files were written, or -1. */
int seeds_write(const struct seeds *s, struct err *e);
void seeds_release(struct seeds *s);

#endif
