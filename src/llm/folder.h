/* folder.h: the folder of the provider `spool`, as both sides see it:
 *
 *   requests/ID.json   what is asked
 *   claims/ID          made with O_EXCL by who answers it
 *   answers/ID.json    or ID.txt: the answer, renamed into place
 *
 * Nothing in it is ever removed by reading it. docs/MODELS.md has the formats. */
#ifndef LLM_FOLDER_H
#define LLM_FOLDER_H

#include "base/err.h"
#include "llm/doc.h"
#include "llm/request.h"

#include <jansson.h>
#include <stdbool.h>

int folder_make(const char *dir, struct err *e); /* what is missing of it */
/* "DIR/sub/ID" and the suffix; the caller frees. */
char *folder_path(const char *dir, const char *sub, const char *id,
                  const char *suffix);
bool folder_has_answer(const char *dir, const char *id);

/* 1 with an answer (the caller releases it), 0 when there is none yet, -1 when
 * there is one that is not valid, with what is wrong with it. A file that
 * somebody still writes to is none yet. */
int folder_answer(const char *dir, const char *id, struct doc *out,
                  struct err *e);
int folder_put_answer(const char *dir, const char *id,
                      const struct send_result *r, struct err *e);
/* 1 when it is ours now, 0 when somebody has it. */
int folder_claim(const char *dir, const char *id, const char *who,
                 struct err *e);
void folder_unclaim(const char *dir, const char *id);

#endif
