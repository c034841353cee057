/* py_normal.c: the hash that copies of one program share. */
#include "lex/py_normal.h"

bool py_is_docstring(const struct py_tokens *t, size_t i)
{
    enum py_kind before = i ? t->tok[i - 1].kind : PY_NEWLINE;

    return t->tok[i].kind == PY_STRING && t->tok[i + 1].kind == PY_NEWLINE &&
           (before == PY_NEWLINE || before == PY_INDENT || before == PY_DEDENT);
}

static void hash_tokens(const struct py_tokens *t, char out[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    for (size_t i = 0; i + 1 < t->len; i++) {
        const struct py_token *k = &t->tok[i];

        if (k->kind == PY_NEWLINE || py_is_docstring(t, i))
            continue;
        if (k->kind == PY_INDENT || k->kind == PY_DEDENT)
            hash_add(&h, k->kind == PY_INDENT ? "{" : "}", 1);
        hash_add(&h, k->text.p, k->text.n);
        hash_add(&h, " ", 1);
    }
    hash_finish_hex(&h, out);
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
        hash_tokens(&t, hash);
    arena_release(&a);
}
