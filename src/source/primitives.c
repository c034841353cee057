/* primitives.c: Python names by their imports, calls in programs within
 * strings. */
#include "source/primitives.h"

#include "source/cxx_lex.h"
#include "source/py_lex.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static void primitives_add(struct map *set, const char *name)
{
    map_set(set, str_of(name), set);
}

/* ---- Python ---- */

/* Modules whose names say nothing about a kernel language. */
static const char plain_modules[] =
    "torch math typing functools os sys dataclasses numpy itertools "
    "enum re time collections hashlib warnings operator ctypes "
    "textwrap contextlib abc copy struct json __future__";

static struct str first_part(const char *dotted)
{
    return (struct str){dotted, strcspn(dotted, ".")};
}

/* Its last two parts. */
static const char *primitives_short_name(const char *full)
{
    const char *dot = strrchr(full, '.');

    while (dot && dot > full && dot[-1] != '.')
        dot--;
    return dot && dot > full ? dot : full;
}

/* What an import makes known; of `from a import b`, only the use of b tells
 * whether it is a module. */
struct alias {
    const char *full;
    bool module;
};

static void put_alias(struct map *aliases, struct str local, const char *full,
                      bool module, struct arena *a)
{
    struct alias *x = arena_alloc(a, sizeof(*x));

    *x = (struct alias){full, module};
    if (!str_in(first_part(full), plain_modules))
        map_set(aliases, local, x);
}

/* The names after `import`, up to the end of the statement. */
static void primitives_read_imported(const struct py_token *tok, size_t i,
                                     const char *module, struct map *aliases,
                                     struct arena *a)
{
    if (py_is(&tok[i], "("))
        i++;
    while (tok[i].kind == PY_NAME) {
        struct str local = tok[i].text;
        const char *full = py_dotted(tok, &i, a);
        bool as = py_is(&tok[i], "as") && tok[i + 1].kind == PY_NAME;

        if (as) {
            local = tok[i + 1].text;
            i += 2;
        } else if (!module) { /* `import a.b` binds a */
            full = arena_strndup(a, local.p, local.n);
        }
        if (module)
            full = arena_printf(a, "%s.%s", module, full);
        put_alias(aliases, local, full, !module, a);
        i += py_is(&tok[i], ",");
    }
}

static void read_imports(const struct py_tokens *t, struct map *aliases,
                         struct arena *a)
{
    for (size_t i = 0; i + 2 < t->len; i++) {
        const struct py_token *tok = t->tok;
        const char *module = NULL;

        if (i > 0 && tok[i - 1].kind != PY_NEWLINE &&
            tok[i - 1].kind != PY_INDENT && tok[i - 1].kind != PY_DEDENT)
            continue;
        if (py_is(&tok[i], "from") && tok[i + 1].kind == PY_NAME) {
            i++;
            module = py_dotted(tok, &i, a);
        }
        if (py_is(&tok[i], "import"))
            primitives_read_imported(tok, i + 1, module, aliases, a);
    }
}

/* What is called is none. */
static bool is_module(const char *full, const struct py_token *next,
                      const struct map *aliases)
{
    for (size_t i = 0; !py_is(next, "(") && i < aliases->len; i++) {
        const struct alias *x = aliases->items[i].value;

        if (x->module && strcmp(x->full, full) == 0)
            return true;
    }
    return false;
}

/* "T.reduce_*" stands for several names. */
static bool is_wildcard(const struct py_token *tok, size_t i)
{
    return tok[i].text.p[tok[i].text.n - 1] == '_' && py_is(&tok[i + 1], "*");
}

/* A name that an import made known, with its attributes. */
static void read_name(const struct py_token *tok, size_t i,
                      const struct map *aliases, struct map *set,
                      struct arena *a)
{
    struct alias *alias = map_get(aliases, tok[i].text);
    const char *full = alias ? alias->full : NULL;

