/* py_strip.c: marks the tokens to drop, then copies the rest with the source
 * around them. */
#include "source/py_strip.h"

#include "base/buf.h"
#include "source/cxx_lex.h"
#include "source/py_lex.h"

#include <string.h>

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
    static const char *const words[] = {"if",    "elif", "else",   "for",
                                        "while", "try",  "except", "finally",
                                        "with",  "def",  "class",  "async"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (py_is(k, words[i]))
            return true;
    return false;
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
    struct buf b;

    py_lex(&t, code, a);
    if (t.problem.id)
        return code;
    m.fate = arena_alloc(a, t.len * sizeof(*m.fate));
    m.kept = arena_alloc(a, t.len * sizeof(*m.kept));
    mark_strings(&m);
    buf_init(&b, BUF_UNLIMITED);
    o.b = &b;
    strip_copy(&o, code, &m, cxx, a);
    code = (struct str){arena_strndup(a, buf_str(&b), b.len), b.len};
    buf_release(&b);
    return code;
}
