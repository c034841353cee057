/* llm_fixture.h: a provider and tests/llm/server.py, and what came of a
 * request. */
#ifndef TESTS_LLM_FIXTURE_H
#define TESTS_LLM_FIXTURE_H

#include "base/json.h"
#include "llm/llm.h"
#include "llm/provider.h"
#include "peer.h"

#define LLM_KEY "sk-marked-0123456789-SECRET"
/* What the server says unless told otherwise. */
#define LLM_SAYS "Grüße, 猴子 🐒! "
#define LLM_TEXT LLM_SAYS LLM_SAYS LLM_SAYS

struct llm_server {
    struct testpeer peer;
    char log[64]; /* a line a request, as JSON */
};

/* Starts it and sets the keys to LLM_KEY; `cert` and `key` NULL: no TLS. */
struct llm_server llm_server_start(const char *cert, const char *key);
void llm_server_stop(struct llm_server *s);

/* Requests since the last look, as an array: a new reference. */
json_t *llm_server_requests(struct llm_server *s);

/* How a request ended, copied. */
struct llm_got {
    int done; /* calls of the callback */
    enum send_outcome outcome;
    int status;
    int64_t retry_after_ns;
    enum llm_finish finish;
    struct llm_usage usage;
    char text[4096], thought[512], model[64], error[1200];
    size_t text_len;
    json_t *seen; /* the requests that the server got for it */
};

/* Sends one request with these options (base_url NULL: the server's) and waits
 * for its end. The result's `seen` is the caller's. */
struct llm_got llm_try(struct llm_server *s, const struct provider_type *type,
                       struct llm_opts o, const struct llm_request *r);
/* The same with a plain question, for the model `model`, and a claim: this
 * outcome, one request, no key in what is told. */
struct llm_got llm_expect(struct llm_server *s,
                          const struct provider_type *type, struct llm_opts o,
                          enum send_outcome want, const char *claim);
void llm_got_release(struct llm_got *g);
/* The first request's body, borrowed. */
const json_t *llm_got_body(const struct llm_got *g);
/* The value of a header of the first request, or "". */
const char *llm_got_header(const struct llm_got *g, const char *name);

void llm_set_env(const char *name, const char *value); /* NULL: unset */

#endif