    if (!full ||
        (i > 0 && (py_is(&tok[i - 1], ".") || py_is(&tok[i - 1], "import") ||
                   py_is(&tok[i - 1], "as") || py_is(&tok[i - 1], "from"))))
        return;
    for (; py_is(&tok[i + 1], ".") && tok[i + 2].kind == PY_NAME; i += 2) {
        alias->module = true;
        full = arena_printf(a, "%s.%.*s", full, (int)tok[i + 2].text.n,
                            tok[i + 2].text.p);
    }
    if (strchr(full, '.') && !is_module(full, &tok[i + 1], aliases) &&
        !is_wildcard(tok, i))
        primitives_add(set, primitives_short_name(full));
}

/* ---- programs within strings ---- */

static const char control_words[] =
    "if for while switch return sizeof catch else case throw defined "
    "do and or not in decltype alignof new goto template struct class "
    "typename asm static_assert alignas constexpr volatile float int "
    "double bool char long unsigned reinterpret_cast static_cast "
    "const_cast ModelNew Model forward super range len __init__";

static bool is_op(const struct cxx_tokens *t, size_t i, const char *op)
{
    return i < t->len && t->tok[i].kind == CXX_OP && str_eq(t->tok[i].text, op);
}

/* The place behind the bracket that closes the one at i, or 0. */
static size_t primitives_behind(const struct cxx_tokens *t, size_t i,
                                const char *open, const char *close)
{
    int depth = 0;

    for (size_t k = i; k < t->len && k < i + 400; k++) {
        depth += is_op(t, k, open);
        if (is_op(t, k, close) && --depth == 0)
            return k + 1;
    }
    return 0;
}

/* The place behind template arguments that begin at i, or 0: `a < b` is none. */
static size_t behind_arguments(const struct cxx_tokens *t, size_t i)
{
    int depth = 0;

    for (size_t k = i; k < t->len && k < i + 60; k++) {
        const struct cxx_token *x = &t->tok[k];

        if (x->kind == CXX_DIRECTIVE || x->kind == CXX_STRING)
            return 0;
        if (x->kind != CXX_OP)
            continue;
        depth += is_op(t, k, "<");
        if (is_op(t, k, ">") || is_op(t, k, ">>")) {
            depth -= (int)x->text.n;
            if (depth <= 0)
                return k + 1;
        } else if (!strchr("<,:+-*/%()", x->text.p[0]) || is_op(t, k, "<<") ||
                   is_op(t, k, "<=")) {
            return 0;
        }
    }
    return 0;
}

/* Whether the call at i, with its arguments from `open`, defines the name. Of
 * these, two are true: a word stands before it, an argument has a type, a body
 * follows. */
static bool is_definition(const struct cxx_tokens *t, size_t i, size_t open)
{
    size_t end = primitives_behind(t, open, "(", ")");
    bool word = i > 0 && t->tok[i - 1].kind == CXX_NAME &&
                !str_in(t->tok[i - 1].text, control_words),
         typed = false, body = is_op(t, end, "{");

    for (size_t k = open + 1; k + 1 < end; k++)
        typed |= t->tok[k].kind == CXX_NAME && t->tok[k + 1].kind == CXX_NAME;
    return end && word + typed + body >= 2;
}

static bool is_type_definition(const struct cxx_tokens *t, size_t i)
{
    static const char words[] = "struct class using namespace typename";

    return i > 0 && str_in(t->tok[i - 1].text, words);
}

/* Where the arguments of a call of the name at i begin, or 0; *named: the name
 * has template arguments. */
static size_t call_at(const struct cxx_tokens *t, size_t i, bool *named)
{
    size_t next = i + 1, after;

    *named = false;
    if (is_op(t, next, "["))
        next = primitives_behind(t, next, "[", "]");
    else if (is_op(t, next, "<")) {
        after = behind_arguments(t, next);
        *named = after != 0;
        next = after ? after : next;
    }
    return next && is_op(t, next, "(") ? next : 0;
}

/* warp::load, at its last name. */
static const char *qualified(const struct cxx_tokens *t, size_t i,
                             struct arena *a)
{
    const char *name = arena_strndup(a, t->tok[i].text.p, t->tok[i].text.n);

    for (; i >= 2 && is_op(t, i - 1, "::") && t->tok[i - 2].kind == CXX_NAME;
         i -= 2)
        name = arena_printf(a, "%.*s::%s", (int)t->tok[i - 2].text.n,
                            t->tok[i - 2].text.p, name);
    return name;
}

