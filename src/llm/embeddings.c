/* embeddings.c: requests vectors and checks them. */
#include "llm/embeddings.h"

#include "base/json.h"
#include "base/mem.h"
#include "llm/endpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_LIMIT ((size_t)128 << 20) /* 2,048 vectors, 3,072 dimensions */

enum { MOST_DIMENSIONS = 65536 };

static const struct endpoint_kind kind = {
    .base_url = "https://api.openai.com/v1",
    .path = "/embeddings",
    .key_name = "OPENAI_API_KEY",
    .key_header = "Authorization: Bearer ",
    .organisation = "OpenAI-Organization: ",
    .project = "OpenAI-Project: ",
};

struct embeddings {
    struct endpoint endpoint;
    char *model;
    struct embeddings_call *calls;
};

struct embeddings_call {
    struct embeddings *m;
    struct embeddings_call *prev, *next; /* in m->calls */
    struct http_call *call;
    embeddings_fn *fn;
    void *arg;
    char *body;
    size_t count, dim;
    float *vector;
    bool over; /* inside fn */
};

/* ---- answers ----------------------------------------------------------------- */

static int read_vector(struct embeddings_call *c, const json_t *numbers,
                       size_t index, struct err *e)
{
    const json_t *number;
    size_t i;

    json_array_foreach(numbers, i, number)
    {
        float v = (float)json_number_value(number);

        if (!json_is_number(number) || !isfinite(v))
            return err_set(e, ERR_INPUT,
                           "vector %zu: element %zu is not a finite number",
                           index, i);
        c->vector[index * c->dim + i] = v;
    }
    return 0;
}

/* The first row determines the length of all. */
static int check_dimension(struct embeddings_call *c, size_t dim, size_t index,
                           struct err *e)
{
    if (!c->vector) {
        if (dim == 0 || dim > MOST_DIMENSIONS)
            return err_set(e, ERR_INPUT, "a vector of %zu dimensions", dim);
        c->dim = dim;
        c->vector = xreallocarray(NULL, c->count * dim, sizeof(float));
    }
    if (dim != c->dim)
        return err_set(e, ERR_INPUT,
                       "vector %zu has %zu dimensions, the first one %zu",
                       index, dim, c->dim);
    return 0;
}

static int read_row(struct embeddings_call *c, const json_t *row, bool *seen,
                    struct err *e)
{
    const json_t *numbers = json_object_get(row, "embedding");
    const json_t *index = json_object_get(row, "index");
    size_t i = (size_t)json_integer_value(index);

    if (!json_is_integer(index) || i >= c->count || seen[i])
        return err_set(e, ERR_INPUT, "a vector with a wrong or repeated index");
    seen[i] = true;
    if (!json_is_array(numbers))
        return err_set(e, ERR_INPUT, "vector %zu is not a list of numbers", i);
    if (check_dimension(c, json_array_size(numbers), i, e) < 0)
        return -1;
    return read_vector(c, numbers, i, e);
}

static int read_rows(struct embeddings_call *c, const json_t *rows,
                     struct err *e)
{
    bool *seen;
    size_t i;
    const json_t *row;
    int rc = 0;

    if (json_array_size(rows) != c->count)
        return err_set(e, ERR_INPUT, "%zu vectors for %zu texts",
                       json_array_size(rows), c->count);
    seen = xcalloc(c->count, sizeof(*seen));
    json_array_foreach(rows, i, row)
    {
        rc = read_row(c, row, seen, e);
        if (rc < 0)
            break;
    }
    free(seen);
    return rc;
}

static int read_answer(struct embeddings_call *c, const struct buf *body,
                       int64_t *tokens, struct err *e)
{
    json_t *v = jsn_parse_foreign("answer", buf_str(body), body->len, e);
    const json_t *usage = json_object_get(v, "usage");
    int rc = v ? read_rows(c, json_object_get(v, "data"), e) : -1;

    *tokens = json_integer_value(json_object_get(usage, "prompt_tokens"));
    if (*tokens < 0)
        *tokens = 0;
    json_decref(v);
    return rc;
}

static void call_free(struct embeddings_call *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        c->m->calls = c->next;
    if (c->next)
        c->next->prev = c->prev;
    free(c->vector);
    free(c->body);
    free(c);
}

static void on_done(struct http_call *call, struct http_reply *r, void *arg)
{
    struct embeddings_call *c = arg;
    const struct endpoint *at = &c->m->endpoint;
    struct embeddings_result out = {.count = c->count};
    struct send_result how = {0};
    struct err e = ERR_INIT;
    struct buf text;

    buf_init(&text, BUF_UNLIMITED);
    endpoint_judge(at, call, r, &how, &text);
    if (how.outcome == SEND_ANSWERED &&
        read_answer(c, &r->body, &out.tokens, &e) < 0)
        endpoint_lost(at, e.text, &how, &text);
    out.outcome = how.outcome;
    out.status = how.status;
    out.retry_after_ns = how.retry_after_ns;
    out.error = how.error;
    out.dim = c->dim;
    out.vector = c->vector;
    c->over = true;
    c->fn(c->arg, &out);
    buf_release(&text);
    call_free(c);
}

/* ---- requests ---------------------------------------------------------------- */

struct embeddings *embeddings_open(struct loop *l, const struct llm_opts *o,
                                   struct err *e)
{
    struct embeddings *m = xcalloc(1, sizeof(*m));

    m->model = xstrdup(o->model ? o->model : "");
    if (!m->model[0])
        err_set(e, ERR_INPUT, "the model is missing: use --model NAME");
    if (!m->model[0] || endpoint_open(&m->endpoint, &kind, l, o, e) < 0) {
        embeddings_close(m);
        return NULL;
    }
    m->endpoint.reply_limit = REPLY_LIMIT;
    return m;
}

void embeddings_close(struct embeddings *m)
{
    for (struct embeddings_call *c = m->calls, *next; c; c = next) {
        next = c->next;
        embeddings_cancel(c);
    }
    endpoint_release(&m->endpoint);
    free(m->model);
    free(m);
}

static char *write_question(const struct embeddings *m, const struct str *text,
                            size_t count)
{
    json_t *input = json_array(), *q;
    char *body;

    for (size_t i = 0; i < count; i++)
        json_array_append_new(input, jsn_text(text[i].p, text[i].n));
    q = json_pack("{s:o, s:o, s:s}", "model",
                  jsn_text(m->model, strlen(m->model)), "input", input,
                  "encoding_format", "float");
    body = json_dumps(q, JSON_COMPACT);
    if (!body)
        BUG("a question that is not JSON");
    json_decref(q);
    return body;
}

struct embeddings_call *embeddings_send(struct embeddings *m,
                                        const struct str *text, size_t count,
                                        embeddings_fn *fn, void *arg,
                                        struct err *e)
{
    struct embeddings_call *c;

    if (!count) {
        err_set(e, ERR_INPUT, "no texts to embed");
        return NULL;
    }
    c = xcalloc(1, sizeof(*c));
    *c = (struct embeddings_call){
        .m = m, .next = m->calls, .fn = fn, .arg = arg, .count = count};
    if (c->next)
        c->next->prev = c;
    m->calls = c;
    c->body = write_question(m, text, count);
    c->call = endpoint_post(&m->endpoint, str_of(c->body), NULL, on_done, c, e);
    if (c->call)
        return c;
    call_free(c);
    return NULL;
}

void embeddings_cancel(struct embeddings_call *c)
{
    if (c->over)
        return;
    http_cancel(c->call);
    call_free(c);
}
