/* embed_front.c: the provider `embeddings`: a request's messages are texts, its
 * answer is their vectors. With a client over it, embeddings have the retries,
 * the rates and the budget that every call has. */
#include "base/mem.h"
#include "llm/embeddings.h"
#include "llm/provider.h"

#include <stdlib.h>

struct embedder {
    struct provider base;
    struct embeddings *endpoint;
    const char *model;
};

struct send {
    struct embedder *from;
    struct embeddings_call *call;
    send_fn *fn;
    void *arg;
};

static void embedder_close(struct provider *p)
{
    struct embedder *m = (struct embedder *)p;

    embeddings_close(m->endpoint);
    free(m);
}

static void on_vectors(void *arg, const struct embeddings_result *v)
{
    struct send *s = arg, copy = *s;
    struct send_result r = {
        .outcome = v->outcome,
        .status = v->status,
        .retry_after_ns = v->retry_after_ns,
        .model = str_of(s->from->model),
        .usage = {.input = v->tokens, .estimated = v->tokens == 0},
        .error = v->error};

    if (v->outcome == SEND_ANSWERED)
        r.text = (struct str){(const char *)v->vector,
                              v->count * v->dim * sizeof(*v->vector)};
    free(s);
    copy.fn(copy.arg, &r);
}

static struct send *embedder_send(struct provider *p,
                                  const struct llm_request *q, send_fn *fn,
                                  void *arg, struct err *e)
{
    struct embedder *m = (struct embedder *)p;
    struct send *s = xcalloc(1, sizeof(*s));
    struct str *text = xcalloc(q->count, sizeof(*text));

    for (size_t i = 0; i < q->count; i++)
        text[i] = q->message[i].text;
    *s = (struct send){.from = m, .fn = fn, .arg = arg};
    s->call = embeddings_send(m->endpoint, text, q->count, on_vectors, s, e);
    free(text);
    if (s->call)
        return s;
    free(s);
    return NULL;
}

static void embedder_cancel(struct send *s)
{
    embeddings_cancel(s->call);
    free(s);
}

static const struct provider_type type = {
    .name = "embeddings",
    .priced = true,
    .close = embedder_close,
    .send = embedder_send,
    .cancel = embedder_cancel,
};

struct llm *embeddings_client(struct loop *l, const struct llm_opts *o,
                              struct budget *budget, const char *home,
                              struct err *e)
{
    struct llm_rules rules = llm_default_rules;
    struct embedder *m;
    struct embeddings *endpoint;
    struct price price;

    if (provider_price(o, &type, home, &price, e) < 0)
        return NULL;
    endpoint = embeddings_open(l, o, e);
    if (!endpoint)
        return NULL;
    m = xcalloc(1, sizeof(*m));
    *m = (struct embedder){{&type}, endpoint, o->model};
    rules.max_tokens = 1; /* nothing is written */
    rules.in_flight = o->in_flight;
    rules.retries = o->retries;
    rules.requests_per_minute = o->requests_per_minute;
    rules.tokens_per_minute = o->tokens_per_minute;
    return llm_new(l, &m->base, &rules, &price, budget);
}
