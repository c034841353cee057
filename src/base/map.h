/* map.h: a hash table from strings to pointers. A zeroed map is empty. Keys are
 * copied, values are borrowed. Iteration is in insertion order, so no result depends
 * on a hash. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/str.h"

#include <stddef.h>

struct map_item {
    char *key;
    size_t key_len;
    void *value;
};

struct map {
    struct map_item *items; /* items[0..len): read freely */
    size_t len, cap;
    size_t *slots; /* index + 1 into items, 0 when free */
    size_t slot_count;
};

void map_init(struct map *m);
void map_release(struct map *m);
void map_set(struct map *m, struct str key, void *value); /* replaces */
void *map_get(const struct map *m, struct str key);       /* NULL: not there */

#endif
