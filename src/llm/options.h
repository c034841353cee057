/* options.h: how to reach a model and what it may cost. */
#ifndef LLM_OPTIONS_H
#define LLM_OPTIONS_H

#include "base/err.h"
#include "base/json.h"
#include "llm/llm.h"

#include <stdbool.h>
#include <stdint.h>

struct llm_opts {
    const char *provider; /* a provider_type's name */
    const char *base_url; /* NULL: the provider's own */
    const char *model;
    const char *command;  /* exec: run by sh -c */
    const char *folder;   /* spool */
    const char *cassette; /* replay */
    bool replay_strict;   /* a different prompt is an error */
    bool stream;          /* ask for server-sent events */
    double temperature;   /* < 0: not sent */
    int64_t max_tokens;   /* of an answer */
    const char *effort;   /* reasoning_effort; NULL: not sent */
    const char *extra;    /* a JSON object of more body fields, or NULL */
    const char *organisation, *project;
    const char *ca_file;
    bool insecure;
    bool dry; /* nothing is sent: no key is needed, no folder created */
    int64_t in_flight; /* calls at once */
    int64_t timeout_ms;
    int retries;
    int64_t requests_per_minute, tokens_per_minute; /* 0: no limit */
    const char *prices; /* another price file, or NULL */
    const char *price;  /* "IN,OUT[,CACHED]": dollars per million tokens */
};

/* `budget` is the caller's; it and the strings in `o` outlive the result. `home`
 * is the folder with prices.ini. */
struct llm *llm_open(struct loop *l, const struct llm_opts *o,
                     struct budget *budget, const char *home, struct err *e);
void llm_close(struct llm *l); /* not from a handler */

/* From now on, also writes every answered call to this cassette. The header of a
 * new one contains `secret` (or NULL). Without a cassette it does nothing. */
int llm_record(struct llm *l, const char *cassette, const char *secret,
               struct err *e);

/* Whether the provider's answers cost money, and whether a price is known. */
bool llm_is_priced(const struct llm *l);
bool llm_has_price(const struct llm *l);
/* Repeating a request is free: it has an id, and so has its answer. */
bool llm_is_patient(const struct llm *l);

#endif
