/* py_word.c: names and numbers. */
#include "source/py_lex_int.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Real text never has more combining marks in a row (the limit of Unicode's
 * stream-safe format), and sorting them takes quadratic time. */
#define MAX_MARKS 30

static bool is_id_start(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
        return c != 0x2e2f; /* a letter that Unicode reserves for syntax */
    default:                /* characters that used to be letters */
        return c == '_' || c == 0x1885 || c == 0x1886 || c == 0x2118 ||
               c == 0x212e;
    }
}

static bool is_id_continue(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        return is_id_start(c) || c == 0xb7 || c == 0x387 ||
               (c >= 0x1369 && c <= 0x1371) || c == 0x19da;
    }
}

/* Offset of the first character that is not allowed at its position, or `n`. */
static size_t id_check(const char *p, size_t n)
{
    size_t i = 0, marks = 0;

    while (i < n) {
        uint32_t c;
        size_t len = str_utf8_decode(p + i, n - i, &c);

        if (!(i == 0 ? is_id_start(c) : is_id_continue(c)))
            return i;
        if (utf8proc_get_property((utf8proc_int32_t)c)->combining_class == 0)
            marks = 0;
        else if (++marks > MAX_MARKS)
            return i;
        i += len;
    }
    return n;
}

static bool is_keyword(struct str s)
{
    static const char *const words[] = {
        "False",  "None",     "True",  "and",    "as",       "assert",
        "async",  "await",    "break", "class",  "continue", "def",
        "del",    "elif",     "else",  "except", "finally",  "for",
        "from",   "global",   "if",    "import", "in",       "is",
        "lambda", "nonlocal", "not",   "or",     "pass",     "raise",
        "return", "try",      "while", "with",   "yield"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_eq(s, words[i]))
            return true;
    return false;
}

/* The name that CPython reads for the non-ASCII word src[at, pos). Like
 * XID_Start and XID_Continue, this refuses characters whose normal form is not
 * an identifier. CPython treats a word that only normalises to a keyword as an
 * ordinary name. We refuse it: nobody needs one, and users of the tokens could
 * not tell the difference. */
static bool normalise(struct py_lexer *lx, size_t at, struct str *out)
{
    const char *p = lx->src.p + at;
    size_t n = lx->pos - at, good = id_check(p, n);
    utf8proc_uint8_t *nfkc = NULL;
    utf8proc_ssize_t len;

    if (good < n)
        return py_bad(lx, at + good,
                      "a character that cannot be part of a name");
    len = utf8proc_map((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &nfkc,
                       UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    if (len <= 0)
        return py_bad(lx, at, "a name that cannot be normalised");
    *out = (struct str){arena_strndup(lx->a, (char *)nfkc, (size_t)len),
                        (size_t)len};
    free(nfkc);
    if (id_check(out->p, out->n) < out->n)
        return py_bad(lx, at, "a name that is not a name in its normal form");
    if (is_keyword(*out))
        return py_bad(lx, at,
                      "a keyword spelled with other Unicode characters");
    return true;
}

bool py_lex_name(struct py_lexer *lx)
{
    size_t at = lx->pos, end = at;
    unsigned char all = 0; /* all bytes ORed together */
    struct str text;

    for (; end < lx->src.n && py_is_word(lx->src.p[end]); end++)
        all |= (unsigned char)lx->src.p[end];
    lx->pos = end;
    if (all < 0x80) {
        py_emit(lx, PY_NAME, at, lx->pos);
        return true;
    }
    if (!normalise(lx, at, &text))
        return false;
    py_emit(lx, PY_NAME, at, lx->pos)->text = text;
    return true;
}

/* Checks what follows a number: "1if x" is two tokens, "1x" is an error. */
static bool number_end(struct py_lexer *lx)
{
    static const char *const words[] = {"and", "else", "for", "if",
                                        "in",  "is",   "or",  "not"};
    struct str rest = {lx->src.p + lx->pos, 0};

    while (py_is_word(py_peek(lx, rest.n)) && rest.n < 5)
        rest.n++;
    if (rest.n == 0)
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_eq(rest, words[i]))
            return true;
    return py_bad(lx, lx->pos, "a number runs into a word");
}

static bool is_radix_digit(char c, char radix)
{
    if (radix == 'b')
        return c == '0' || c == '1';
    if (radix == 'o')
        return c >= '0' && c <= '7';
    return py_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool radix_number(struct py_lexer *lx, char radix)
{
    lx->pos += 2;
    do {
        if (py_peek(lx, 0) == '_')
            lx->pos++;
        if (!is_radix_digit(py_peek(lx, 0), radix))
            return py_bad(lx, lx->pos, "a digit is missing in a number");
        while (is_radix_digit(py_peek(lx, 0), radix))
            lx->pos++;
    } while (py_peek(lx, 0) == '_');
    return true;
}

/* Digits with single underscores between them, starting at a digit. */
static bool digits(struct py_lexer *lx)
{
    for (;;) {
        while (py_is_digit(py_peek(lx, 0)))
            lx->pos++;
        if (py_peek(lx, 0) != '_')
            return true;
        lx->pos++;
        if (!py_is_digit(py_peek(lx, 0)))
            return py_bad(lx, lx->pos, "a digit is missing in a number");
    }
}

/* "e5", "E-3"; an e that starts a word ("1else") is left alone. */
static bool exponent(struct py_lexer *lx)
{
    char sign = py_peek(lx, 1);
    bool is_signed = sign == '+' || sign == '-';

    if (!is_signed && !py_is_digit(sign))
        return true;
    lx->pos += is_signed ? 2 : 1;
    if (!py_is_digit(py_peek(lx, 0)))
        return py_bad(lx, lx->pos, "a digit is missing in a number");
    return digits(lx);
}

/* "007": leading zeros are only allowed if all digits are zeros. */
static bool bad_leading_zero(const struct py_lexer *lx, size_t at)
{
    if (lx->src.p[at] != '0')
        return false;
    for (size_t i = at; i < lx->pos; i++)
        if (lx->src.p[i] != '0' && lx->src.p[i] != '_')
            return true;
    return false;
}

static bool decimal_number(struct py_lexer *lx)
{
    size_t at = lx->pos;
    bool whole = true;
    char next;

    if (py_peek(lx, 0) != '.' && !digits(lx))
        return false;
    next = py_peek(lx, 0);
    if (bad_leading_zero(lx, at) && (!next || !strchr(".eEjJ", next)))
        return py_bad(lx, at, "a leading zero in a decimal number");
    if (py_peek(lx, 0) == '.') {
        lx->pos++;
        whole = !py_is_digit(py_peek(lx, 0)) || digits(lx);
    }
    if (whole && (py_peek(lx, 0) == 'e' || py_peek(lx, 0) == 'E'))
        whole = exponent(lx);
    if (whole && (py_peek(lx, 0) == 'j' || py_peek(lx, 0) == 'J'))
        lx->pos++;
    return whole;
}

bool py_lex_number(struct py_lexer *lx)
{
    size_t at = lx->pos;
    char radix = (char)(py_peek(lx, 1) | 0x20);
    bool whole;

    if (py_peek(lx, 0) == '0' && (radix == 'x' || radix == 'o' || radix == 'b'))
        whole = radix_number(lx, radix);
    else
        whole = decimal_number(lx);
    if (!whole || !number_end(lx))
        return false;
    py_emit(lx, PY_NUMBER, at, lx->pos);
    return true;
}
