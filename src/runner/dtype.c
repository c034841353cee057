/* dtype.c: converts in two steps: elements of any type to one of four wide
 * types, without loss, and these to elements. */
#include "runner/dtype.h"

#include "base/mem.h"

#include <string.h>

enum wide {
    WIDE_FLOAT, /* also holds float16, bfloat16 and float8 */
    WIDE_DOUBLE,
    WIDE_SIGNED, /* all integers except the largest unsigned type */
    WIDE_UNSIGNED,
};

static const struct {
    size_t bytes;
    enum wide wide;
} types[DTYPES] = {
    [FLOAT64] = {8, WIDE_DOUBLE},      [FLOAT32] = {4, WIDE_FLOAT},
    [FLOAT16] = {2, WIDE_FLOAT},       [BFLOAT16] = {2, WIDE_FLOAT},
    [FLOAT8_E4M3FN] = {1, WIDE_FLOAT}, [FLOAT8_E5M2] = {1, WIDE_FLOAT},
    [INT64] = {8, WIDE_SIGNED},        [INT32] = {4, WIDE_SIGNED},
    [INT16] = {2, WIDE_SIGNED},        [INT8] = {1, WIDE_SIGNED},
    [UINT64] = {8, WIDE_UNSIGNED},     [UINT32] = {4, WIDE_SIGNED},
    [UINT16] = {2, WIDE_SIGNED},       [UINT8] = {1, WIDE_SIGNED},
    [BOOL] = {1, WIDE_SIGNED},
};

size_t dtype_bytes(enum dtype t)
{
    return types[t].bytes;
}

bool dtype_is_float(enum dtype t)
{
    return t <= FLOAT8_E5M2;
}

enum dtype dtype_raw(enum dtype t)
{
    switch (types[t].bytes) {
    case 8:
        return UINT64;
    case 4:
        return UINT32;
    case 2:
        return UINT16;
    default:
        return UINT8;
    }
}

/* ---- small floating types ---- */

static uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* A floating type of at most 16 bits: the bits of its mantissa, the smallest
 * exponent of a normal number, the first float too large to round into it, the
 * results for overflow and NaN, and the first bit pattern that is not a finite
 * number. */
struct small {
    unsigned mantissa;
    int least;
    uint32_t limit;
    uint16_t over, nan, special, sign;
};

static const struct small half = {10,     -14,    0x47800000, 0x7c00,
                                  0x7e00, 0x7c00, 0x8000};
static const struct small brain = {7,      -126,   0x7f800000, 0x7f80,
                                   0x7fc0, 0x7f80, 0x8000};
/* Has no infinity: overflow becomes the largest number. */
static const struct small e4m3 = {3, -6, 0x43e80000, 0x7e, 0x7f, 0x7f, 0x80};
static const struct small e5m2 = {2, -14, 0x47800000, 0x7c, 0x7f, 0x7c, 0x80};

static uint16_t narrow(const struct small *s, float f)
{
    const uint32_t infinity = 0x7f800000;
    uint32_t bits = bits_of(f) & 0x7fffffff;
    uint16_t sign = bits_of(f) >> 31 ? s->sign : 0;
    unsigned drop = 23 - s->mantissa;

    if (bits > infinity)
        return (uint16_t)(s->nan | sign);
    if (bits >= s->limit)
        return (uint16_t)(s->over | sign);
    if (bits < (uint32_t)(s->least + 127) << 23) {
        /* Subnormal: adding a float whose last bit has the same weight as ours
         * makes the processor round. */
        uint32_t ruler = (uint32_t)(s->least + (int)drop + 127) << 23;

        return (uint16_t)((bits_of(float_of(bits) + float_of(ruler)) - ruler) |
                          sign);
    }
    bits += (1u << (drop - 1)) - 1 + ((bits >> drop) & 1);
    bits -= (uint32_t)(s->least + 126) << 23;
    return (uint16_t)((bits >> drop) | sign);
}

/* Once moved into a float's fields, the bits are right except for the
 * exponent's bias. One exact product fixes that, also for subnormal numbers. */
static float dtype_widen(const struct small *s, uint16_t bits)
{
    uint16_t sign = bits & s->sign, rest = (uint16_t)(bits & ~s->sign);
    float f = float_of((uint32_t)rest << (23 - s->mantissa)) *
              float_of((uint32_t)(s->least + 253) << 23);

    if (rest >= s->special)
        f = float_of(rest == s->over ? 0x7f800000 : 0x7fc00000);
    return float_of(bits_of(f) | (sign ? 0x80000000u : 0));
}

/* ---- steps ---- */

#define BLOCK 256 /* elements between the two steps */

union block {
    float f[BLOCK];
    double d[BLOCK];
    int64_t i[BLOCK];
    uint64_t u[BLOCK];
};

typedef void load_fn(union block *b, const char *in, int64_t step, size_t n);
typedef void store_fn(const union block *b, char *out, int64_t step, size_t n);

