/* pack_file.c: the schemas of a pack's JSON files. */
#include "pack/pack_file.h"

#include "base/buf.h"
#include "base/fs.h"
#include "pack/rule.h"
#include "pack/schema.h"

#include <string.h>

#define FILE_BYTES_MAX ((size_t)4 << 20)

const char *const pack_languages[3] = {"python", "cxx-in-python",
                                       "own-in-python"};
const char *const pack_devices[2] = {"cpu", "cuda"};

/* ---- values that several tables use ---- */

#define NEEDED   false
#define OPTIONAL true
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT     .type = SCHEMA_STRING, .min = 1
#define ONE_OF(a) \
    .type = SCHEMA_STRING, .min = 1, .choices = (a), .choice_count = COUNT(a)
#define STORED_DTYPE                                             \
    .type = SCHEMA_STRING, .min = 1, .choices = precision_names, \
    .choice_count = PRECISION_STORED
#define LIST_OF(e, least, most) \
    .type = SCHEMA_LIST, .min = (least), .max = (most), .element = &(e)
#define SET_OF(e, least, most) LIST_OF(e, least, most), .unique = true
#define MAP_OF(e)              .type = SCHEMA_MAP, .element = &(e)
#define OBJECT(f)              .type = SCHEMA_OBJECT, .fields = (f)
#define SECONDS                .type = SCHEMA_INT, .min = 1, .max = 3600, .remedy = "seconds"
#define YES_NO                 .type = SCHEMA_BOOL
#define ID                                                               \
    .type = SCHEMA_STRING, .min = 1, .max = 64, .pattern = "[a-z0-9-]+", \
    .remedy = "lower-case letters, digits and hyphens"
#define PATTERN                                             \
    .type = SCHEMA_STRING, .min = 1, .max = RX_PATTERN_MAX, \
    .remedy = "a PCRE2 pattern"

#define WORD   "[A-Za-z_][A-Za-z0-9_]*"
#define DOTTED WORD "(\\." WORD ")*"
#define PATH   "(?!\\.)[A-Za-z0-9_.-]+"
#define VARIABLE \
    .pattern = WORD, .remedy = "the name of an environment variable"

static const struct schema some_text = {TEXT};
static const struct schema module = {
    .type = SCHEMA_STRING,
    .pattern = DOTTED "(\\.\\*)?",
    .min = 1,
    .remedy = "a module (lang.ops), or lang.* for all below it",
};
static const struct schema rule_id = {ID};

/* ---- pack.json ---- */

static const struct schema variable = {
    .type = SCHEMA_STRING, .min = 1, VARIABLE};
static const struct schema var_value = {
    .type = SCHEMA_STRING,
    .pattern = "(?:[^$]|\\$\\{pack\\})++",
    .remedy = "${pack} is the only thing that is replaced",
};
static const struct schema device = {ONE_OF(pack_devices)};
static const struct schema dtype = {STORED_DTYPE};
static const struct schema seed_name = {
    .type = SCHEMA_STRING,
    .min = 1,
    .pattern = PATH,
    .remedy = "the name of a folder under seeds/",
};

static const struct schema_field env_fields[] = {
    {"vars", NEEDED, {MAP_OF(var_value), VARIABLE}},
    {"cache_vars", NEEDED, {SET_OF(variable, 0, 64)}},
    {"interpret_vars", OPTIONAL, {MAP_OF(var_value), VARIABLE}},
    {0},
};
static const struct schema_field build_fields[] = {
    {"timeout_s", NEEDED, {SECONDS}},
    {0},
};
static const struct schema_field run_fields[] = {
    {"helper",
     OPTIONAL,
     {TEXT, .pattern = WORD,
      .remedy = "a module in the pack's folder, without .py"}},
    {"family",
     OPTIONAL,
     {TEXT, .pattern = "[a-z]+",
      .remedy = "the executor's name for how launches are recorded"}},
    {"target",
     OPTIONAL,
     {TEXT, .pattern = "sm_[0-9]+a?",
      .remedy = "an architecture, such as sm_90"}},
    {"devices", NEEDED, {SET_OF(device, 1, COUNT(pack_devices))}},
    {"dtypes", NEEDED, {SET_OF(dtype, 1, PRECISION_STORED)}},
    {"default_dtype", NEEDED, {STORED_DTYPE}},
    {"hang_timeout_s", NEEDED, {SECONDS}},
    {0},
};
static const struct schema_field prompt_fields[] = {
    {"answer_fence",
     NEEDED,
     {TEXT, .pattern = "[A-Za-z0-9_+-]+",
      .remedy = "a language tag, such as python"}},
    {"must_define", NEEDED, {TEXT, .pattern = WORD, .remedy = "a class name"}},
    {"plan_hint", NEEDED, {.type = SCHEMA_STRING}},
    {"code_hint", NEEDED, {.type = SCHEMA_STRING}},
    {"max_guide_tokens",
     NEEDED,
     {.type = SCHEMA_INT, .min = 1, .max = 1000000}},
    {"seed_order", NEEDED, {SET_OF(seed_name, 0, 64)}},
    {0},
};
static const struct schema_field pack_fields[] = {
    {"id", NEEDED, {ID}},
    {"display_name", NEEDED, {TEXT}},
    {"prompt_name", NEEDED, {TEXT}},
    {"language", NEEDED, {ONE_OF(pack_languages)}},
    {"pack_version", NEEDED, {TEXT, .remedy = "the pack's own version"}},
    {"env", NEEDED, {OBJECT(env_fields)}},
    {"build", NEEDED, {OBJECT(build_fields)}},
    {"run", NEEDED, {OBJECT(run_fields)}},
    {"prompt", NEEDED, {OBJECT(prompt_fields)}},
    {0},
};

