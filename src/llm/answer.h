/* answer.h: an answer as commands, files and cassettes give it: plain text, or
 * an object {"text", "thought", "finish", "usage", "model"} of which only the
 * text must be there, or {"error"} (docs/MODELS.md). */
#ifndef LLM_ANSWER_H
#define LLM_ANSWER_H

#include "base/err.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <jansson.h>

/* An answer with the memory behind its strings. */
struct answer {
    struct send_result result; /* SEND_ANSWERED, or SEND_REFUSED with error */
    json_t *json;              /* what the strings are borrowed from */
};
void answer_release(struct answer *a);

/* Text as it is: bytes that are not UTF-8, and NULs, become U+FFFD. */
void answer_from_text(struct answer *a, const char *p, size_t n);
/* Takes the reference, also on an error, which says what is wrong with it. */
int answer_from_json(struct answer *a, json_t *v, struct err *e);

/* The same object; what is empty is left out. */
json_t *answer_json(const struct send_result *r);
/* A JSON string of any bytes, as above. */
json_t *answer_text(struct str s);

#endif
