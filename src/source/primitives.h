/* primitives.h: the words of a kernel language that a program uses, without
 * knowing the language. In Python code, a primitive is a name that is reached
 * through an import which is neither torch nor part of Python; in a program
 * within a string, it is what is called, or given template arguments, and not
 * defined there. "a.b.copy" is known as "b.copy", "warpgroup::mma" and "heap" as
 * they are written.
 *
 * Only tokens are read, so this is an account of words, not of meaning. */
#ifndef SOURCE_PRIMITIVES_H
#define SOURCE_PRIMITIVES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"

#include <stdbool.h>

/* Adds the primitives of a candidate to `set` (names to anything). If `aliases`
 * is not NULL, adds its imports there, for primitives_in_text(); they live in
 * `a`. True if a program within a string was found. */
bool primitives_of(struct str code, struct map *set, struct map *aliases,
                   struct arena *a);

/* The same for a text with code in backticks, such as a guide: names behind a
 * known alias and, with `inside`, what is called. `T.reduce_*` is no name. */
void primitives_in_text(struct str text, const struct map *aliases, bool inside,
                        struct map *set, struct arena *a);

/* Whether the text has the last part of the name as a word of code: behind a
 * dot, a colon or a backtick, or before a bracket or a backtick. Upper and
 * lower case are the same. */
bool primitives_mentioned(struct str text, const char *name);

#endif