/* ---- checks.json and the files it extends ---- */

static const struct schema_field rule_fields[] = {
    {"id", NEEDED, {ID}},
    {"kind", NEEDED, {ONE_OF(rule_kinds)}},
    {"view", NEEDED, {ONE_OF(form_names)}},
    {"pcre", NEEDED, {PATTERN}},
    {"message",
     NEEDED,
     {TEXT, .max = 1000, .remedy = "what is wrong, and what to do instead"}},
    {0},
};
static const struct schema rule = {OBJECT(rule_fields)};
static const struct schema shared_name = {
    .type = SCHEMA_STRING,
    .min = 1,
    .pattern = PATH "(/" PATH ")*\\.json",
    .remedy = "a path in the folder that holds the packs",
};
static const struct schema_field set_fields[] = {
    {"extends", OPTIONAL, {SET_OF(shared_name, 0, PACK_EXTENDS_MAX)}},
    {"drop", OPTIONAL, {SET_OF(rule_id, 0, 500)}},
    {"rules", NEEDED, {LIST_OF(rule, 0, 500)}},
    {0},
};
static const struct schema_field sets_fields[] = {
    {"default", NEEDED, {OBJECT(set_fields)}},
    {"paper", OPTIONAL, {OBJECT(set_fields)}},
    {0},
};
static const struct schema_field checks_fields[] = {
    {"imports", NEEDED, {SET_OF(module, 0, 500)}},
    {"sets", NEEDED, {OBJECT(sets_fields)}},
    {0},
};
static const struct schema_field shared_fields[] = {
    {"imports", OPTIONAL, {SET_OF(module, 0, 500)}},
    {"rules", NEEDED, {LIST_OF(rule, 0, 500)}},
    {0},
};

/* ---- the others ---- */

static const struct schema_field hint_fields[] = {
    {"id", NEEDED, {ID}},
    {"stage", NEEDED, {ONE_OF(hint_stages)}},
    {"pcre", NEEDED, {PATTERN}},
    {"hint", NEEDED, {TEXT, .max = 1000, .remedy = "what to do about it"}},
    {"cite", OPTIONAL, {TEXT}},
    {0},
};
static const struct schema hint = {OBJECT(hint_fields)};
static const struct schema_field errors_fields[] = {
    {"hints", NEEDED, {LIST_OF(hint, 0, 500)}},
    {0},
};

static const struct schema_field source_fields[] = {
    {"repo", NEEDED, {TEXT}},
    {"commit", NEEDED, {TEXT}},
    {"paths", NEEDED, {LIST_OF(some_text, 1, 500)}},
    {"licence", NEEDED, {TEXT}},
    {"note", OPTIONAL, {TEXT}},
    {0},
};
static const struct schema source = {OBJECT(source_fields)};
static const struct schema_field sources_fields[] = {
    {"sources", NEEDED, {LIST_OF(source, 0, 100)}},
    {0},
};

static const struct schema shape = {
    TEXT,
    .pattern = "\\d+(x\\d+)*",
    .remedy = "the shape of an input, such as 64x32",
};
/* Of a kernel that solves a piece of other tasks. */
static const struct schema_field piece_fields[] = {
    {"kind", NEEDED, {TEXT}},
    {"level", NEEDED, {TEXT}},
    {"depth", NEEDED, {.type = SCHEMA_INT}},
    {"parents", NEEDED, {LIST_OF(some_text, 0, 10000)}},
    {"needs", NEEDED, {LIST_OF(some_text, 0, 10000)}},
    {0},
};
static const struct schema_field meta_fields[] = {
    {"origin", NEEDED, {TEXT, .remedy = "where the seed comes from"}},
    {"licence", NEEDED, {TEXT}},
    {"dtype", NEEDED, {ONE_OF(precision_names)}},
    {"shapes", NEEDED, {LIST_OF(shape, 1, 64)}},
    {"verified", NEEDED, {YES_NO}},
    {"dsl", OPTIONAL, {TEXT}},
    {"ported_why", OPTIONAL, {TEXT}},
    {"verified_on", OPTIONAL, {TEXT}},
    {"why_not", OPTIONAL, {TEXT}},
    {"rules", OPTIONAL, {.type = SCHEMA_INT}},
    {"piece", OPTIONAL, {OBJECT(piece_fields)}},
    {0},
};

