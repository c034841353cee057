/* folder.h: the folder of the provider `spool`, used by both sides:
 *
 *   requests/ID.json   a request
 *   claims/ID          created with O_EXCL by the process that answers it
 *   answers/ID.json    or ID.txt: the answer, renamed into place
 *
 * Reading removes nothing. docs/MODELS.md describes the formats. */
#ifndef LLM_FOLDER_H
#define LLM_FOLDER_H

#include "base/err.h"
#include "llm/doc.h"
#include "llm/request.h"

#include <jansson.h>
#include <stdbool.h>

int folder_make(const char *dir, struct err *e); /* creates what is missing */
/* "DIR/sub/ID" and the suffix; the caller frees. */
char *folder_path(const char *dir, const char *sub, const char *id,
                  const char *suffix);
bool folder_has_answer(const char *dir, const char *id);

/* 1 with an answer (the caller releases it), 0 when there is none yet, -1 when it is
 * not valid. A file that is still being written does not count yet. */
int folder_answer(const char *dir, const char *id, struct doc *out,
                  struct err *e);
int folder_put_answer(const char *dir, const char *id,
                      const struct send_result *r, struct err *e);
/* 1 when it is ours now, 0 when it was claimed before. */
int folder_claim(const char *dir, const char *id, const char *who,
                 struct err *e);
void folder_unclaim(const char *dir, const char *id);

#endif
