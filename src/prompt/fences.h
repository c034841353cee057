/* fences.h: the shape of a reply: thoughts, fenced blocks, lines. Private to
 * src/prompt. */
#ifndef PROMPT_FENCES_H
#define PROMPT_FENCES_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* What the model said when it had done thinking: the text behind the last
 * </think>, up to a <think> that begins a line and is not closed. */
struct str reply_answer(struct str reply);

/* A copy with LF line ends and no byte order mark. */
struct str reply_plain(struct str reply, struct arena *a);

/* A line that may open or close a fenced block. */
struct fence {
    struct str line;    /* without its line end */
    const char *next;   /* start of the line behind it */
    size_t indent, run; /* blanks before it, length of ``` or ~~~ */
    char mark;
    bool bare; /* nothing behind the run: it can close */
};
/* All of them, in order; in `a`. */
struct fence *fence_lines(struct str text, size_t *count, struct arena *a);
/* Whether `b` closes what `a` opened. */
bool fence_closes(const struct fence *a, const struct fence *b);

#endif
