/* fuzz_py_lex.c: whatever the bytes, the Python lexer's tokens are in order, in
 * bounds, matched and balanced, and the forms lead back into the source. */
#include "source/form.h"
#include "source/place.h"
#include "source/py_lex.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_order(const struct py_tokens *t, size_t size)
{
    size_t end = 0, line = 1;

    require(t->len > 0 && t->tok[t->len - 1].kind == PY_END);
    for (size_t i = 0; i < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        require(k->at >= end && k->len <= size - k->at);
        require(k->line >= line && k->column >= 1);
        require(k->kind != PY_END || i + 1 == t->len);
        if (k->kind == PY_STRING)
            require(k->body_at > k->at &&
                    k->body_at + k->body_len < k->at + k->len);
        end = k->at + k->len;
        line = k->line;
    }
}

static bool opens(const struct py_token *k)
{
    return k->kind == PY_FSTART || py_is(k, "(") || py_is(k, "[") ||
           py_is(k, "{");
}

static bool closes(const struct py_token *k)
{
    return k->kind == PY_FEND || py_is(k, ")") || py_is(k, "]") ||
           py_is(k, "}");
}

static void check_matches(const struct py_tokens *t)
{
    for (size_t i = 0; i < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        if (opens(k)) {
            require(k->match > i && k->match < t->len);
            if (t->problem.id && k->match == t->len - 1)
                continue; /* left open */
            require(closes(&t->tok[k->match]));
            require(t->tok[k->match].match == i);
        } else if (closes(k)) {
            require(k->match < i && t->tok[k->match].match == i);
        } else {
            require(k->match == 0);
        }
    }
}

static void check_lines(const struct py_tokens *t)
{
    size_t level = 0;

    for (size_t i = 0; i < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        if (k->kind == PY_INDENT)
            level++;
        if (k->kind == PY_DEDENT)
            require(level-- > 0);
        if (k->kind >= PY_NEWLINE && i > 0)
            require(k->kind == PY_NEWLINE ? t->tok[i - 1].kind < PY_NEWLINE
                                          : t->tok[i - 1].kind >= PY_NEWLINE);
    }
    require(level == 0);
}

static void check_problem(const struct py_tokens *t, struct str src)
{
    struct place place;

    if (!t->problem.id)
        return;
    require(t->problem.message && t->problem.at <= src.n);
    place_init(&place, src);
    place_to(&place, src, t->problem.at);
    require(place.line == t->problem.line && place.column == t->problem.column);
}

static void check_form(const struct form *v, struct str src)
{
    require(v->data[v->len] == '\0');
    for (size_t i = 0; i < v->len; i++)
        require(v->origin[i] <= src.n &&
                (!i || v->origin[i] >= v->origin[i - 1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str src = {(const char *)data, size};
    struct py_tokens t;
    struct form v;
    struct arena a = {0};

    py_lex(&t, src, &a);
    check_order(&t, size);
    check_matches(&t);
    check_lines(&t);
    check_problem(&t, src);
    form_code(&v, &t, &a);
    check_form(&v, src);
    require(str_utf8_check(v.data, v.len) == v.len);
    form_cut(&v, src, &a);
    check_form(&v, src);
    arena_release(&a);
    return 0;
}
