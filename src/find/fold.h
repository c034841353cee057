/* fold.h: names without habits: LayerNorm, layer_norm and layernorm are one.
 * ASCII alone, whatever the locale says. */
#ifndef FIND_FOLD_H
#define FIND_FOLD_H

#include "base/str.h"

#include <stddef.h>

/* Writes small letters, no underscores, at most `max` bytes and no NUL; returns
 * how many. */
size_t fold_name(char *out, size_t max, struct str name);

#endif
