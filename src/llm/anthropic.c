/* anthropic.c: the messages API: https://docs.claude.com/en/api/messages */
#include "llm/http_provider.h"

#include <string.h>

enum { MOST_MARKS = 4 }; /* cache markers in a request; more are refused */

/* ---- questions --------------------------------------------------------------- */

static void anthropic_add_block(json_t *blocks, struct str text, bool mark)
{
    json_t *block;

    if (!text.n) /* empty blocks are refused */
        return;
    block = json_pack("{s:s}", "type", "text");
    if (mark)
        json_object_set_new(block, "cache_control",
                            json_pack("{s:s}", "type", "ephemeral"));
    json_object_set_new(block, "text", jsn_text(text.p, text.n));
    json_array_append_new(blocks, block);
}

static void anthropic_add_blocks(json_t *blocks, const struct llm_message *m,
                                 bool mark)
{
    size_t n =
        str_utf8_cut(m->text.p, m->text.n, m->shared); /* what many share */

    if (!m->text.n)
        return;
    anthropic_add_block(blocks, (struct str){m->text.p, n}, mark);
    anthropic_add_block(blocks, (struct str){m->text.p + n, m->text.n - n},
                        false);
}

/* The last markers cover the most text. */
static size_t anthropic_first_marked(const struct llm_request *r)
{
    size_t i = r->count, marks = 0;

    while (i && marks < MOST_MARKS)
        marks += r->message[--i].shared > 0;
    return i;
}

static bool anthropic_is_system(const struct llm_message *m)
{
    return strcmp(m->role, "system") == 0;
}

/* The system's text is a field of its own. */
static json_t *anthropic_question(const struct http_provider *p,
                                  const struct llm_request *r)
{
    json_t *q = json_object(), *system = json_array(), *messages = json_array();
    size_t from = anthropic_first_marked(r);

    for (size_t i = 0; i < r->count; i++) {
        const struct llm_message *m = &r->message[i];
        json_t *content = anthropic_is_system(m) ? system : json_array();

        anthropic_add_blocks(content, m, i >= from);
        if (!anthropic_is_system(m))
            json_array_append_new(
                messages,
                json_pack("{s:s, s:o}", "role", m->role, "content", content));
    }
    if (json_array_size(system))
        json_object_set(q, "system", system);
    json_decref(system);
    json_object_set_new(q, "messages", messages);
    json_object_set_new(q, "model", jsn_of(p->model));
    json_object_set_new(q, "max_tokens",
                        json_integer(http_provider_limit(p, r)));
    if (p->temperature >= 0)
        json_object_set_new(q, "temperature", json_real(p->temperature));
    if (p->stream)
        json_object_set_new(q, "stream", json_true());
    return q;
}

static int anthropic_check(const struct llm_opts *o, struct err *e)
{
    if (o->max_tokens <= 0)
        return err_set(e, ERR_INPUT,
                       "anthropic: --max-tokens must be more than 0");
    if (o->effort)
        return err_set(
            e, ERR_INPUT,
            "anthropic: --effort is not supported; use the extra field "
            "\"thinking\" instead");
    return 0;
}

/* ---- answers ----------------------------------------------------------------- */

/* In a stream, later counts are totals; some may be missing. */
static void anthropic_take_usage(struct answer *a, const json_t *holder)
{
    const json_t *u = json_object_get(holder, "usage");
    int64_t read = answer_count(u, "cache_read_input_tokens");

    if (!json_is_object(u))
        return;
    if (json_object_get(u, "input_tokens")) {
        a->usage.cached = read;
        a->usage.written = answer_count(u, "cache_creation_input_tokens");
        a->usage.input =
            answer_count(u, "input_tokens") + read + a->usage.written;
    }
    if (json_object_get(u, "output_tokens"))
        a->usage.output = answer_count(u, "output_tokens");
    a->usage.estimated = false;
}

static void anthropic_take_stop(struct answer *a, const json_t *holder)
{
    const char *why = jsn_maybe(holder, "stop_reason");

    if (!why)
        return;
    a->complete = true;
    if (strcmp(why, "max_tokens") == 0 ||
        strcmp(why, "model_context_window_exceeded") == 0)
        a->finish = LLM_LENGTH;
    else if (strcmp(why, "refusal") == 0)
        a->finish = LLM_FILTERED;
}

/* A block, or a delta of one: each has the fields of its type. */
static int anthropic_take_block(struct answer *a, const json_t *block,
                                struct err *e)
{
    if (answer_add(&a->text, json_object_get(block, "text"), e) < 0)
        return -1;
    return answer_add(&a->thought, json_object_get(block, "thinking"), e);
}

static int anthropic_take_message(struct answer *a, const json_t *m,
                                  struct err *e)
{
    const json_t *content = json_object_get(m, "content"), *block;
    size_t i;

    if (answer_add(&a->model, json_object_get(m, "model"), e) < 0)
        return -1;
    json_array_foreach(content, i, block)
    {
        if (anthropic_take_block(a, block, e) < 0)
            return -1;
    }
    anthropic_take_usage(a, m);
    anthropic_take_stop(a, m);
    a->begun = json_is_array(content);
    return 0;
}

static int anthropic_read(struct answer *a, const json_t *whole, struct err *e)
{
    if (answer_is_complaint(whole, e) ||
        anthropic_take_message(a, whole, e) < 0)
        return -1;
    return a->begun ? 0 : err_set(e, ERR_INPUT, "the answer has no content");
}

static int anthropic_take_event(struct answer *a, const json_t *v,
                                struct err *e)
{
    const char *type = jsn_maybe(v, "type");

    if (answer_is_complaint(v, e))
        return -1;
    if (!type)
        return 0;
    if (strcmp(type, "message_start") == 0)
        return anthropic_take_message(a, json_object_get(v, "message"), e);
    if (strcmp(type, "content_block_start") == 0)
        return anthropic_take_block(a, json_object_get(v, "content_block"), e);
    if (strcmp(type, "content_block_delta") == 0)
        return anthropic_take_block(a, json_object_get(v, "delta"), e);
    if (strcmp(type, "message_delta") == 0) {
        anthropic_take_usage(a, v);
        anthropic_take_stop(a, json_object_get(v, "delta"));
    } else if (strcmp(type, "message_stop") == 0) {
        a->complete = a->begun;
    }
    return 0;
}

static int anthropic_hear(struct answer *a, struct str event, struct err *e)
{
    json_t *v = jsn_parse_foreign("event", event.p, event.n, e);
    int rc = v ? anthropic_take_event(a, v, e) : -1;

    json_decref(v);
    return rc;
}

/* ---- the provider ------------------------------------------------------------ */

const struct http_api api_anthropic = {
    .endpoint =
        {
            .base_url = "https://api.anthropic.com",
            .path = "/v1/messages",
            .key_name = "ANTHROPIC_API_KEY",
            .key_header = "x-api-key: ",
            .header = "anthropic-version: 2023-06-01",
        },
    .reserved = (const char *const[]){"model", "messages", "system", "stream",
                                      "max_completion_tokens", NULL},
    .check = anthropic_check,
    .question = anthropic_question,
    .read = anthropic_read,
    .hear = anthropic_hear,
};

const struct provider_type provider_anthropic = {
    .name = "anthropic", .http = &api_anthropic, HTTP_PROVIDER};
