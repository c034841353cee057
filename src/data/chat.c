/* chat.c: the chat templates. */
#include "data/chat.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct chat_template templates[] = {
    {"qwen3", true},
    {"qwen3-instruct", false},
};

const struct chat_template *chat_template_find(const char *name)
{
    for (size_t i = 0; i < sizeof(templates) / sizeof(*templates); i++)
        if (strcmp(templates[i].name, name) == 0)
            return &templates[i];
    return NULL;
}

static struct str strip_start(struct str s)
{
    while (s.n && s.p[0] == '\n') {
        s.p++;
        s.n--;
    }
    return s;
}

static struct str strip_end(struct str s)
{
    while (s.n && s.p[s.n - 1] == '\n')
        s.n--;
    return s;
}

/* What follows the last `mark`; the whole text when it has none. */
static struct str after_last(struct str s, const char *mark)
{
    size_t n = strlen(mark);
    const char *at;

    while ((at = memmem(s.p, s.n, mark, n))) {
        s.n -= (size_t)(at - s.p) + n;
        s.p = at + n;
    }
    return s;
}

/* Takes the thoughts out of an answer. */
static struct str take_thoughts(struct str *content)
{
    const char *end = memmem(content->p, content->n, "</think>", 8);
    struct str thoughts = {"", 0};

    if (!end)
        return thoughts;
    thoughts = (struct str){content->p, (size_t)(end - content->p)};
    thoughts = strip_start(after_last(strip_end(thoughts), "<think>"));
    *content = strip_start(after_last(*content, "</think>"));
    return thoughts;
}

static void put_str(struct buf *out, struct str s)
{
    buf_put(out, s.p, s.n);
}

static void put_answer(struct str content, bool after_question, bool last,
                       struct buf *out)
{
    struct str thoughts = take_thoughts(&content);

    if (after_question && (last || thoughts.n)) {
        buf_puts(out, "<think>\n");
        put_str(out, strip_end(strip_start(thoughts)));
        buf_puts(out, "\n</think>\n\n");
        content = strip_start(content);
    }
    put_str(out, content);
}

void chat_render(const struct chat_template *t, const struct chat_message *m,
                 size_t n, bool ask, struct buf *out)
{
    size_t question = n ? n - 1 : 0; /* the last one */

    while (question > 0 && !str_eq(m[question].role, "user"))
        question--;
    if (n && !str_eq(m[question].role, "user"))
        question = n - 1;
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, "<|im_start|>");
        put_str(out, m[i].role);
        buf_putc(out, '\n');
        if (t->thinks && str_eq(m[i].role, "assistant"))
            put_answer(m[i].content, i > question, i + 1 == n, out);
        else
            put_str(out, m[i].content);
        buf_puts(out, "<|im_end|>\n");
    }
    if (ask)
        buf_puts(out, "<|im_start|>assistant\n");
}

size_t chat_count(const struct chat_template *t, struct tokenizer *tokenizer,
                  const struct chat_message *m, size_t n, bool ask)
{
    struct buf text = BUF_INIT;
    size_t count;

    chat_render(t, m, n, ask, &text);
    count = tokenizer_count(tokenizer, buf_view(&text));
    buf_release(&text);
    return count;
}

static int add_messages(const json_t *list, const char *member,
                        struct chat_message **out, size_t *n, struct err *e)
{
    static const char *const roles[] = {"system", "user", "assistant"};
    size_t i, cap = *n;
    const json_t *item;

    if (!json_is_array(list) || !json_array_size(list))
        return err_set(e, ERR_INPUT,
                       "\"%s\" is not a list of messages: [{\"role\": …, "
                       "\"content\": …}, …]",
                       member);
    json_array_foreach(list, i, item)
    {
        const json_t *role = json_object_get(item, "role"),
                     *content = json_object_get(item, "content");
        bool known = false;

        for (size_t k = 0; k < 3 && json_is_string(role); k++)
            known = known || strcmp(json_string_value(role), roles[k]) == 0;
        if (!known || !json_is_string(content))
            return err_set(e, ERR_INPUT,
                           "message %zu of \"%s\" needs a \"role\" (system, "
                           "user or assistant) and a \"content\", a string",
                           i + 1, member);
        *out = xgrow(*out, &cap, *n, sizeof(**out));
        (*out)[(*n)++] = (struct chat_message){
            {json_string_value(role), json_string_length(role)},
            {json_string_value(content), json_string_length(content)}};
    }
    return 0;
}

int chat_messages(const json_t *object, struct chat_message **out, size_t *n,
                  struct err *e)
{
    const json_t *all = json_object_get(object, "messages"),
                 *prompt = json_object_get(object, "prompt"),
                 *completion = json_object_get(object, "completion");
    int rc;

    *out = NULL;
    *n = 0;
    if (all || !prompt)
        rc = add_messages(all, "messages", out, n, e);
    else
        rc = add_messages(prompt, "prompt", out, n, e) < 0
                 ? -1
                 : add_messages(completion, "completion", out, n, e);
    if (rc < 0) {
        free(*out);
        *out = NULL;
    }
    return rc;
}
