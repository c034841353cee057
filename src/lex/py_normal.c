/* py_normal.c: the hash that copies of one program share. */
#include "lex/py_normal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool py_is_docstring(const struct py_tokens *t, size_t i)
{
    enum py_kind before = i ? t->tok[i - 1].kind : PY_NEWLINE;

    return t->tok[i].kind == PY_STRING && t->tok[i + 1].kind == PY_NEWLINE &&
           (before == PY_NEWLINE || before == PY_INDENT || before == PY_DEDENT);
}

/* Adds the token to the normal text; nothing but `n` when `out` is
 * NULL. */
static void put_token(char *out, size_t *n, const struct py_token *k)
{
    if (k->kind == PY_INDENT || k->kind == PY_DEDENT) {
        if (out)
            out[*n] = k->kind == PY_INDENT ? '{' : '}';
        ++*n;
    }
    if (out) {
        memcpy(out + *n, k->text.p, k->text.n);
        out[*n + k->text.n] = ' ';
    }
    *n += k->text.n + 1;
}

/* Writes the normal text, or only says how long it is. */
static size_t put_tokens(char *out, const struct py_tokens *t)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < t->len; i++)
        if (t->tok[i].kind != PY_NEWLINE && !py_is_docstring(t, i))
            put_token(out, &n, &t->tok[i]);
    return n;
}

/* Gathered first: many small pieces are slow to hash. */
void py_normal_hash_tokens(const struct py_tokens *t, char hash[HASH_HEX])
{
    size_t n = put_tokens(NULL, t);
    char *text = xmalloc(n + 1);

    put_tokens(text, t);
    hash_hex(text, n, hash);
    free(text);
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
