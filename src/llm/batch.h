/* batch.h: converts a spool folder to a provider's batch file and back: JSON Lines
 * with one request or result each, in the format of OpenAI's batch API
 * (docs/MODELS.md). */
#ifndef LLM_BATCH_H
#define LLM_BATCH_H

#include "base/err.h"

#include <stddef.h>

struct batch_exported {
    size_t written, answered, claimed; /* the last two are not written */
};
/* Writes the requests that are neither answered nor claimed, and claims them.
 * `model` (or NULL) is for requests that name none. */
int batch_export(const char *dir, const char *file, const char *model,
                 struct batch_exported *n, struct err *e);

struct batch_imported {
    size_t answered;
    size_t refused; /* the provider refused: stored as a refusal */
    size_t again;   /* failed for now: claim released, for the next export */
    size_t known, unknown; /* already answered; not a request of this folder */
};
/* Stores results as answers. Existing answers are kept, so a file may be imported
 * twice. A line that is not a result is an error; the lines before it count. */
int batch_import(const char *dir, const char *file, struct batch_imported *n,
                 struct err *e);

#endif
