/* pack_int.h: shared by the files of the pack loader. */
#ifndef PACK_PACK_INT_H
#define PACK_PACK_INT_H

#include "pack/pack.h"

/* A file named by `extends`, read once for all sets of a pack. */
struct pack_shared {
    struct pack_shared *next;
    const char *name, *path; /* as in `extends`; path of the file found */
    struct rules rules;
    const char **imports; /* NULL-terminated */
};

/* Reads a file and keeps its JSON with the pack. Returns a borrowed reference,
 * or NULL. */
const json_t *pack_keep(struct pack *p, enum pack_file kind, const char *path,
                        struct problems *out);
/* Copies a list of strings to the pack's memory, NULL-terminated. */
const char **pack_strings(struct pack *p, const json_t *list);

/* Fills p->set from checks.json and p->hash from all files. */
void pack_load_checks(struct pack *p, const struct pack_path *path,
                      struct problems *out);
void pack_load_hash(struct pack *p, struct problems *out);
/* Fills one set from a folder of shared rules. If the file does not exist, the
 * pack does not have the set. */
void pack_load_shared_set(struct pack *p, enum pack_set set,
                          struct problems *out);
void pack_shared_release(struct pack *p);

#endif
