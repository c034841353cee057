/* cassette_int.h: what reading and writing a cassette share. */
#ifndef LLM_CASSETTE_INT_H
#define LLM_CASSETTE_INT_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

#define CASSETTE_LIMIT ((size_t)1 << 30)

/* The file's text, unpacked; what stands behind its last whole line (or zstd
 * frame) may be missing. `*whole` (unless NULL): up to which byte of the file it
 * is whole. */
int cassette_text(const char *path, struct buf *out, size_t *whole,
                  struct err *e);

#endif
