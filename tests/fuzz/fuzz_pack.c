/* fuzz_pack.c: any bytes as each of a pack's JSON files. */
#include "pack/pack_file.h"
#include "pack/rule.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compile_rules(const json_t *list, struct problems *out)
{
    struct rule_place at = {"f", "/rules", true};
    struct rules r;

    rules_init(&r, list, &at, out);
    rules_release(&r);
}

static void compile_all(enum pack_file kind, const json_t *v,
                        struct problems *out)
{
    struct hints h;
    const char *name;
    json_t *set;

    if (kind == PACK_FILE_SHARED) {
        compile_rules(json_object_get(v, "rules"), out);
    } else if (kind == PACK_FILE_CHECKS) {
        json_object_foreach(json_object_get(v, "sets"), name, set)
        {
            compile_rules(json_object_get(set, "rules"), out);
        }
    } else if (kind == PACK_FILE_ERRORS) {
        hints_init(&h, json_object_get(v, "hints"), "f", out);
        hints_release(&h);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int i = 0; i < PACK_FILES; i++) {
        struct problems p;
        json_t *v;

        problems_init(&p);
        v = pack_file_parse((enum pack_file)i, "f", (const char *)data, size,
                            &p);
        if (v)
            compile_all((enum pack_file)i, v, &p);
        json_decref(v);
        problems_release(&p);
    }
    return 0;
}