#define LOAD(name, type, wide, value)                                     \
    static void load_##name(union block *b, const char *in, int64_t step, \
                            size_t n)                                     \
    {                                                                     \
        for (size_t k = 0; k < n; k++, in += step) {                      \
            type x;                                                       \
                                                                          \
            memcpy(&x, in, sizeof(x));                                    \
            b->wide[k] = (value);                                         \
        }                                                                 \
    }

LOAD(float64, double, d, x)
LOAD(float32, float, f, x)
LOAD(float16, uint16_t, f, dtype_widen(&half, x))
LOAD(bfloat16, uint16_t, f, dtype_widen(&brain, x))
LOAD(e4m3, uint8_t, f, dtype_widen(&e4m3, x))
LOAD(e5m2, uint8_t, f, dtype_widen(&e5m2, x))
LOAD(int64, int64_t, i, x)
LOAD(int32, int32_t, i, x)
LOAD(int16, int16_t, i, x)
LOAD(int8, int8_t, i, (int64_t)x)
LOAD(uint64, uint64_t, u, x)
LOAD(uint32, uint32_t, i, x)
LOAD(uint16, uint16_t, i, x)
LOAD(uint8, uint8_t, i, x)
LOAD(bool, uint8_t, i, x != 0)

static load_fn *const loads[DTYPES] = {
    [FLOAT64] = load_float64,    [FLOAT32] = load_float32,
    [FLOAT16] = load_float16,    [BFLOAT16] = load_bfloat16,
    [FLOAT8_E4M3FN] = load_e4m3, [FLOAT8_E5M2] = load_e5m2,
    [INT64] = load_int64,        [INT32] = load_int32,
    [INT16] = load_int16,        [INT8] = load_int8,
    [UINT64] = load_uint64,      [UINT32] = load_uint32,
    [UINT16] = load_uint16,      [UINT8] = load_uint8,
    [BOOL] = load_bool,
};

#define STORE(name, wide, type, value)                                 \
    static void store_##name##_##wide(const union block *b, char *out, \
                                      int64_t step, size_t n)          \
    {                                                                  \
        for (size_t k = 0; k < n; k++, out += step) {                  \
            type x = (type)(value);                                    \
                                                                       \
            memcpy(out, &x, sizeof(x));                                \
        }                                                              \
    }

/* torch always converts to small floating types from a float. */
#define STORE_FLOATS(wide)                                             \
    STORE(float64, wide, double, b->wide[k])                           \
    STORE(float32, wide, float, b->wide[k])                            \
    STORE(float16, wide, uint16_t, narrow(&half, (float)b->wide[k]))   \
    STORE(bfloat16, wide, uint16_t, narrow(&brain, (float)b->wide[k])) \
    STORE(e4m3, wide, uint8_t, narrow(&e4m3, (float)b->wide[k]))       \
    STORE(e5m2, wide, uint8_t, narrow(&e5m2, (float)b->wide[k]))

STORE_FLOATS(f)
STORE_FLOATS(d)
STORE_FLOATS(i)
STORE_FLOATS(u)

/* Signed and unsigned integers have the same bits. */
STORE(int64, u, uint64_t, b->u[k])
STORE(int32, u, uint32_t, b->u[k])
STORE(int16, u, uint16_t, b->u[k])
STORE(int8, u, uint8_t, b->u[k])
STORE(bool, u, uint8_t, b->u[k] != 0)

#define FLOATS(wide)                                                      \
    [FLOAT64] = store_float64_##wide, [FLOAT32] = store_float32_##wide,   \
    [FLOAT16] = store_float16_##wide, [BFLOAT16] = store_bfloat16_##wide, \
    [FLOAT8_E4M3FN] = store_e4m3_##wide, [FLOAT8_E5M2] = store_e5m2_##wide
#define INTEGERS                                                               \
    [INT64] = store_int64_u, [INT32] = store_int32_u, [INT16] = store_int16_u, \
    [INT8] = store_int8_u, [UINT64] = store_int64_u, [UINT32] = store_int32_u, \
    [UINT16] = store_int16_u, [UINT8] = store_int8_u, [BOOL] = store_bool_u

static store_fn *const stores[][DTYPES] = {
    [WIDE_FLOAT] = {FLOATS(f)},
    [WIDE_DOUBLE] = {FLOATS(d)},
    [WIDE_SIGNED] = {FLOATS(i), INTEGERS},
    [WIDE_UNSIGNED] = {FLOATS(u), INTEGERS},
};

void dtype_convert(struct dtype_run to, struct dtype_run source, size_t count)
{
    store_fn *store = stores[types[source.dtype].wide][to.dtype];
    union block b;

    if (!store)
        BUG("a copy from a floating-point type to an integer");
    while (count) {
        size_t n = count < BLOCK ? count : BLOCK;

        loads[source.dtype](&b, source.at, source.step, n);
        store(&b, to.at, to.step, n);
        source.at += (int64_t)n * source.step;
        to.at += (int64_t)n * to.step;
        count -= n;
    }
}
