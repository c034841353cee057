/* extract_json.c: the JSON in a reply: alone, in a fence, or between words. It
 * is taken as it stands; mending it is a question to the model. */
#include "prompt/extract.h"

#include "prompt/fences.h"

#define MAX_STARTS 64

/* The end of the value that starts at s.p, brackets matched and strings passed
 * over; 0 when it does not end. */
static size_t balanced(struct str s)
{
    bool in_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0)
                return i + 1;
        }
    }
    return 0;
}

static json_t *parse(struct str s, struct err *e)
{
    json_t *v = jsn_parse("reply", s.p, s.n, e);

    if (v && !json_is_object(v) && !json_is_array(v)) {
        json_decref(v);
        err_set(e, ERR_INPUT, "the reply is JSON, but no object or list");
        return NULL;
    }
    return v;
}

/* The largest value among those that stand in the text: "[1]" may be said
 * before the answer is. The error is that of the largest text. */
static json_t *largest(struct str s, struct err *e)
{
    json_t *best = NULL, *v;
    size_t size = 0, wrong = 0, n;
    struct err one;

    for (int starts = 0; s.n && starts < MAX_STARTS; starts++) {
        while (s.n && s.p[0] != '{' && s.p[0] != '[') {
            s.p++;
            s.n--;
        }
        n = balanced(s);
        one = (struct err)ERR_INIT;
        v = n > size ? parse((struct str){s.p, n}, &one) : NULL;
        if (v) {
            if (best)
                json_decref(best);
            best = v;
            size = n;
        } else if (n > wrong && one.kind != ERR_NONE) {
            *e = one;
            wrong = n;
        }
        n = v ? n : s.n > 0;
        s = (struct str){s.p + n, s.n - n};
    }
    if (!best && !wrong)
        err_set(e, ERR_INPUT,
                "the reply holds no complete JSON object or list");
    return best;
}

/* The last fenced block that is JSON, or NULL. */
static json_t *in_fence(struct str text)
{
    struct err ignored = ERR_INIT;
    json_t *v = NULL;
    struct arena a;
    struct fence *f;
    size_t count;

    arena_init(&a);
    f = fence_lines(text, &count, &a);
    for (size_t i = count; !v && i-- > 1;)
        if (fence_closes(&f[i - 1], &f[i]))
            v = parse((struct str){f[i - 1].next,
                                   (size_t)(f[i].line.p - f[i - 1].next)},
                      &ignored);
    arena_release(&a);
    return v;
}

json_t *extract_json(struct str reply, struct err *e)
{
    struct str answer = str_trim(reply_answer(reply));
    struct err ignored = ERR_INIT;
    json_t *v;

    if (!answer.n)
        answer = str_trim(reply);
    v = parse(answer, &ignored);
    if (!v)
        v = in_fence(answer);
    return v ? v : largest(answer, e);
}
