/* form.c: builds forms from tokens and lines. */
#include "source/form.h"

#include "source/place.h"

#include <string.h>

const char *const form_names[FORM_KINDS] = {
    [FORM_CODE] = "code",
    [FORM_ALL] = "all",
    [FORM_CUT] = "cut",
};

/* ---- making a form --------------------------------------------------------- */

/* The output, and the source offset shared by all bytes of one put. Initialise
 * with {.a = arena}. */
struct form_out {
    struct arena *a;
    char *data;
    uint32_t *origin;
    size_t len, cap;
};

static void form_grow(struct form_out *o, size_t need)
{
    size_t cap = o->cap ? o->cap : 256;
    char *data;
    uint32_t *origin;

    while (cap < need)
        cap *= 2;
    data = arena_alloc_raw(o->a, cap);
    origin = arena_alloc_raw(o->a, cap * sizeof(*origin));
    if (o->len) {
        memcpy(data, o->data, o->len);
        memcpy(origin, o->origin, o->len * sizeof(*origin));
    }
    o->data = data;
    o->origin = origin;
    o->cap = cap;
}

static void form_put(struct form_out *o, const char *p, size_t n,
                     uint32_t origin)
{
    char *data;
    uint32_t *from;

    if (n >= o->cap - o->len) /* leave one byte for the NUL */
        form_grow(o, o->len + n + 1);
    data = o->data + o->len;
    from = o->origin + o->len;
    for (size_t i = 0; i < n; i++) {
        data[i] = p[i];
        from[i] = origin;
    }
    o->len += n;
}

static void done(struct form *v, struct form_out *o)
{
    form_put(o, "", 0, 0);
    o->data[o->len] = '\0';
    *v = (struct form){.data = o->data, .len = o->len, .origin = o->origin};
}

/* ---- code ------------------------------------------------------------------ */

static bool form_is_word(const struct py_token *t)
{
    return t->kind == PY_NAME || t->kind == PY_NUMBER;
}

static bool is_field(const struct py_token *t, const char *text)
{
    return t->flags & PY_FIELD && py_is(t, text);
}

/* A field's expression ends at the first ':' or '}'. Its format spec is text,
 * and the fields in it get their own parentheses. */
static const char *field_text(const struct py_token *t)
{
    bool spec = t[-1].kind == PY_FTEXT || is_field(&t[-1], ":") ||
                is_field(&t[-1], "}");

    if (py_is(t, "{"))
        return "(";
    if (py_is(t, ":") || (py_is(t, "}") && !spec))
        return ")";
    return "";
}

static void form_put_token(struct form_out *o, const struct py_token *t)
{
    switch (t->kind) {
    case PY_STRING:
    case PY_FSTART:
        form_put(o, "\"\"", 2, t->at);
        break;
    case PY_NEWLINE:
        form_put(o, "\n", 1, t->at);
        break;
    case PY_NAME:
    case PY_NUMBER:
        form_put(o, t->text.p, t->text.n, t->at);
        break;
    case PY_OP:
        if (t->flags & PY_FIELD)
            form_put(o, field_text(t), strlen(field_text(t)), t->at);
        else
            form_put(o, t->text.p, t->text.n, t->at);
        break;
    default:
        break;
    }
}

void form_code(struct form *v, const struct py_tokens *t, struct arena *a)
{
    struct form_out o = {.a = a};
    size_t level = 0;
    bool fresh = true; /* at the start of a line */

    for (size_t i = 0; i < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        if (k->kind == PY_INDENT)
            level++;
        else if (k->kind == PY_DEDENT)
            level--;
        if (k->kind >= PY_INDENT)
            continue;
        if (i && is_field(k - 1, "!") && k->kind == PY_NAME)
            continue; /* the r of "!r" */
        for (size_t n = 0; fresh && n < level; n++)
            form_put(&o, "    ", 4, k->at);
        if (!fresh && form_is_word(k) && form_is_word(k - 1))
            form_put(&o, " ", 1, k->at);
        form_put_token(&o, k);
        fresh = k->kind == PY_NEWLINE;
    }
    done(v, &o);
}

/* ---- all and cut ----------------------------------------------------------- */

void form_all(struct form *v, struct str src)
{
    *v = (struct form){.data = (char *)src.p, .len = src.n};
}

/* Offset of the first `what` in src[at, end), or `end`. */
static size_t form_find(struct str src, size_t at, size_t end, const char *what)
{
    const char *p =
        end > at ? memmem(src.p + at, end - at, what, strlen(what)) : NULL;

    return p ? (size_t)(p - src.p) : end;
}

void form_cut(struct form *v, struct str src, struct arena *a)
{
    struct form_out o = {.a = a};
    size_t at = 0;

    while (at < src.n) {
        size_t end = at, cut;

        while (end < src.n && !place_line_end(src, end))
            end++;
        cut = form_find(src, at, form_find(src, at, end, "#"), "//");
        for (; at < cut; at++)
            form_put(&o, src.p + at, 1, (uint32_t)at);
        if (end < src.n)
            form_put(&o, "\n", 1, (uint32_t)end);
        at = end + place_line_end(src, end);
    }
    done(v, &o);
}
