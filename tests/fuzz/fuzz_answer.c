/* fuzz_answer.c: any bytes as the answer of a model's server. The first byte
 * chooses the API, and whether it is a whole answer or a stream. */
#include "base/json.h"
#include "io/sse.h"
#include "llm/http_provider.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
    const struct http_api *api;
    struct answer answer;
    struct err e;
};

static int hear(struct str type, struct str data, void *arg)
{
    struct reading *r = arg;
    int rc = r->api->hear(&r->answer, data, &r->e);

    (void)type;
    if ((rc < 0) != (r->e.kind != ERR_NONE))
        abort();
    return rc;
}

static void read_stream(struct reading *r, const char *p, size_t n)
{
    struct sse s;

    sse_init(&s, 1 << 16, hear, r);
    sse_feed(&s, p, n, &r->e);
    sse_release(&s);
}

static void read_whole(struct reading *r, const char *p, size_t n)
{
    json_t *v = jsn_parse_foreign("answer", p, n, &r->e);
    struct err said = ERR_INIT;

    if (!v)
        return;
    if (r->e.kind ||
        (r->api->read(&r->answer, v, &r->e) == 0 && !r->answer.begun))
        abort();
    if (answer_is_complaint(v, &said) && !said.text[0])
        abort();
    json_decref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading r = {.e = ERR_INIT};
    const struct llm_usage *u = &r.answer.usage;

    if (!size)
        return 0;
    r.api = data[0] & 1 ? &api_anthropic : &api_openai;
    answer_init(&r.answer, 1, HTTP_REPLY);
    if (data[0] & 2)
        read_stream(&r, (const char *)data + 1, size - 1);
    else
        read_whole(&r, (const char *)data + 1, size - 1);
    if (u->input < 0 || u->cached < 0 || u->cached > u->input ||
        u->output < 0 || u->reasoning < 0 || u->reasoning > u->output)
        abort();
    answer_release(&r.answer);
    return 0;
}
