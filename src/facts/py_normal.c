/* py_normal.c: hashes a program so that copies get the same hash. */
#include "facts/py_normal.h"

#include "base/buf.h"

#include <stdbool.h>
#include <string.h>

/* A string that is a statement of its own. */
static bool is_docstring(const struct py_tokens *t, size_t i)
{
    enum py_kind before;

    if (t->tok[i].kind != PY_STRING || t->tok[i + 1].kind != PY_NEWLINE)
        return false;
    before = i ? t->tok[i - 1].kind : PY_NEWLINE;
    return before == PY_NEWLINE || before == PY_INDENT || before == PY_DEDENT;
}

static void put_token(struct buf *b, const struct py_token *k)
{
    if (k->kind == PY_INDENT || k->kind == PY_DEDENT)
        buf_putc(b, k->kind == PY_INDENT ? '{' : '}');
    buf_put(b, k->text.p, k->text.n);
    buf_putc(b, ' ');
}

void py_normal_hash_tokens(const struct py_tokens *t, char hash[HASH_HEX])
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i + 1 < t->len; i++)
        if (t->tok[i].kind != PY_NEWLINE && !is_docstring(t, i))
            put_token(&b, &t->tok[i]);
    hash_hex(b.data, b.len, hash);
    buf_release(&b);
}

void py_normal_hash(struct str code, char hash[HASH_HEX])
{
    struct py_tokens t;
    struct arena a;

    arena_init(&a);
    py_lex(&t, code, &a);
    if (t.problem.id)
        hash_hex(code.p, code.n, hash);
    else
        py_normal_hash_tokens(&t, hash);
    arena_release(&a);
}
