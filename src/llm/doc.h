/* doc.h: an answer as a document: what commands, files and cassettes give. It is
 * plain text, or an object {"text", "thought", "finish", "usage", "model"} of
 * which only the text must be there, or {"error"} (docs/MODELS.md). */
#ifndef LLM_DOC_H
#define LLM_DOC_H

#include "base/err.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <jansson.h>

/* An answer with the memory behind its strings. */
struct doc {
    struct send_result result; /* SEND_ANSWERED, or SEND_REFUSED with error */
    json_t *json;              /* what the strings are borrowed from */
};
void doc_release(struct doc *a);

/* Text as it is: bytes that are not UTF-8, and NULs, become U+FFFD. */
void doc_from_text(struct doc *a, const char *p, size_t n);
/* Takes the reference, also on an error, which says what is wrong with it. */
int doc_from_json(struct doc *a, json_t *v, struct err *e);

/* The same object; what is empty is left out. */
json_t *doc_json(const struct send_result *r);

#endif
