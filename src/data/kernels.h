/* kernels.h: the solved kernels of runs as a folder to read: an archive (a folder
 * for each kernel; run/kernel.h) with the verifier's record of each, verdict.json,
 * and a README.md that lists them with their times. */
#ifndef DATA_KERNELS_H
#define DATA_KERNELS_H

#include "run/archives.h"

/* `to` is a new folder, which appears whole or not at all. */
int kernels_write(const char *const *run, size_t runs, const char *to,
                  struct archives_copied *out, struct err *e);

#endif
