/* dtype.h: the element types of a program, and conversions between them that match
 * torch's `.to()`: integers wrap; 16-bit and 8-bit floats are rounded from a
 * float, to nearest even; float8_e4m3fn, which has no infinity, saturates. The
 * bits of a NaN are unspecified. (torch itself varies in two cases: on aarch64
 * it converts doubles directly to 16-bit floats, and in older versions
 * float8_e4m3fn overflows to NaN.) */
#ifndef RUNNER_DTYPE_H
#define RUNNER_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers match the program format and the PTX in move.ptx. */
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
/* The unsigned integer of the same size, for copies without conversion. */
enum dtype dtype_raw(enum dtype t);

/* Elements in memory, `step` bytes apart. */
struct dtype_run {
    enum dtype dtype;
    char *at;
    int64_t step;
};

/* Never from a floating type to an integer: program_read() refuses that. */
void dtype_convert(struct dtype_run to, struct dtype_run source, size_t count);

#endif