static void primitives_read_program(struct str text, struct map *set,
                                    struct arena *a)
{
    struct cxx_tokens t;
    struct map defined = {0};

    cxx_lex(&t, text, a);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t.len; i++) {
            const struct cxx_token *k = &t.tok[i];
            bool named, method = i > 0 && (is_op(&t, i - 1, ".") ||
                                           is_op(&t, i - 1, "->"));
            size_t open;

            if (k->kind != CXX_NAME || method || str_in(k->text, control_words))
                continue;
            open = call_at(&t, i, &named);
            if (pass == 0 && (is_type_definition(&t, i) ||
                              (open && is_definition(&t, i, open))))
                map_set(&defined, k->text, set);
            if (pass == 1 && (open || named) && !map_get(&defined, k->text))
                primitives_add(set, qualified(&t, i, a));
        }
    map_release(&defined);
}

/* A string that is not a statement of its own, and has lines. */
static bool is_program(const struct py_tokens *t, size_t i)
{
    const struct py_token *k = &t->tok[i];

    return k->kind == PY_STRING && i > 0 && t->tok[i - 1].kind == PY_OP &&
           memchr(k->text.p, '\n', k->text.n) != NULL;
}

bool primitives_of(struct str code, struct map *set, struct map *aliases,
                   struct arena *a)
{
    struct py_tokens t;
    struct map own = {0};
    bool inside = false;

    py_lex(&t, code, a);
    if (!aliases)
        aliases = &own;
    read_imports(&t, aliases, a);
    for (size_t i = 0; i + 1 < t.len; i++) {
        const struct py_token *k = &t.tok[i];

        if (k->kind == PY_NAME)
            read_name(t.tok, i, aliases, set, a);
        if (is_program(&t, i)) {
            inside = true;
            primitives_read_program(
                (struct str){code.p + k->body_at, k->body_len}, set, a);
        }
    }
    map_release(&own);
    return inside;
}

/* ---- texts ---- */

static void read_span(struct str span, const struct map *aliases, bool inside,
                      struct map *set, struct arena *a)
{
    struct py_tokens t;

    py_lex(&t, span, a);
    for (size_t i = 0; i + 1 < t.len; i++)
        if (t.tok[i].kind == PY_NAME)
            read_name(t.tok, i, aliases, set, a);
    if (inside)
        primitives_read_program(span, set, a);
}

/* A block of code may be a whole file, with a program in a string. */
static void read_block(struct str block, const struct map *aliases, bool inside,
                       struct map *set, struct arena *a)
{
    struct map own = {0};

    if (!primitives_of(block, set, &own, a))
        read_span(block, aliases, inside && own.len == 0, set, a);
    map_release(&own);
}

void primitives_in_text(struct str text, const struct map *aliases, bool inside,
                        struct map *set, struct arena *a)
{
    for (size_t i = 0; i < text.n;) {
        size_t ticks = 0, end;

        while (i + ticks < text.n && text.p[i + ticks] == '`')
            ticks++;
        if (!ticks) {
            i++;
            continue;
        }
        i += ticks;
        for (end = i; end + ticks <= text.n &&
                      memcmp(text.p + end, text.p + i - ticks, ticks) != 0;)
            end++;
        if (end + ticks > text.n)
            return;
        if (ticks >= 3) { /* its first line names the language */
            while (i < end && text.p[i] != '\n')
                i++;
            read_block((struct str){text.p + i, end - i}, aliases, inside, set,
                       a);
        } else {
            read_span((struct str){text.p + i, end - i}, aliases, inside, set,
                      a);
        }
        i = end + ticks;
    }
}

static bool primitives_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool primitives_mentioned(struct str text, const char *name)
{
    const char *last = name + strlen(name);
    size_t n;

    while (last > name && primitives_is_word(last[-1]))
        last--;
    n = strlen(last);
    for (size_t i = 0; n && i + n <= text.n; i++) {
        char before = i ? text.p[i - 1] : '\n',
             after = i + n < text.n ? text.p[i + n] : '\n';

        if (strncasecmp(text.p + i, last, n) == 0 &&
            !primitives_is_word(before) && !primitives_is_word(after) &&
            (strchr(".:`", before) || strchr("([<`", after)))
            return true;
    }
    return false;
}
