/* embeddings.c: vectors, with OpenAI's /embeddings API: a request's messages are texts,
 * its answer is their vectors. As a provider it has the retries, the rates and the
 * budget that every call has. */
#include "base/mem.h"
#include "llm/http_provider.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_DIMENSIONS = 65536 };

/* The vectors of an answer, as they are read. */
struct vectors {
    size_t count, dim; /* dim 0: no row so far */
    float *number;
    bool *seen;
};

static int vectors_read(struct vectors *v, const json_t *numbers, size_t index,
                        struct err *e)
{
    const json_t *number;
    size_t i;

    json_array_foreach(numbers, i, number)
    {
        float x = (float)json_number_value(number);

        if (!json_is_number(number) || !isfinite(x))
            return err_set(e, ERR_INPUT,
                           "vector %zu: element %zu is not a finite number",
                           index, i);
        v->number[index * v->dim + i] = x;
    }
    return 0;
}

/* The first row determines the length of all. */
static int vectors_check(struct vectors *v, size_t dim, size_t index,
                         struct err *e)
{
    if (!v->dim) {
        if (dim == 0 || dim > MOST_DIMENSIONS)
            return err_set(e, ERR_INPUT, "a vector of %zu dimensions", dim);
        v->dim = dim;
        v->number = xreallocarray(NULL, v->count * dim, sizeof(float));
    }
    if (dim != v->dim)
        return err_set(e, ERR_INPUT,
                       "vector %zu has %zu dimensions, the first one %zu",
                       index, dim, v->dim);
    return 0;
}

static int vectors_row(struct vectors *v, const json_t *row, struct err *e)
{
    const json_t *numbers = json_object_get(row, "embedding");
    const json_t *index = json_object_get(row, "index");
    size_t i = (size_t)json_integer_value(index);

    if (!json_is_integer(index) || i >= v->count || v->seen[i])
        return err_set(e, ERR_INPUT, "a vector with a wrong or repeated index");
    v->seen[i] = true;
    if (!json_is_array(numbers))
        return err_set(e, ERR_INPUT, "vector %zu is not a list of numbers", i);
    if (vectors_check(v, json_array_size(numbers), i, e) < 0)
        return -1;
    return vectors_read(v, numbers, i, e);
}

static int embeddings_read(struct answer *a, const json_t *whole, struct err *e)
{
    const json_t *rows = json_object_get(whole, "data"), *row;
    struct vectors v = {.count = a->messages};
    size_t i;
    int rc = 0;

    if (json_array_size(rows) != v.count)
        return err_set(e, ERR_INPUT, "%zu vectors for %zu texts",
                       json_array_size(rows), v.count);
    v.seen = xcalloc(v.count, sizeof(*v.seen));
    json_array_foreach(rows, i, row)
    {
        rc = vectors_row(&v, row, e);
        if (rc < 0)
            break;
    }
    if (rc == 0)
        rc = buf_add(&a->text, v.number, v.count * v.dim * sizeof(float), e);
    free(v.number);
    free(v.seen);
    if (a->asked)
        buf_puts(&a->model, a->asked);
    a->usage.input =
        answer_count(json_object_get(whole, "usage"), "prompt_tokens");
    a->usage.estimated = a->usage.input == 0;
    a->begun = rc == 0;
    return rc;
}

static json_t *embeddings_question(const struct http_provider *p,
                                   const struct llm_request *r)
{
    json_t *input = json_array();

    for (size_t i = 0; i < r->count; i++)
        json_array_append_new(
            input, jsn_text(r->message[i].text.p, r->message[i].text.n));
    return json_pack("{s:o, s:o, s:s}", "model", jsn_of(p->model), "input",
                     input, "encoding_format", "float");
}

const struct http_api api_embeddings = {
    .endpoint =
        {
            .base_url = "https://api.openai.com/v1",
            .path = "/embeddings",
            .key_name = "OPENAI_API_KEY",
            .key_header = "Authorization: Bearer ",
            .organisation = "OpenAI-Organization: ",
            .project = "OpenAI-Project: ",
        },
    .reply_limit = (size_t)128 << 20, /* 2,048 vectors, 3,072 dimensions */
    .question = embeddings_question,
    .read = embeddings_read,
};

const struct provider_type provider_embeddings = {
    .name = "embeddings", .http = &api_embeddings, HTTP_PROVIDER};
