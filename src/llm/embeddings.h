/* embeddings.h: turns texts into vectors with OpenAI's /embeddings API. Each request is
 * sent once, as by a provider (provider.h): retrying is up to the caller. */
#ifndef LLM_EMBEDDINGS_H
#define LLM_EMBEDDINGS_H

#include "base/err.h"
#include "base/str.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <stddef.h>
#include <stdint.h>

/* Valid until the callback returns. */
struct embeddings_result {
    enum send_outcome outcome; /* SEND_ANSWERED: the rest has been checked */
    int status;                /* HTTP's, or 0 */
    int64_t retry_after_ns;    /* 0: not said */
    const char *error;
    size_t count, dim;
    const float *vector; /* of text i from [i * dim], all of them finite */
    int64_t tokens;      /* 0: not said */
};
typedef void embeddings_fn(void *arg, const struct embeddings_result *r);

struct embeddings; /* an endpoint and a model */
struct embeddings_call;

/* Of the options it reads base_url, model, organisation, project, ca_file,
 * insecure, in_flight, timeout_ms. Keys as for the provider openai. */
struct embeddings *embeddings_open(struct loop *l, const struct llm_opts *o,
                                   struct err *e);
void embeddings_close(struct embeddings *m); /* cancels what is in flight */

/* Calls `fn` once, from the loop, never from inside. At least one text; none of
 * them is needed afterwards. */
struct embeddings_call *embeddings_send(struct embeddings *m,
                                        const struct str *text, size_t count,
                                        embeddings_fn *fn, void *arg,
                                        struct err *e);
void embeddings_cancel(struct embeddings_call *c);

/* A client over such an endpoint: each message of a request is a text, and the
 * answer's text is their vectors, one after the other, as floats of this
 * machine. `budget` and the strings in `o` outlive it; `home` has prices.ini. */
struct llm *embeddings_client(struct loop *l, const struct llm_opts *o,
                              struct budget *budget, const char *home,
                              struct err *e);

#endif
