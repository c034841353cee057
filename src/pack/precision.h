/* precision.h: the only table of the precisions a candidate can be asked for.
 * worker/judge/words.py has the same names. */
#ifndef PACK_PRECISION_H
#define PACK_PRECISION_H

#include <stdbool.h>

enum precision {
    PRECISION_FP32,
    PRECISION_FP16,
    PRECISION_BF16,
    PRECISION_TF32, /* stored as fp32, with TF32 products allowed */
    PRECISIONS,     /* no such precision */
};
#define PRECISION_STORED  PRECISION_TF32        /* those that memory can hold */
#define PRECISION_CHOICES "fp32|tf32|fp16|bf16" /* for options */

extern const char *const precision_names[PRECISIONS];
/* As written in a prompt: "torch.float32", … */
extern const char *const precision_dtypes[PRECISIONS];

enum precision precision_of(const char *name);
/* The precision its values are stored in. */
enum precision precision_stored(enum precision p);

#endif
