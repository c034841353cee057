/* pack_int.h: what the files that make up a pack's loader share. */
#ifndef PACK_PACK_INT_H
#define PACK_PACK_INT_H

#include "pack/pack.h"

/* A file named by `extends`, read once for all sets of a pack. */
struct pack_shared {
    struct pack_shared *next;
    const char *name, *path; /* as in `extends`; where it was found */
    struct rules rules;
    const char **imports; /* NULL-terminated */
};

/* Reads a file, keeps its JSON with the pack; borrowed, or NULL. */
const json_t *pack_keep(struct pack *p, enum pack_file kind, const char *path,
                        struct problems *out);
/* A list of strings, NULL-terminated, in the pack's memory. */
const char **pack_strings(struct pack *p, const json_t *list);

/* Fills p->set from checks.json, p->hash from everything. */
void pack_load_checks(struct pack *p, const struct pack_path *path,
                      struct problems *out);
void pack_load_hash(struct pack *p, struct problems *out);
/* Fills one set of a folder of shared rules; a file that is not there leaves
 * the set out. */
void pack_load_shared_set(struct pack *p, enum pack_set set,
                          struct problems *out);
void pack_shared_release(struct pack *p);

#endif
