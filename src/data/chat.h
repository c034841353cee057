/* chat.h: a conversation as the model sees it, and how many tokens that is.
 *
 * Each message is "<|im_start|>ROLE\nCONTENT<|im_end|>\n": five tokens besides its
 * content, which is tokenised together with the line end before it. The template of
 * Qwen3's hybrid models puts an empty block of thoughts ("<think>\n\n</think>\n\n",
 * four tokens) before a last answer that has none, and removes the thoughts of
 * answers before the last question. */
#ifndef DATA_CHAT_H
#define DATA_CHAT_H

#include "base/buf.h"
#include "base/err.h"
#include "data/tokenizer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct chat_message {
    struct str role; /* system, user or assistant */
    struct str content;
};

struct chat_template {
    const char *name;
    bool thinks; /* a last answer begins with a block of thoughts */
};

/* "qwen3", "qwen3-instruct"; NULL: there is none of that name. */
const struct chat_template *chat_template_find(const char *name);

/* Appends the text. With `ask`, the start of the answer to come follows. */
void chat_render(const struct chat_template *t, const struct chat_message *m,
                 size_t n, bool ask, struct buf *out);
size_t chat_count(const struct chat_template *t, struct tokenizer *tokenizer,
                  const struct chat_message *m, size_t n, bool ask);

/* The messages of {"messages": […]}, or of {"prompt": […], "completion": […]}; they
 * borrow from `object`. The caller frees *out. What is wrong is ERR_INPUT. */
int chat_messages(const json_t *object, struct chat_message **out, size_t *n,
                  struct err *e);

#endif