static const struct schema good_id = {
    .type = SCHEMA_STRING,
    .min = 1,
    .pattern = "(warn:)?[a-z0-9-]+",
    .remedy = "a rule's id, or warn:ID",
};
static const struct schema good_ids = {SET_OF(good_id, 0, 500)};
static const struct schema bad_ids = {SET_OF(rule_id, 1, 500)};
#define PY_FILES .pattern = PATH "\\.py", .remedy = "the name of a .py file"
static const struct schema_field paper_fields[] = {
    {"good", NEEDED, {MAP_OF(good_ids), PY_FILES}},
    {"bad", NEEDED, {MAP_OF(bad_ids), PY_FILES}},
    {0},
};
static const struct schema_field expect_fields[] = {
    {"good", NEEDED, {MAP_OF(good_ids), PY_FILES}},
    {"bad", NEEDED, {MAP_OF(bad_ids), PY_FILES}},
    {"errors",
     OPTIONAL,
     {MAP_OF(rule_id), .pattern = PATH "\\.txt",
      .remedy = "the name of a .txt file"}},
    {"paper", OPTIONAL, {OBJECT(paper_fields)}},
    {0},
};

static const struct schema files[PACK_FILES] = {
    [PACK_FILE_PACK] = {OBJECT(pack_fields)},
    [PACK_FILE_CHECKS] = {OBJECT(checks_fields)},
    [PACK_FILE_SHARED] = {OBJECT(shared_fields)},
    [PACK_FILE_ERRORS] = {OBJECT(errors_fields)},
    [PACK_FILE_SOURCES] = {OBJECT(sources_fields)},
    [PACK_FILE_META] = {OBJECT(meta_fields)},
    [PACK_FILE_EXPECT] = {OBJECT(expect_fields)},
};

/* ---- what a table cannot say ---- */

static bool contains(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), word) == 0)
            return true;
    return false;
}

static void check_pack(const json_t *v, const char *name, struct problems *out)
{
    const json_t *run = json_object_get(v, "run");

    if (!contains(json_object_get(run, "dtypes"),
                  jsn_maybe(run, "default_dtype")))
        problems_add(out,
                     "%s: /run/default_dtype: \"%s\" is not in /run/dtypes; "
                     "add it there",
                     name, jsn_maybe(run, "default_dtype"));
}

static void check_meta(const json_t *v, const char *name, struct problems *out)
{
    bool verified = jsn_true(v, "verified");
    const char *need = verified ? "verified_on" : "why_not";
    const char *not = verified ? "why_not" : "verified_on";

    if (!json_object_get(v, need))
        problems_add(out, "%s: /%s: missing; a seed with verified: %s needs it",
                     name, need, verified ? "true" : "false");
    if (json_object_get(v, not ))
        problems_add(out, "%s: /%s: contradicts verified: %s; remove one", name,
                     not, verified ? "true" : "false");
}

json_t *pack_file_parse(enum pack_file kind, const char *name, const char *text,
                        size_t n, struct problems *out)
{
    static void (*const more[PACK_FILES])(const json_t *, const char *,
                                          struct problems *) = {
        [PACK_FILE_PACK] = check_pack,
        [PACK_FILE_META] = check_meta,
    };
    struct err e = ERR_INIT;
    json_t *v = jsn_parse(name, text, n, &e);
    size_t before = out->len + out->more;

    if (!v) {
        problems_add(out, "%s; correct the JSON", e.text);
        return NULL;
    }
    if (schema_check(&files[kind], v, name, out) && more[kind])
        more[kind](v, name, out);
    if (out->len + out->more == before)
        return v;
    json_decref(v);
    return NULL;
}

json_t *pack_file_read(enum pack_file kind, const char *path,
                       struct problems *out)
{
    struct err e = ERR_INIT;
    json_t *v = NULL;
    struct buf b = {.limit = FILE_BYTES_MAX};

    if (fs_read(path, &b, &e) == 0)
        v = pack_file_parse(kind, path, buf_str(&b), b.len, out);
    else
        problems_add(out, "%s", e.text);
    buf_release(&b);
    return v;
}

/* ---- precisions ---- */

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
