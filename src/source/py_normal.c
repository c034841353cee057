/* py_normal.c: hashes a program so that copies get the same hash, and cuts it down
 * to what a machine reads. */
#include "source/py_normal.h"

#include "base/buf.h"
#include "base/map.h"
#include "source/cxx_lex.h"
#include "source/py_lex.h"

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
    struct buf b = BUF_INIT;

    for (size_t i = 0; i + 1 < t->len; i++)
        if (t->tok[i].kind != PY_NEWLINE && !is_docstring(t, i))
            normal_put_token(&b, &t->tok[i]);
    hash_hex(b.data, b.len, hash);
    buf_release(&b);
}

void py_normal_hash(struct str code, char hash[HASH_HEX])
{
    struct py_tokens t;
    struct arena a = {0};

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
    struct buf b = BUF_INIT;

    find_names(&n);
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
    struct arena a = {0};

    py_lex(&t, code, &a);
    if (t.problem.id)
        hash_hex(code.p, code.n, hash);
    else
        hash_renamed(&t, &a, hash);
    arena_release(&a);
}

/* ---- without what only people read: tokens to drop, then a copy ---- */

enum fate { KEEP, DROP, PASS /* becomes `pass` */ };

/* ---- which tokens go ---- */

struct marking {
    const struct py_tokens *t;
    uint8_t *fate;
    bool *kept; /* for each level: the block keeps a statement */
    size_t level;
    bool start;     /* a statement starts here */
    bool on_line;   /* in a suite on the same line as its colon */
    bool line_kept; /* … that keeps a statement */
    bool compound;  /* the line began with a keyword that takes a suite */
};

static bool has_suite(const struct py_token *k)
{
    return k->kind == PY_NAME &&
           str_in(k->text, "if elif else for while try except finally with def "
                           "class async");
}

/* The end of a statement at i that consists only of strings, including its
 * semicolon, or i. If the next line is indented for no reason, nothing may be
 * dropped. */
static size_t strings_end(const struct py_tokens *t, size_t i)
{
    size_t j = i;

    while (t->tok[j].kind == PY_STRING)
        j++;
    if (j > i && py_is(&t->tok[j], ";"))
        j++;
    else if (t->tok[j].kind != PY_NEWLINE)
        return i;
    return t->tok[j].kind == PY_NEWLINE && t->tok[j + 1].kind == PY_INDENT ? i
                                                                           : j;
}

/* Drops tokens [i, j). A `pass` replaces them if the suite would become
 * empty. */
static void drop_strings(struct marking *m, size_t i, size_t j)
{
    bool last = m->t->tok[j].kind == PY_NEWLINE &&
                (m->on_line || m->t->tok[j + 1].kind == PY_DEDENT);
    bool *kept = m->on_line ? &m->line_kept : &m->kept[m->level];

    memset(m->fate + i, DROP, j - i);
    if (last && !*kept && (m->on_line || m->level)) {
        m->fate[i] = PASS;
        *kept = true;
    }
}

static void begin_statement(struct marking *m, size_t i)
{
    m->start = false;
    if (m->on_line) {
        m->line_kept = true;
    } else {
        m->kept[m->level] = true;
        m->compound = has_suite(&m->t->tok[i]);
    }
}

/* Updates the state for token i; `depth` counts open brackets. */
static void mark_token(struct marking *m, size_t i, int depth)
{
    const struct py_token *k = &m->t->tok[i];

    if (k->kind == PY_INDENT)
        m->kept[++m->level] = false;
    else if (k->kind == PY_DEDENT)
        m->level--;
    if (k->kind >= PY_NEWLINE) {
        m->start = true;
        m->on_line = false;
        return;
    }
    if (m->start)
        begin_statement(m, i);
    if (depth == 0 && py_is(k, ";"))
        m->start = true;
    if (depth == 0 && m->compound && !m->on_line && py_is(k, ":")) {
        m->start = m->on_line = true;
        m->line_kept = false;
    }
}

static void mark_strings(struct marking *m)
{
    const struct py_tokens *t = m->t;
    int depth = 0;

    m->start = true;
    for (size_t i = 0; i + 1 < t->len; i++) {
        const struct py_token *k = &t->tok[i];
        size_t j = m->start ? strings_end(t, i) : i;

        if (j > i) {
            drop_strings(m, i, j);
            i = j - 1;
            continue;
        }
        if (k->match)
            depth += k->match > i ? 1 : -1;
        mark_token(m, i, depth);
    }
}

/* ---- copying ---- */

struct output {
    struct buf *b;
    size_t line;  /* where the current line starts */
    size_t fixed; /* blanks before this are part of a token */
    bool blank;   /* nothing but blanks on it so far */
};

/* Whether this line continues the one before. */
static bool is_joined(const struct output *o)
{
    return o->line >= 2 && o->b->data[o->line - 2] == '\\';
}

static void strip_end_line(struct output *o, const char *p, size_t n)
{
    struct buf *b = o->b;

    if (o->blank) {
        b->len = o->line;
        if (!is_joined(o))
            return;
    }
    while (b->len > o->fixed && strchr(" \t\r", b->data[b->len - 1]))
        b->len--;
    buf_put(b, p, n);
    o->line = o->fixed = b->len;
    o->blank = true;
}

