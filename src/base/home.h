/* home.h: where the program's own files are: packs, the Python side, the worker.
 * In a source tree that is the tree itself; installed, PREFIX/share/monkeys. */
#ifndef BASE_HOME_H
#define BASE_HOME_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct home {
    char *dir;    /* has packs/ and worker/ */
    char *worker; /* the program monkeys-worker */
    char *python; /* MONKEYS_PYTHON, else .venv's, else python3 */
};

int home_find(struct home *h, struct err *e);
void home_release(struct home *h);
/* The Python to use with a home folder; the caller frees it. */
char *home_python(const char *dir);

/* ---- devices: "cpu" or "cuda:N" ---- */

#define DEVICE_MAX 1023 /* the highest N */

/* True for "cuda:N", with N in `n`. */
bool device_is_gpu(const char *device, int64_t *n);
/* Whether this process may use a GPU, as far as device files and
 * CUDA_VISIBLE_DEVICES tell. */
bool device_has_gpu(void);

#endif
