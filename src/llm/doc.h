/* doc.h: an answer from a command, a file or a cassette. It is plain text, or an object
 * {"text", "thought", "finish", "usage", "model"} in which only the text is required,
 * or {"error"} (docs/MODELS.md). */
#ifndef LLM_DOC_H
#define LLM_DOC_H

#include "base/err.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <jansson.h>

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
