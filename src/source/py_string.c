/* py_string.c: string literals, f-strings, and the contents of literals. */
#include "source/py_lex_int.h"

#include <string.h>

/* ---- where a literal begins and ends --------------------------------------- */

/* Flags from the letters before a quote; PY_F never becomes a token flag. */
enum { PY_F = 128 };

static uint8_t prefix_flag(char c, uint8_t seen)
{
    switch (c | 0x20) {
    case 'b':
        return seen & (PY_BYTES | PY_UNICODE | PY_F) ? 0 : PY_BYTES;
    case 'u':
        return seen ? 0 : PY_UNICODE;
    case 'r':
        return seen & (PY_RAW | PY_UNICODE) ? 0 : PY_RAW;
    case 'f':
        return seen & (PY_BYTES | PY_UNICODE | PY_F) ? 0 : PY_F;
    default:
        return 0;
    }
}

bool py_string_here(const struct py_lexer *lx, size_t *prefix)
{
    uint8_t seen = 0, flag;

    for (*prefix = 0;; ++*prefix) {
        char c = py_peek(lx, *prefix);

        if (c == '"' || c == '\'')
            return true;
        flag = prefix_flag(c, seen);
        if (!flag)
            return false;
        seen |= flag;
    }
}

static bool closes(const struct py_lexer *lx, char quote, bool triple)
{
    return py_peek(lx, 0) == quote &&
           (!triple || (py_peek(lx, 1) == quote && py_peek(lx, 2) == quote));
}

/* Skips a backslash and the character it escapes; a line end counts as one
 * character. */
static void pass_escape(struct py_lexer *lx)
{
    size_t end = place_line_end(lx->src, lx->pos + 1);

    lx->pos += 1 + (end ? end : 1);
    if (lx->pos > lx->src.n)
        lx->pos = lx->src.n;
}

/* Advances from the start of the body to the closing quotes. */
static bool find_end(struct py_lexer *lx, size_t at, char quote, bool triple)
{
    while (!closes(lx, quote, triple)) {
        if (lx->pos == lx->src.n ||
            (!triple && place_line_end(lx->src, lx->pos)))
            return py_bad(lx, at, "a string that is never closed");
        if (py_peek(lx, 0) == '\\')
            pass_escape(lx);
        else
            lx->pos++;
    }
    return true;
}

bool py_lex_string(struct py_lexer *lx, size_t prefix)
{
    size_t at = lx->pos, body;
    uint8_t flags = 0;
    char quote = py_peek(lx, prefix);
    struct py_token *t;

    for (size_t i = 0; i < prefix; i++)
        flags |= prefix_flag(py_peek(lx, i), flags);
    if (py_peek(lx, prefix + 1) == quote && py_peek(lx, prefix + 2) == quote)
        flags |= PY_TRIPLE;
    lx->pos += prefix + (flags & PY_TRIPLE ? 3 : 1);
    if (flags & PY_F) {
        py_emit(lx, PY_FSTART, at, lx->pos)->flags = flags & (uint8_t)~PY_F;
        return py_push(lx, PY_OPEN_FSTRING, quote);
    }
    body = lx->pos;
    if (!find_end(lx, at, quote, flags & PY_TRIPLE))
        return false;
    t = py_emit(lx, PY_STRING, at, lx->pos + (flags & PY_TRIPLE ? 3 : 1));
    t->flags = flags;
    t->body_at = (uint32_t)body;
    t->body_len = (uint32_t)(lx->pos - body);
    lx->pos = t->at + t->len;
    return true;
}

/* ---- f-strings ------------------------------------------------------------- */

/* Skips the escape at pos. \N{NAME} is text, not a field. A brace after a
 * backslash keeps its meaning. */
static bool pass_ftext_escape(struct py_lexer *lx, bool raw)
{
    size_t at = lx->pos;

    if (py_peek(lx, 1) == '{' || py_peek(lx, 1) == '}') {
        lx->pos++;
        return true;
    }
    if (raw || py_peek(lx, 1) != 'N' || py_peek(lx, 2) != '{') {
        pass_escape(lx);
        return true;
    }
    for (lx->pos += 3; py_peek(lx, 0) != '}'; lx->pos++) {
        char c = py_peek(lx, 0);

        if ((!py_is_word(c) || (unsigned char)c >= 0x80) && c != ' ' &&
            c != '-')
            return py_bad(lx, at, "a malformed \\N{} escape");
    }
    lx->pos++;
    return true;
}

/* Skips text up to the closing quotes, a field's brace or the end of the
 * spec. */
static bool pass_ftext(struct py_lexer *lx, const struct py_open *f, bool spec)
{
    size_t opener = lx->tok[f->tok].at;

    while (!closes(lx, f->closer, f->flags & PY_TRIPLE)) {
        char c = py_peek(lx, 0);

        if (lx->pos == lx->src.n ||
            (!(f->flags & PY_TRIPLE) && place_line_end(lx->src, lx->pos)))
            return py_bad(lx, opener, "an f-string that is never closed");
        if ((c == '{' || c == '}') && (spec || py_peek(lx, 1) != c))
            return true;
        if (c == '{' || c == '}')
            lx->pos += 2;
        else if (c != '\\')
            lx->pos++;
        else if (!pass_ftext_escape(lx, f->flags & PY_RAW))
            return false;
    }
    return true;
}

bool py_lex_ftext(struct py_lexer *lx)
{
    const struct py_open *f = &lx->open[lx->fstring[lx->fstrings - 1]];
    bool spec = py_top(lx)->kind == PY_OPEN_SPEC;
    size_t at = lx->pos;
    char c;

    if (!pass_ftext(lx, f, spec))
        return false;
    if (lx->pos > at)
        py_emit(lx, PY_FTEXT, at, lx->pos);
    at = lx->pos;
    c = py_peek(lx, 0);
    if (c == '}' && !spec)
        return py_bad(lx, at, "a single '}' in an f-string");
    if (c != '{' && c != '}' && spec)
        return py_bad(lx, lx->tok[py_top(lx)->tok].at,
                      "an f-string's field that is never closed");
    lx->pos += c != '{' && c != '}' && f->flags & PY_TRIPLE ? 3 : 1;
    if (c != '{' && c != '}') {
        py_emit(lx, PY_FEND, at, lx->pos);
        py_pop(lx);
        return true;
    }
    py_emit(lx, PY_OP, at, lx->pos)->flags = PY_FIELD;
    if (c == '{')
        return py_push(lx, PY_OPEN_FIELD, '}');
    py_pop(lx);
    return true;
}
