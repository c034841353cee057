/* precision.c: the table of precisions. */
#include "pack/precision.h"

#include <string.h>

const char *const precision_names[PRECISIONS] = {
    [PRECISION_FP32] = "fp32",
    [PRECISION_FP16] = "fp16",
    [PRECISION_BF16] = "bf16",
    [PRECISION_TF32] = "tf32",
};

const char *const precision_dtypes[PRECISIONS] = {
    [PRECISION_FP32] = "torch.float32",
    [PRECISION_FP16] = "torch.float16",
    [PRECISION_BF16] = "torch.bfloat16",
    [PRECISION_TF32] = "torch.float32, products in TF32 allowed",
};

enum precision precision_of(const char *name)
{
    enum precision p = 0;

    while (p < PRECISIONS && strcmp(precision_names[p], name) != 0)
        p++;
    return p;
}

enum precision precision_stored(enum precision p)
{
    return p == PRECISION_TF32 ? PRECISION_FP32 : p;
}
