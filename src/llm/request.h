/* request.h: the identity of a request, and the JSON that the providers `exec` and
 * `spool` write (docs/MODELS.md). */
#ifndef LLM_REQUEST_H
#define LLM_REQUEST_H

#include "base/hash.h"
#include "llm/llm.h"

#include <jansson.h>
#include <stdbool.h>

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

#endif
