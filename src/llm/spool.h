/* spool.h: the folder of the provider `spool`, used by both sides:
 *
 *   requests/ID.json   a request
 *   claims/ID          created with O_EXCL by the process that answers it
 *   answers/ID.json    or ID.txt: the answer, renamed into place
 *
 * Reading removes nothing. docs/MODELS.md describes the formats. */
#ifndef LLM_SPOOL_H
#define LLM_SPOOL_H

#include "base/err.h"
#include "llm/doc.h"

#include <stdbool.h>
#include <stddef.h>

/* "DIR/sub/ID" and the suffix; the caller frees. */
char *spool_path(const char *dir, const char *sub, const char *id,
                 const char *suffix);
bool spool_has_answer(const char *dir, const char *id);

/* 1 with an answer (the caller releases it), 0 when there is none yet, -1 when it is
 * not valid. A file that is still being written does not count yet. */
int spool_answer(const char *dir, const char *id, struct doc *out,
                 struct err *e);
int spool_put_answer(const char *dir, const char *id,
                     const struct send_result *r, struct err *e);
/* 1 when it is ours now, 0 when it was claimed before. */
int spool_claim(const char *dir, const char *id, const char *who,
                struct err *e);
void spool_unclaim(const char *dir, const char *id);

/* ---- a provider's batch file ---- */

/* JSON Lines with one request or result each, in the format of OpenAI's batch API
 * (docs/MODELS.md). */
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
