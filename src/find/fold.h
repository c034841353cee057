/* fold.h: names without case and underscores: LayerNorm, layer_norm and
 * layernorm are equal. ASCII only, in every locale. */
#ifndef FIND_FOLD_H
#define FIND_FOLD_H

#include "base/str.h"

#include <stddef.h>

/* Writes at most `max` bytes, without a NUL; returns how many. */
size_t fold_name(char *out, size_t max, struct str name);

#endif
