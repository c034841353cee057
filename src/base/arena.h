/* arena.h: memory for one unit of work, freed all at once. A zeroed arena is empty.
 * Pointers stay valid until arena_reset() or arena_release(). Nothing here fails. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *head;
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);
void arena_reset(struct arena *a);            /* empties it, keeps the memory */
void *arena_alloc(struct arena *a, size_t n); /* zeroed, aligned for anything */
void *arena_alloc_raw(struct arena *a, size_t n); /* the same, not zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
struct str arena_str(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
