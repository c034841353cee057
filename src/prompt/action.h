/* action.h: what a model asks for while it works through documents: a JSON
 * object in its reply, or a list of them. A reply is foreign text. */
#ifndef PROMPT_ACTION_H
#define PROMPT_ACTION_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stddef.h>

enum action_kind {
    ACTION_LIST,  /* the manifest of a document */
    ACTION_PEEK,  /* some lines */
    ACTION_GREP,  /* the lines that a pattern matches */
    ACTION_ASK,   /* a question about a span, for a reader of its own */
    ACTION_FINAL, /* the answer */
};
extern const char *const action_names[5];

/* Borrowed from the list. */
struct action {
    enum action_kind kind;
    const char *document; /* "" where it names none */
    size_t from, to;      /* lines; 0: not said */
    const char *text;     /* the pattern, the question, the answer */
};

#define ACTIONS 16 /* in one reply */

struct actions {
    struct action item[ACTIONS];
    size_t len;
    json_t *json; /* owns the texts, */
    char *plain;  /* or this does */
};

/* -1 with an error that the model can act on. Release in any case. A final
 * action stands alone; a long answer may follow the line FINAL as plain text
 * instead. */
int actions_read(struct str reply, struct actions *out, struct err *e);
void actions_release(struct actions *a);

#endif
