/* py_lex.c: the main loop of the Python lexer: lines, indentation, brackets and
 * operators. */
#include "source/py_lex.h"

#include "base/mem.h"
#include "source/py_lex_int.h"

#include <stdlib.h>
#include <string.h>

#define TAB_STOP 8

bool py_fail(struct py_lexer *lx, const char *id, size_t at,
             const char *message)
{
    struct place place;

    if (lx->problem.id)
        return false;
    place_init(&place, lx->src);
    place_to(&place, lx->src, at);
    lx->problem = (struct py_problem){.id = id,
                                      .at = (uint32_t)at,
                                      .line = place.line,
                                      .column = place.column,
                                      .message = message};
    return false;
}

bool py_bad(struct py_lexer *lx, size_t at, const char *message)
{
    return py_fail(lx, "source-syntax", at, message);
}

static void py_lex_make_room(struct py_lexer *lx, size_t cap)
{
    struct py_token *tok = arena_alloc_raw(lx->a, cap * sizeof(*tok));

    if (lx->len)
        memcpy(tok, lx->tok, lx->len * sizeof(*tok));
    lx->tok = tok;
    lx->cap = cap;
}

struct py_token *py_emit(struct py_lexer *lx, enum py_kind kind, size_t at,
                         size_t end)
{
    struct py_token *t;

    if (lx->len == lx->cap)
        py_lex_make_room(lx, lx->cap * 2 + 4);
    place_to(&lx->place, lx->src, at);
    t = &lx->tok[lx->len++];
    *t = (struct py_token){.kind = kind,
                           .at = (uint32_t)at,
                           .len = (uint32_t)(end - at),
                           .line = lx->place.line,
                           .column = lx->place.column,
                           .text = {lx->src.p + at, end - at}};
    return t;
}

/* ---- what is open ---------------------------------------------------------- */

struct py_open *py_top(struct py_lexer *lx)
{
    return lx->opens ? &lx->open[lx->opens - 1] : NULL;
}

/* Reports the opener that nests too deeply; it does not become a token. */
static bool py_lex_too_deep(struct py_lexer *lx, const char *message)
{
    return py_bad(lx, lx->tok[--lx->len].at, message);
}

bool py_push(struct py_lexer *lx, enum py_open_kind kind, char closer)
{
    const struct py_token *t = &lx->tok[lx->len - 1];

    if (kind == PY_OPEN_FSTRING) {
        if (lx->fstrings == PY_MAX_FSTRINGS)
            return py_lex_too_deep(lx, "f-strings nested too deeply");
        lx->fstring[lx->fstrings++] = lx->opens;
    } else {
        if (lx->brackets == PY_MAX_BRACKETS)
            return py_lex_too_deep(lx, "brackets nested too deeply");
        lx->brackets++;
    }
    lx->open[lx->opens++] = (struct py_open){.kind = kind,
                                             .closer = closer,
                                             .flags = t->flags,
                                             .tok = (uint32_t)(lx->len - 1)};
    return true;
}

void py_pop(struct py_lexer *lx)
{
    const struct py_open *o = &lx->open[--lx->opens];

    if (o->kind == PY_OPEN_FSTRING)
        lx->fstrings--;
    else
        lx->brackets--;
    lx->tok[o->tok].match = (uint32_t)(lx->len - 1);
    lx->tok[lx->len - 1].match = o->tok;
}

/* ---- lines ----------------------------------------------------------------- */

/* A backslash must be the last character of its line, and not the last of the
 * source. */
static bool join_lines(struct py_lexer *lx)
{
    size_t at = lx->pos, end = place_line_end(lx->src, at + 1);

    if (!end && at + 1 < lx->src.n)
        return py_bad(lx, at, "a backslash joins lines only at a line's end");
    if (at + 1 + end == lx->src.n)
        return py_bad(lx, at, "a backslash joins the last line to nothing");
    lx->pos += 1 + end;
    return true;
}

static void skip_comment(struct py_lexer *lx)
{
    if (py_peek(lx, 0) != '#')
        return;
    while (lx->pos < lx->src.n && lx->src.p[lx->pos] != '\n' &&
           lx->src.p[lx->pos] != '\r')
        lx->pos++;
}

/* A line's white space, starting at `at`, and its width with tab stops of 8 and
 * of 1. If the two disagree on how lines compare, that is an error. */
struct columns {
    size_t at;
    uint32_t col, alt;
};

/* Reads a line's white space. After a backslash, the first line's columns
 * count, unless they are 0. */
