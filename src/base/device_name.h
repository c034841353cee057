/* device_name.h: devices: "cpu" or "cuda:N". */
#ifndef BASE_DEVICE_NAME_H
#define BASE_DEVICE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_MAX 1023 /* the highest N */

/* True for "cuda:N", with N in `n`. */
bool device_is_gpu(const char *device, int64_t *n);
/* Whether this process may use a GPU, as far as device files and
 * CUDA_VISIBLE_DEVICES tell. */
bool device_has_gpu(void);

#endif
