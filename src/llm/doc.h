/* doc.h: requests and answers as JSON, for commands, files and cassettes
 * (docs/MODELS.md). */
#ifndef LLM_DOC_H
#define LLM_DOC_H

#include "base/err.h"
#include "base/hash.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <jansson.h>
#include <stdbool.h>

/* ---- requests ---- */

#define REQUEST_ID 33 /* 32 hexadecimal digits and the NUL */

/* SHA-256 over roles and texts. */
void request_prompt_hash(const struct llm_request *r, char out[HASH_HEX]);
/* The start of a SHA-256 over key and prompt: the same in every run. */
void request_id(const struct llm_request *r, char out[REQUEST_ID]);
/* Whether a word could be an id. */
bool request_is_id(const char *word);

json_t *request_key_json(const struct llm_key *k);
/* {"id", "key", "model", "messages", "max_tokens", "temperature", "seed"} */
json_t *request_json(const struct llm_request *r, const struct llm_opts *o);

/* ---- answers: plain text, or an object {"text", "thought", "finish", "usage",
 * "model"} in which only the text is required, or {"error"} ---- */

/* An answer and the memory of its strings. */
struct doc {
    struct send_result result; /* SEND_ANSWERED, or SEND_REFUSED with error */
    json_t *json;              /* what the strings are borrowed from */
};
void doc_release(struct doc *a);

/* Plain text; bytes that are not UTF-8, and NULs, become U+FFFD. */
void doc_from_text(struct doc *a, const char *p, size_t n);
/* Takes the reference, even on an error. */
int doc_from_json(struct doc *a, json_t *v, struct err *e);

/* The answer as an object, without empty fields. */
json_t *doc_json(const struct send_result *r);

#endif
