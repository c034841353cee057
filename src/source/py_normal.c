/* py_normal.c: hashes a program so that copies get the same hash. */
#include "source/py_normal.h"

#include "base/buf.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LOOP_TOKENS 32 /* between "for" and "in": the source is foreign */

/* A string that is a statement of its own. */
static bool is_docstring(const struct py_tokens *t, size_t i)
{
    enum py_kind before;

    if (t->tok[i].kind != PY_STRING || t->tok[i + 1].kind != PY_NEWLINE)
        return false;
    before = i ? t->tok[i - 1].kind : PY_NEWLINE;
    return before == PY_NEWLINE || before == PY_INDENT || before == PY_DEDENT;
}

static void normal_put_token(struct buf *b, const struct py_token *k)
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
            normal_put_token(&b, &t->tok[i]);
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

/* ---- without names ---- */

/* The names that a program gives to values, numbered by first appearance. */
struct naming {
    const struct py_tokens *t;
    struct map bound;    /* a name: its number, from 1 */
    struct map imported; /* these keep their names */
    bool *nested;        /* of each token: within brackets, but not the name
                            of an argument in a def */
};

static bool follows(const struct naming *n, size_t i, const char *const *any)
{
    for (; i && *any; any++)
        if (py_is(&n->t->tok[i - 1], *any))
            return true;
    return false;
}

static void bind_name(struct naming *n, size_t i)
{
    struct str name = n->t->tok[i].text;

    if (!map_get(&n->bound, name) && !map_get(&n->imported, name))
        map_set(&n->bound, name, (void *)(uintptr_t)(n->bound.len + 1));
}

/* def f(a, b=1, *c): the bracket is at `open`. */
static void bind_arguments(struct naming *n, size_t open)
{
    static const char *const before[] = {"(", ",", "*", "**", NULL};
    const struct py_token *tok = n->t->tok;

    for (size_t i = open + 1; i < tok[open].match; i++) {
        if (tok[i].kind == PY_OP && tok[i].match > i) {
            i = tok[i].match;
        } else if (tok[i].kind == PY_NAME && follows(n, i, before)) {
            n->nested[i] = false;
            bind_name(n, i);
        }
    }
}

/* a, b = …: what stands before the sign. */
static void bind_targets(struct naming *n, size_t start, size_t sign)
{
    static const char *const part[] = {".", ":", NULL};
    const struct py_token *tok = n->t->tok;

    for (size_t i = start; i < sign; i++) {
        if (tok[i].kind == PY_OP && tok[i].match > i)
            i = tok[i].match;
        else if (tok[i].kind == PY_NAME && !follows(n, i, part) &&
                 (py_is(&tok[i + 1], ",") || py_is(&tok[i + 1], "=") ||
                  py_is(&tok[i + 1], ":")))
            bind_name(n, i);
    }
}

static void bind_loop(struct naming *n, size_t i)
{
    const struct py_token *tok = n->t->tok;

    for (size_t end = i + LOOP_TOKENS;
         ++i < n->t->len && i < end && !py_is(&tok[i], "in");)
        if (tok[i].kind == PY_NAME)
            bind_name(n, i);
}

static bool ends_statement(const struct py_token *k)
{
    return k->kind == PY_NEWLINE || k->kind == PY_INDENT ||
           k->kind == PY_DEDENT || py_is(k, ";");
}

static void find_imports(struct naming *n)
{
    bool inside = false;

    for (size_t i = 0; i < n->t->len; i++) {
        const struct py_token *k = &n->t->tok[i];

        if (ends_statement(k))
            inside = false;
        else if (py_is(k, "import"))
            inside = true;
        else if (inside && k->kind == PY_NAME)
            map_set(&n->imported, k->text, n);
    }
}

static void find_names(struct naming *n)
{
    const struct py_token *tok = n->t->tok;
    size_t start = 0, depth = 0;

    find_imports(n);
    for (size_t i = 0; i < n->t->len; i++) {
        if (tok[i].kind == PY_OP && tok[i].match)
            depth = tok[i].match > i ? depth + 1 : depth - (depth > 0);
        n->nested[i] = depth > 0;
    }
    for (size_t i = 0; i + 2 < n->t->len; i++) {
        const struct py_token *k = &tok[i];

        if (ends_statement(k)) {
            start = i + 1;
        } else if (py_is(k, "def") && py_is(&tok[i + 2], "(")) {
            bind_arguments(n, i + 2);
        } else if (py_is(k, "for")) {
            bind_loop(n, i);
        } else if (py_is(k, "=") && !n->nested[i]) {
            bind_targets(n, start, i);
            start = i + 1;
        }
    }
}

/* A name that stands for a value: no attribute, no keyword of a call. */
static uintptr_t normal_number_of(const struct naming *n, size_t i)
{
    static const char *const dot[] = {".", NULL};
    static const char *const call[] = {"(", ",", NULL};
    const struct py_token *tok = n->t->tok;

    if (tok[i].kind != PY_NAME || follows(n, i, dot) ||
        (n->nested[i] && py_is(&tok[i + 1], "=") && follows(n, i, call)))
        return 0;
    return (uintptr_t)map_get(&n->bound, tok[i].text);
}

static void hash_renamed(const struct py_tokens *t, struct arena *a,
                         char hash[HASH_HEX])
{
    struct naming n = {.t = t, .nested = arena_alloc(a, t->len * sizeof(bool))};
    struct buf b;

    map_init(&n.bound);
    map_init(&n.imported);
    find_names(&n);
    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i + 1 < t->len; i++) {
        uintptr_t number = normal_number_of(&n, i);

        if (number)
            buf_printf(&b, "$%zu ", (size_t)number);
        else if (t->tok[i].kind != PY_NEWLINE && !is_docstring(t, i))
            normal_put_token(&b, &t->tok[i]);
    }
    hash_hex(b.data, b.len, hash);
    buf_release(&b);
    map_release(&n.bound);
    map_release(&n.imported);
}

void py_normal_hash_renamed(struct str code, char hash[HASH_HEX])
{
    struct py_tokens t;
    struct arena a;

    arena_init(&a);
    py_lex(&t, code, &a);
    if (t.problem.id)
        hash_hex(code.p, code.n, hash);
    else
        hash_renamed(&t, &a, hash);
    arena_release(&a);
}
