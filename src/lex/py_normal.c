/* py_normal.c: the hash that copies of one program share. */
#include "lex/py_normal.h"

#include <stdbool.h>
#include <string.h>

/* A string that stands alone as a statement. */
static bool is_docstring(const struct py_tokens *t, size_t i)
{
    enum py_kind before;

    if (t->tok[i].kind != PY_STRING || t->tok[i + 1].kind != PY_NEWLINE)
        return false;
    before = i ? t->tok[i - 1].kind : PY_NEWLINE;
    return before == PY_NEWLINE || before == PY_INDENT || before == PY_DEDENT;
}

/* Text on its way to the hash: many small pieces are slow to hash. */
struct gathered {
    struct hash h;
    size_t n;
    char text[4096];
};

static void drain(struct gathered *g)
{
    hash_add(&g->h, g->text, g->n);
    g->n = 0;
}

static void put_token(struct gathered *g, const struct py_token *k)
{
    size_t n = k->text.n;

    if (n + 2 > sizeof(g->text) - g->n)
        drain(g);
    if (k->kind == PY_INDENT || k->kind == PY_DEDENT)
        g->text[g->n++] = k->kind == PY_INDENT ? '{' : '}';
    if (n + 2 > sizeof(g->text)) { /* a long string */
        drain(g);
        hash_add(&g->h, k->text.p, n);
    } else {
        memcpy(g->text + g->n, k->text.p, n);
        g->n += n;
    }
    g->text[g->n++] = ' ';
}

void py_normal_hash_tokens(const struct py_tokens *t, char hash[HASH_HEX])
{
    struct gathered g;

    g.n = 0;
    hash_init(&g.h);
    for (size_t i = 0; i + 1 < t->len; i++)
        if (t->tok[i].kind != PY_NEWLINE && !is_docstring(t, i))
            put_token(&g, &t->tok[i]);
    drain(&g);
    hash_finish_hex(&g.h, hash);
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
