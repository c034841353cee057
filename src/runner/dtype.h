/* dtype.h: the element types of a plan and how one becomes another, as torch's
 * `.to()` does it: integers wrap; halves and bytes are made of a float, rounded to
 * nearest even; float8_e4m3fn, which has no infinity, saturates. Which bits a NaN
 * has is open. (torch differs from itself in two of these: on aarch64 it makes
 * halves of doubles directly, and older versions make float8_e4m3fn NaN.) */
#ifndef RUNNER_DTYPE_H
#define RUNNER_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are those of the plan, and of the PTX in move_ptx.c. */
enum dtype {
    FLOAT64,
    FLOAT32,
    FLOAT16,
    BFLOAT16,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    INT64,
    INT32,
    INT16,
    INT8,
    UINT64,
    UINT32,
    UINT16,
    UINT8,
    BOOL,
    DTYPES,
};

size_t dtype_bytes(enum dtype t);
bool dtype_is_float(enum dtype t);
/* An unsigned integer of as many bytes: what a copy without conversion moves. */
enum dtype dtype_raw(enum dtype t);

/* Elements in memory, each `step` bytes behind the one before. */
struct dtype_run {
    enum dtype dtype;
    char *at;
    int64_t step;
};

/* A floating type never becomes an integer: plan_read() refuses it. */
void dtype_convert(struct dtype_run to, struct dtype_run source, size_t count);

#endif
