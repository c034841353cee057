/* review.c: asking the reviewer, and reading what it answers. */
#include "prompt/review.h"

#include "prompt/extract.h"
#include "prompt/files.h"
#include "source/py_strip.h"

#include <string.h>

const char review_shape[] =
    "{\"score\": 0.95, \"summary\": \"one sentence\", \"reasons\": "
    "[\"what was found\"]}";

int review_build(const struct prompts *p, const struct review_input *in,
                 struct arena *a, struct prompt *out, struct err *e)
{
    const struct str nothing = {"", 0};
    bool cxx = in->pack->language == PACK_CXX_IN_PYTHON;
    struct str v[PROMPT_SLOTS] = {0}, code[2];

    if (!prompt_precision(in->precision, v))
        return err_set(e, ERR_INPUT,
                       "precision '%s' is not one of " PRECISION_CHOICES,
                       in->precision);
    code[0] = v[SLOT_TASK] = prompt_tidy(in->task);
    code[1] = v[SLOT_SOLUTION] = prompt_tidy(py_strip(in->solution, cxx, a));
    v[SLOT_FENCE] = prompt_fence(code, 2, a);
    v[SLOT_DSL] = str_of(in->pack->prompt_name);
    v[SLOT_TAG] = str_of(in->pack->prompt.answer_fence);
    prompt_make(out, prompt_render(p, FILE_REVIEW_SYSTEM, nothing, v, a),
                prompt_render(p, FILE_REVIEW, nothing, v, a), a);
    return 0;
}

static int read_reasons(const json_t *list, struct arena *a, struct review *out,
                        struct err *e)
{
    if (!json_is_array(list))
        return err_set(e, ERR_INPUT, "\"reasons\" is not a list of strings");
    out->reason =
        arena_alloc(a, (json_array_size(list) + 1) * sizeof(*out->reason));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text)
            return err_set(e, ERR_INPUT,
                           "\"reasons\" is not a list of strings");
        out->reason[out->reason_count++] = arena_strdup(a, text);
    }
    return 0;
}

static int read_answer(const json_t *v, struct arena *a, struct review *out,
                       struct err *e)
{
    const json_t *score = json_object_get(v, "score");
    const json_t *summary = json_object_get(v, "summary");

    if (!json_is_object(v))
        return err_set(e, ERR_INPUT, "the answer is not an object");
    if (!json_is_number(score))
        return err_set(e, ERR_INPUT, "\"score\" is not a number");
    out->score = json_number_value(score);
    if (!(out->score >= 0 && out->score <= 1))
        return err_set(e, ERR_INPUT, "\"score\" is not between 0 and 1");
    if (summary && !json_is_string(summary))
        return err_set(e, ERR_INPUT, "\"summary\" is not a string");
    out->summary = summary ? arena_strdup(a, json_string_value(summary)) : "";
    return read_reasons(json_object_get(v, "reasons"), a, out, e);
}

int review_parse(struct str reply, struct arena *a, struct review *out,
                 struct err *e)
{
    json_t *v = extract_json(reply, e);
    int rc;

    *out = (struct review){.summary = ""};
    if (!v)
        return -1;
    rc = read_answer(v, a, out, e);
    json_decref(v);
    return rc;
}

void review_key(const char *model, const struct prompt *p, char key[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    hash_add(&h, model, strlen(model) + 1);
    hash_add(&h, p->hash, strlen(p->hash));
    hash_finish_hex(&h, key);
}
