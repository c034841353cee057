/* test_embeddings.c: vectors from a server on the loopback, which gives a text's
 * length, first and last character as three numbers. */
#include "base/mem.h"
#include "base/tick.h"
#include "llm/provider.h"
#include "llm_fixture.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct llm_server server;

struct got {
    int done;
    enum send_outcome outcome;
    size_t dim;
    char model[64];
    float vector[12];
    int64_t tokens, retry_after_ns;
    char error[500];
    size_t requests;
};

#define TEXTS 3
static const struct llm_message texts[TEXTS] = {
    {"user", {"abc", 3}, 0},
    {"user", {"zz", 2}, 0},
    {"user", {"q", 1}, 0},
};
static const struct llm_request request = {.message = texts, .count = TEXTS};

static void note(void *arg, const struct send_result *r)
{
    struct got *g = arg;
    size_t n = r->text.n / sizeof(float);

    g->done++;
    g->outcome = r->outcome;
    g->dim = n / TEXTS;
    g->tokens = r->usage.input;
    g->retry_after_ns = r->retry_after_ns;
    if (r->outcome == SEND_ANSWERED && n <= 12)
        memcpy(g->vector, r->text.p, n * sizeof(float));
    snprintf(g->error, sizeof(g->error), "%s", r->error);
    snprintf(g->model, sizeof(g->model), "%.*s", (int)r->model.n, r->model.p);
}

static struct provider *open_model(struct loop *l, const char *model)
{
    struct err e = ERR_INIT;
    char url[64];
    struct llm_opts o = {.model = model, .base_url = url, .timeout_ms = 60000};
    struct provider *m;

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1", server.peer.port);
    m = provider_embeddings.open(&provider_embeddings, l, &o, &e);
    if (!m)
        BUG("%s", e.text);
    return m;
}

static struct send *send_texts(struct provider *m, struct got *g)
{
    struct err e = ERR_INIT;
    struct send *s = m->type->send(m, &request, note, g, &e);

    if (!s)
        BUG("%s", e.text);
    return s;
}

static struct got ask(const char *model)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    struct provider *m = open_model(l, model);
    struct got g = {0};
    json_t *seen;

    send_texts(m, &g);
    loop_run(l);
    provider_close(m);
    loop_free(l);
    seen = llm_server_requests(&server);
    g.requests = json_array_size(seen);
    json_decref(seen);
    return g;
}

static void test_vectors(const char *model, const char *claim)
{
    static const float want[] = {3,      0.097F, 0.099F, 2,     0.122F,
                                 0.122F, 1,      0.113F, 0.113F};
    struct got g = ask(model);
    bool same = g.dim == 3 && strcmp(g.model, model) == 0;

    for (int i = 0; same && i < 9; i++)
        same = fabsf(g.vector[i] - want[i]) < 1e-6F;
    ok(g.done == 1 && g.outcome == SEND_ANSWERED && same && g.tokens == 6 &&
           g.requests == 1,
       "%s", claim);
    is(g.error, "", "… and no error");
}

static void test_refused(const char *model, enum send_outcome want,
                         const char *error)
{
    struct got g = ask(model);

    ok(g.done == 1 && g.outcome == want && g.requests == 1, "%s", model);
    is(g.error, error, error);
}

static void test_failures(void)
{
    struct got g;

    test_refused("m+short", SEND_LOST, "2 vectors for 3 texts");
    test_refused("m+double", SEND_LOST,
                 "a vector with a wrong or repeated index");
    test_refused("m+uneven", SEND_LOST,
                 "vector 2 has 4 dimensions, the first one 3");
    test_refused("m+value=1e39", SEND_LOST,
                 "vector 0: element 0 is not a finite number");
    test_refused("m+value=null", SEND_LOST,
                 "vector 0: element 0 is not a finite number");
    g = ask("m+value=NaN");
    ok(g.outcome == SEND_LOST && g.error[0], "not a number: %s", g.error);
    g = ask("m+value=1e999");
    ok(g.outcome == SEND_LOST && g.error[0], "past all numbers: %s", g.error);
    test_refused("m+body={\"data\":[{},{},{}]}", SEND_LOST,
                 "a vector with a wrong or repeated index");
    test_refused("m+body={\"data\":[{\"index\":0,\"embedding\":[]},1,2]}",
                 SEND_LOST, "a vector of 0 dimensions");
    test_refused("m+body={\"data\":[{\"index\":-1,\"embedding\":[1]},1,2]}",
                 SEND_LOST, "a vector with a wrong or repeated index");
    test_refused("m+body={}", SEND_LOST, "0 vectors for 3 texts");
    test_refused("m+status=401+about=no+echo", SEND_REFUSED,
                 "HTTP 401: no Bearer [key]  (some_code, some_error); is the "
                 "API key correct?");
    g = ask("m+status=429+retry-after=2");
    ok(g.outcome == SEND_RETRY && g.retry_after_ns == 2 * TICK_S, "429");
}

static void test_around(void)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    struct provider *m = open_model(l, "m+never");
    struct llm_opts nameless = {.base_url = "http://127.0.0.1:1"};
    struct got g = {0};

    ok(!provider_embeddings.open(&provider_embeddings, l, &nameless, &e) &&
           e.kind == ERR_INPUT,
       "a model must be named");
    m->type->cancel(send_texts(m, &g));
    loop_run(l);
    send_texts(m, &g);
    provider_close(m);
    loop_run(l);
    ok(g.done == 0, "neither a cancelled nor a dropped request is told of");
    loop_free(l);
}

SUITE(embeddings)
{
    server = llm_server_start(NULL, NULL);
    test_vectors("m", "a vector for each text");
    test_vectors("m+reverse", "in the order of the texts");
    test_vectors("m+split=3", "in pieces");
    test_failures();
    test_around();
    llm_server_stop(&server);
}