/* The source between two tokens: blanks, line ends, joins, comments. */
static void put_gap(struct output *o, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '#')
            while (i < n && p[i] != '\n')
                i++;
        if (i == n)
            break;
        if (p[i] == '\n') {
            strip_end_line(o, "\n", 1);
            continue;
        }
        o->blank = o->blank && strchr(" \t\r\f", p[i]);
        buf_putc(o->b, p[i]);
    }
}

static void strip_put_text(struct output *o, const char *p, size_t n)
{
    buf_put(o->b, p, n);
    o->fixed = o->b->len;
    if (n)
        o->blank = false;
}

/* ---- C in strings ---- */

/* The text between two C tokens, with a blank for each comment within a
 * line. */
static void put_cxx_gap(struct output *o, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '/' && i + 1 < n && p[i + 1] == '/') {
            while (i < n && (p[i] != '\n' || p[i - 1] == '\\'))
                i++;
        } else if (p[i] == '/' && i + 1 < n && p[i + 1] == '*') {
            const char *end = memmem(p + i + 2, n - i - 2, "*/", 2);

            i = end ? (size_t)(end + 1 - p) : n;
            strip_put_text(o, " ", 1);
            continue;
        }
        if (i < n)
            strip_put_text(o, p + i, 1);
    }
}

static void put_cxx(struct output *o, struct str text, struct arena *a)
{
    struct cxx_tokens t;
    size_t at = 0;

    cxx_lex(&t, text, a);
    for (size_t i = 0; i < t.len; i++) {
        put_cxx_gap(o, text.p + at, t.tok[i].at - at);
        strip_put_text(o, t.tok[i].text.p, t.tok[i].text.n);
        at = t.tok[i].at + t.tok[i].len;
    }
    put_cxx_gap(o, text.p + at, text.n - at);
}

/* Dropping a comment can bring quotes together that would then end the Python
 * string. In that case a blank ends the text, or the text stays as it was. */
static void put_cxx_body(struct output *o, struct str body, struct arena *a)
{
    const char quote = body.p[-1], three[] = {quote, quote, quote};
    struct buf *b = o->b;
    size_t start = b->len;
    char last;

    put_cxx(o, body, a);
    last = b->data[b->len - 1]; /* the opening quotes come before it */
    if ((last == quote || last == '\\') && last != body.p[body.n - 1])
        strip_put_text(o, " ", 1);
    if (memmem(b->data + start, b->len - start, three, sizeof(three))) {
        b->len = start;
        strip_put_text(o, body.p, body.n);
    }
}

static bool is_cxx(const struct py_token *k, struct str body)
{
    return k->kind == PY_STRING && k->flags & PY_TRIPLE && body.n &&
           memchr(body.p, '{', body.n) && memchr(body.p, ';', body.n);
}

static void strip_put_token(struct output *o, struct str code,
                            const struct py_token *k, bool cxx, struct arena *a)
{
    struct str body = {code.p + k->body_at, k->body_len};
    size_t open = k->body_at - k->at, close = k->body_at + k->body_len;

    if (!cxx || !is_cxx(k, body)) {
        strip_put_text(o, code.p + k->at, k->len);
        return;
    }
    strip_put_text(o, code.p + k->at, open);
    put_cxx_body(o, body, a);
    strip_put_text(o, code.p + close, k->at + k->len - close);
}

/* ---- all of it ---- */

static void strip_copy(struct output *o, struct str code,
                       const struct marking *m, bool cxx, struct arena *a)
{
    size_t at = 0;

    for (size_t i = 0; i < m->t->len; i++) {
        const struct py_token *k = &m->t->tok[i];

        if (i && m->fate[i - 1] == DROP) /* drop the blanks after it, too */
            while (at < k->at && (code.p[at] == ' ' || code.p[at] == '\t'))
                at++;
        put_gap(o, code.p + at, k->at - at);
        at = k->at + k->len;
        if (m->fate[i] == PASS)
            strip_put_text(o, "pass", 4);
        else if (m->fate[i] == KEEP && k->kind == PY_NEWLINE)
            strip_end_line(o, code.p + k->at, k->len);
        else if (m->fate[i] == KEEP && k->kind < PY_NEWLINE)
            strip_put_token(o, code, k, cxx, a);
        else if (m->fate[i] == KEEP)
            put_gap(o, code.p + k->at, k->len);
    }
}

struct str py_strip(struct str code, bool cxx, struct arena *a)
{
    struct py_tokens t;
    struct marking m = {.t = &t};
    struct output o = {.blank = true};
    struct buf b = BUF_INIT;

    py_lex(&t, code, a);
    if (t.problem.id)
        return code;
    m.fate = arena_alloc(a, t.len * sizeof(*m.fate));
    m.kept = arena_alloc(a, t.len * sizeof(*m.kept));
    mark_strings(&m);
    o.b = &b;
    strip_copy(&o, code, &m, cxx, a);
    return buf_keep(&b, a);
}