static bool read_indentation(struct py_lexer *lx, struct columns *c)
{
    uint32_t first = 0;

    for (;; lx->pos++) {
        switch (py_peek(lx, 0)) {
        case ' ':
            c->col++;
            c->alt++;
            continue;
        case '\t':
            c->col = (c->col / TAB_STOP + 1) * TAB_STOP;
            c->alt++;
            continue;
        case '\f':
            c->col = c->alt = 0;
            continue;
        case '\\':
            first = first ? first : c->col;
            if (!join_lines(lx))
                return false;
            c->at = lx->pos--;
            continue;
        default:
            break;
        }
        break;
    }
    if (first)
        c->col = c->alt = first;
    return true;
}

static bool indent(struct py_lexer *lx, struct columns c)
{
    size_t top = lx->indents;

    if (c.col > lx->indent[top]) {
        if (top + 1 == PY_MAX_INDENT)
            return py_bad(lx, lx->pos, "indented too deeply");
        if (c.alt <= lx->alt_indent[top])
            return py_bad(lx, lx->pos, "tabs and spaces mixed in indentation");
        lx->indents = ++top;
        lx->indent[top] = c.col;
        lx->alt_indent[top] = c.alt;
        py_emit(lx, PY_INDENT, c.at, lx->pos);
        return true;
    }
    for (; c.col < lx->indent[lx->indents]; lx->indents--)
        py_emit(lx, PY_DEDENT, lx->pos, lx->pos);
    if (c.col != lx->indent[lx->indents])
        return py_bad(lx, lx->pos, "indentation that matches no outer level");
    if (c.alt != lx->alt_indent[lx->indents])
        return py_bad(lx, lx->pos, "tabs and spaces mixed in indentation");
    return true;
}

/* Skips blank and comment lines, then compares the indentation. */
static bool start_line(struct py_lexer *lx)
{
    struct columns c = {lx->pos, 0, 0};

    if (!read_indentation(lx, &c))
        return false;
    skip_comment(lx);
    if (lx->pos == lx->src.n)
        return true;
    if (place_line_end(lx->src, lx->pos)) {
        lx->pos += place_line_end(lx->src, lx->pos);
        return true;
    }
    lx->line_start = false;
    return indent(lx, c);
}

static bool py_lex_end_line(struct py_lexer *lx, size_t len)
{
    if (lx->opens == 0) {
        py_emit(lx, PY_NEWLINE, lx->pos, lx->pos + len);
        lx->line_start = true;
    }
    lx->pos += len;
    return true;
}

/* ---- operators ------------------------------------------------------------- */

/* Length of the longest operator here, or 0. */
static size_t operator_length(const struct py_lexer *lx)
{
    char c = py_peek(lx, 0), next = py_peek(lx, 1);

    switch (c) {
    case ',':
    case ';':
    case '~':
        return 1;
    case '.':
        return next == '.' && py_peek(lx, 2) == '.' ? 3 : 1;
    case '!':
        return next == '=' ? 2 : 0;
    case '*':
    case '/':
    case '<':
    case '>':
        if (next == c)
            return py_peek(lx, 2) == '=' ? 3 : 2;
        return next == '=' || (c == '<' && next == '>') ? 2 : 1;
    case '-':
        return next == '=' || next == '>' ? 2 : 1;
    case '=':
    case ':':
    case '+':
    case '%':
    case '&':
    case '|':
    case '^':
    case '@':
        return next == '=' ? 2 : 1;
    default:
        return 0;
    }
}

static bool close_bracket(struct py_lexer *lx)
{
    struct py_open *top = py_top(lx);
    struct py_token *t;

    if (!top)
        return py_bad(lx, lx->pos, "a bracket that closes nothing");
    if (top->closer != py_peek(lx, 0))
        return py_bad(lx, lx->pos, "a bracket that closes another kind");
    t = py_emit(lx, PY_OP, lx->pos, lx->pos + 1);
    if (top->kind == PY_OPEN_FIELD)
        t->flags = PY_FIELD;
    lx->pos++;
    py_pop(lx);
    return true;
}

static bool open_bracket(struct py_lexer *lx, char closer)
{
    py_emit(lx, PY_OP, lx->pos, lx->pos + 1);
    lx->pos++;
    return py_push(lx, PY_OPEN_BRACKET, closer);
}

/* Ends a field's expression. A "=" just before the end asks for the
 * expression's text; "!" or ":" starts the part after the expression. */
static bool end_field_expression(struct py_lexer *lx, struct py_open *field)
{
    char c = py_peek(lx, 0);
    struct py_token *last = &lx->tok[lx->len - 1];

    if (py_is(last, "="))
        last->flags = PY_FIELD;
    if (c == '}')
        return close_bracket(lx);
    py_emit(lx, PY_OP, lx->pos, lx->pos + 1)->flags = PY_FIELD;
    lx->pos++;
    if (c == ':')
        field->kind = PY_OPEN_SPEC;
    return true;
}

