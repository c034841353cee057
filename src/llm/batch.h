/* batch.h: a spool folder as a provider's batch file and back: JSON Lines, one
 * request or result each, as OpenAI's batch interface and those like it take
 * them (docs/MODELS.md). */
#ifndef LLM_BATCH_H
#define LLM_BATCH_H

#include "base/err.h"

#include <stddef.h>

struct batch_exported {
    size_t written, answered, claimed; /* the last two are left out */
};
/* Writes the requests that have neither an answer nor a claim, and claims them.
 * `model` (or NULL) stands in where a request names none. */
int batch_export(const char *dir, const char *file, const char *model,
                 struct batch_exported *n, struct err *e);

struct batch_imported {
    size_t answered;
    size_t refused;        /* the provider will never answer: stored as that */
    size_t again;          /* failed for now: unclaimed, for the next export */
    size_t known, unknown; /* answered before; no request of this folder */
};
/* Results as answers. An answer that is there is not touched, so that a file may
 * be read twice. A line that is no result is an error; those before it count. */
int batch_import(const char *dir, const char *file, struct batch_imported *n,
                 struct err *e);

#endif
