/* pack_file.h: the JSON files of a pack: their schemas, which docs/PACKS.md
 * also describes, and a strict reader. */
#ifndef PACK_PACK_FILE_H
#define PACK_PACK_FILE_H

#include "base/json.h"
#include "pack/schema.h"

#include <stdbool.h>
#include <stddef.h>

enum pack_file {
    PACK_FILE_PACK,    /* pack.json */
    PACK_FILE_CHECKS,  /* checks.json */
    PACK_FILE_SHARED,  /* a file that checks.json extends */
    PACK_FILE_ERRORS,  /* errors.json */
    PACK_FILE_SOURCES, /* sources.json */
    PACK_FILE_META,    /* seeds/NN_name/meta.json */
    PACK_FILE_EXPECT,  /* selftest/expect.json */
};
#define PACK_FILES       7
#define PACK_EXTENDS_MAX 16 /* files that one set may extend */

/* The words used in pack.json, in the order of the enums in pack.h. */
extern const char *const pack_languages[3], *const pack_devices[2];

/* Returns a new reference, or NULL with a line in `out` for each problem: not
 * JSON, or does not match the schema. Each line starts with `name`. Does not
 * compile the patterns of rules and hints. */
json_t *pack_file_parse(enum pack_file kind, const char *name, const char *text,
                        size_t n, struct problems *out);
json_t *pack_file_read(enum pack_file kind, const char *path,
                       struct problems *out);

/* ---- the precisions that a candidate can be asked for. worker/judge/words.py has the
 * same names ---- */

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
