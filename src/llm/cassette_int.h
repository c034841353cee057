/* cassette_int.h: shared by reading and writing a cassette. */
#ifndef LLM_CASSETTE_INT_H
#define LLM_CASSETTE_INT_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

#define CASSETTE_LIMIT ((size_t)1 << 30)

/* The uncompressed text; what follows the last complete line (or zstd frame) may be
 * missing. `*whole` (unless NULL) is where the complete part of the file ends. */
int cassette_text(const char *path, struct buf *out, size_t *whole,
                  struct err *e);

#endif
