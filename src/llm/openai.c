/* openai.c: chat completions, as OpenAI defined them and many servers speak
 * them: https://platform.openai.com/docs/api-reference/chat */
#include "llm/http_provider.h"

#include <string.h>

enum {
    SEED_MASK = 0x7fffffff
}; /* the largest seed that every server accepts */

/* ---- questions --------------------------------------------------------------- */

/* Reasoning models: their limit has another name, since it includes reasoning,
 * and they accept no temperature. */
static bool openai_is_reasoning(const char *model)
{
    static const char *const prefixes[] = {"o1", "o3", "o4-", "gpt-5",
                                           "gpt-oss"};
    const char *slash = strrchr(model, '/'); /* "openai/gpt-5" */
    struct str name = str_of(slash ? slash + 1 : model);

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (str_starts(name, prefixes[i]))
            return true;
    return false;
}

static json_t *openai_messages_of(const struct llm_request *r)
{
    json_t *all = json_array();

    for (size_t i = 0; i < r->count; i++) {
        const struct llm_message *m = &r->message[i];

        json_array_append_new(all, json_pack("{s:s, s:o}", "role", m->role,
                                             "content",
                                             jsn_text(m->text.p, m->text.n)));
    }
    return all;
}

static json_t *openai_question(const struct http_provider *p,
                               const struct llm_request *r)
{
    bool reasoning = openai_is_reasoning(p->model);
    int64_t limit = http_provider_limit(p, r);
    json_t *q =
        json_pack("{s:o, s:o, s:I}", "messages", openai_messages_of(r), "model",
                  jsn_of(p->model), "seed", (json_int_t)(r->seed & SEED_MASK));

    if (limit > 0)
        json_object_set_new(q,
                            reasoning ? "max_completion_tokens" : "max_tokens",
                            json_integer(limit));
    if (p->temperature >= 0 && !reasoning)
        json_object_set_new(q, "temperature", json_real(p->temperature));
    if (p->effort)
        json_object_set_new(q, "reasoning_effort", jsn_of(p->effort));
    if (p->stream) {
        json_object_set_new(q, "stream", json_true());
        json_object_set_new(q, "stream_options",
                            json_pack("{s:b}", "include_usage", 1));
    }
    return q;
}

/* ---- answers ----------------------------------------------------------------- */

static void openai_take_usage(struct answer *a, const json_t *answer)
{
    const json_t *u = json_object_get(answer, "usage");
    int64_t total = answer_count(u, "total_tokens");
    struct llm_usage got = {
        .input = answer_count(u, "prompt_tokens"),
        .cached = answer_count(json_object_get(u, "prompt_tokens_details"),
                               "cached_tokens"),
        .output = answer_count(u, "completion_tokens"),
        .reasoning =
            answer_count(json_object_get(u, "completion_tokens_details"),
                         "reasoning_tokens"),
    };

    if (!json_is_object(u))
        return;
    /* Some servers count reasoning only in the total. */
    if (total - got.input > got.output)
        got.output = total - got.input;
    if (got.cached > got.input)
        got.cached = got.input;
    if (got.reasoning > got.output)
        got.reasoning = got.output;
    a->usage = got;
}

/* Content is a string, or a list of parts with a type each. */
static int openai_take_content(struct answer *a, const json_t *content,
                               struct err *e)
{
    const json_t *part;
    size_t i;

    if (answer_add(&a->text, content, e) < 0)
        return -1;
    json_array_foreach(content, i, part)
    {
        const json_t *thoughts = json_object_get(part, "thinking"), *thought;
        size_t k;

        if (answer_add(&a->text, json_object_get(part, "text"), e) < 0 ||
            answer_add(&a->thought, thoughts, e) < 0)
            return -1;
        json_array_foreach(thoughts, k, thought)
        {
            if (answer_add(&a->thought, json_object_get(thought, "text"), e) <
                0)
                return -1;
        }
    }
    return 0;
}

static void openai_take_finish(struct answer *a, const json_t *choice)
{
    const char *why = jsn_maybe(choice, "finish_reason");

    if (!why)
        return;
    a->complete = true;
    if (strcmp(why, "length") == 0)
        a->finish = LLM_LENGTH;
    else if (strcmp(why, "content_filter") == 0)
        a->finish = LLM_FILTERED;
}

/* A choice of a whole answer ("message") or of a stream ("delta"). */
static int openai_take_choice(struct answer *a, const json_t *choice,
                              const char *in, struct err *e)
{
    const json_t *m = json_object_get(choice, in);
    const json_t *thought = json_object_get(m, "reasoning_content");
    const json_t *refusal = json_object_get(m, "refusal");

    if (!json_is_string(thought))
        thought = json_object_get(m, "reasoning");
    if (openai_take_content(a, json_object_get(m, "content"), e) < 0 ||
        answer_add(&a->thought, thought, e) < 0 ||
        answer_add(&a->text, refusal, e) < 0)
        return -1;
    openai_take_finish(a, choice);
    if (json_is_string(refusal))
        a->finish = LLM_FILTERED;
    a->begun = true;
    return 0;
}

static int openai_take_answer(struct answer *a, const json_t *v, const char *in,
                              struct err *e)
{
    const json_t *choice = json_array_get(json_object_get(v, "choices"), 0);
    const json_t *model = json_object_get(v, "model");

    if (answer_is_complaint(v, e))
        return -1;
    if (!a->model.len && answer_add(&a->model, model, e) < 0)
        return -1;
    openai_take_usage(a, v);
    return choice ? openai_take_choice(a, choice, in, e) : 0;
}

static int openai_read(struct answer *a, const json_t *whole, struct err *e)
{
    if (openai_take_answer(a, whole, "message", e) < 0)
        return -1;
    return a->begun ? 0 : err_set(e, ERR_INPUT, "the answer has no choices");
}

static int openai_hear(struct answer *a, struct str event, struct err *e)
{
    json_t *v;
    int rc;

    if (str_eq(str_trim(event), "[DONE]")) {
        a->complete = a->begun;
        return 0;
    }
    v = jsn_parse_foreign("event", event.p, event.n, e);
    if (!v)
        return -1;
    rc = openai_take_answer(a, v, "delta", e);
    json_decref(v);
    return rc;
}

/* ---- the provider ------------------------------------------------------------ */

const struct http_api api_openai = {
    .endpoint =
        {
            .base_url = "https://api.openai.com/v1",
            .path = "/chat/completions",
            .key_name = "OPENAI_API_KEY",
            .key_header = "Authorization: Bearer ",
            .organisation = "OpenAI-Organization: ",
            .project = "OpenAI-Project: ",
        },
    /* More than one answer would cost more than was reserved. */
    .reserved = (const char *const[]){"model", "messages", "stream", "n",
                                      "best_of", NULL},
    .question = openai_question,
    .read = openai_read,
    .hear = openai_hear,
};

const struct provider_type provider_openai = {
    .name = "openai", .http = &api_openai, HTTP_PROVIDER};