static bool lex_operator(struct py_lexer *lx)
{
    struct py_open *top = py_top(lx);
    char c = py_peek(lx, 0);
    size_t n;

    if (top && top->kind == PY_OPEN_FIELD &&
        (c == '}' || c == ':' || (c == '!' && py_peek(lx, 1) != '=')))
        return end_field_expression(lx, top);
    if (c == '(')
        return open_bracket(lx, ')');
    if (c == '[')
        return open_bracket(lx, ']');
    if (c == '{')
        return open_bracket(lx, '}');
    if (c == ')' || c == ']' || c == '}')
        return close_bracket(lx);
    n = operator_length(lx);
    if (n == 0)
        return py_bad(lx, lx->pos, "a character that means nothing here");
    py_emit(lx, PY_OP, lx->pos, lx->pos + n);
    lx->pos += n;
    return true;
}

/* ---- the loop -------------------------------------------------------------- */

/* Whether a string can start with this byte: a quote or a prefix letter. */
static bool may_start_string(char c)
{
    switch (c) {
    case '"':
    case '\'':
    case 'b':
    case 'B':
    case 'f':
    case 'F':
    case 'r':
    case 'R':
    case 'u':
    case 'U':
        return true;
    default:
        return false;
    }
}

static bool lex_code(struct py_lexer *lx)
{
    char c = py_peek(lx, 0);
    size_t prefix;

    while (c == ' ' || c == '\t' || c == '\f') {
        lx->pos++;
        c = py_peek(lx, 0);
    }
    if (lx->pos == lx->src.n)
        return true;
    if (c == '#') {
        skip_comment(lx);
        return true;
    }
    if (c == '\\')
        return join_lines(lx);
    if (c == '\n' || c == '\r')
        return py_lex_end_line(lx, place_line_end(lx->src, lx->pos));
    if (may_start_string(c) && py_string_here(lx, &prefix))
        return py_lex_string(lx, prefix);
    if (py_is_digit(c) || (c == '.' && py_is_digit(py_peek(lx, 1))))
        return py_lex_number(lx);
    if (py_is_word(c))
        return py_lex_name(lx);
    return lex_operator(lx);
}

static bool reads_text(struct py_lexer *lx)
{
    const struct py_open *top = py_top(lx);

    return top && (top->kind == PY_OPEN_FSTRING || top->kind == PY_OPEN_SPEC);
}

static bool lex_all(struct py_lexer *lx)
{
    while (lx->pos < lx->src.n) {
        bool good = reads_text(lx)   ? py_lex_ftext(lx)
                    : lx->line_start ? start_line(lx)
                                     : lex_code(lx);

        if (!good)
            return false;
    }
    if (lx->fstrings)
        return py_bad(lx,
                      lx->tok[lx->open[lx->fstring[lx->fstrings - 1]].tok].at,
                      "an f-string that is never closed");
    if (lx->opens)
        return py_bad(lx, lx->tok[py_top(lx)->tok].at,
                      "a bracket that is never closed");
    return true;
}

/* Closes the line, the indentation and the token list. */
static void py_lex_finish(struct py_lexer *lx, struct py_tokens *out)
{
    size_t at = lx->src.n;

    if (lx->problem.id)
        at = lx->len ? lx->tok[lx->len - 1].at + lx->tok[lx->len - 1].len : 0;
    if (lx->len && lx->tok[lx->len - 1].kind < PY_NEWLINE)
        py_emit(lx, PY_NEWLINE, at, at);
    for (size_t i = 0; i < lx->indents; i++)
        py_emit(lx, PY_DEDENT, at, at);
    py_emit(lx, PY_END, at, at);
    while (lx->opens)
        lx->tok[lx->open[--lx->opens].tok].match = (uint32_t)(lx->len - 1);
    *out = (struct py_tokens){
        .tok = lx->tok, .len = lx->len, .problem = lx->problem};
}

void py_lex(struct py_tokens *out, struct str src, struct arena *a)
{
    struct py_lexer lx = {.a = a, .line_start = true};

    lx.src = src.n ? src : (struct str){"", 0};
    place_init(&lx.place, lx.src);
    if (py_source_admit(&lx)) {
        /* Enough room for most sources. */
        py_lex_make_room(&lx, lx.src.n / 3 + 16);
        lex_all(&lx);
    }
    py_lex_finish(&lx, out);
}

bool py_is(const struct py_token *t, const char *text)
{
    return (t->kind == PY_NAME || t->kind == PY_OP) && str_eq(t->text, text);
}
