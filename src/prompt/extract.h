/* extract.h: the program in a reply. A reply is foreign text: fenced or not,
 * with several blocks, thoughts, CRLF, cut in the middle. */
#ifndef PROMPT_EXTRACT_H
#define PROMPT_EXTRACT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>

enum extract_outcome {
    EXTRACT_CODE,
    EXTRACT_NO_CODE,   /* the verdict no_code */
    EXTRACT_TRUNCATED, /* the reply was cut and holds no whole program */
    EXTRACT_UNMATCHED, /* a SEARCH block that is not in the parent */
};

/* The last complete block that is Python and binds `must_define` as a class
 * (the pack's prompt.must_define); `cut` when the provider stopped at its
 * token limit. `code` gets the program with LF line ends; otherwise `feedback`
 * gets what to tell the model, a few lines. Both are appended to: a program is
 * at most PY_MAX_BYTES (py_lex.h) long, and `code` must have room for that.
 * `normal` gets the program's py_normal_hash(), which is nearly free here; NULL:
 * nobody asks. */
enum extract_outcome extract_code(struct str reply, const char *must_define,
                                  bool cut, struct buf *code,
                                  struct buf *feedback, char *normal);
/* The same for an answer in SEARCH/REPLACE blocks against `parent`; a reply
 * with a whole program instead of blocks is taken as that. */
enum extract_outcome extract_diff(struct str reply, struct str parent,
                                  const char *must_define, bool cut,
                                  struct buf *code, struct buf *feedback);
/* The plan in a reply: all of it but thoughts, trimmed; borrowed. */
struct str extract_plan(struct str reply);
/* The JSON object or list in a reply (a new reference), or NULL with why. */
json_t *extract_json(struct str reply, struct err *e);

#endif
