/* py_lex.c: the Python lexer. Rules, operators and hashes are decided on these
 * tokens, so they must be the ones that CPython sees: where the two differ, a
 * candidate could show a rule another program than the one that runs. Hence the
 * limits and the errors of CPython's own tokenizer, and a source that CPython
 * would decode in another way is refused (py_source_admit()).
 *
 * A stack records what is open. If the top entry is an f-string or a format
 * spec, the lexer reads text; otherwise it reads code. Each reader starts at
 * `pos` and advances it; false when it recorded a problem. */
#include "source/py_lex.h"

#include "source/place.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* The same limits as CPython's. */
#define PY_MAX_INDENT   100
#define PY_MAX_BRACKETS 200
#define PY_MAX_FSTRINGS 150

enum py_open_kind {
    PY_OPEN_BRACKET, /* ( [ { in code */
    PY_OPEN_FIELD,   /* { in an f-string, within the expression */
    PY_OPEN_SPEC,    /* the same, after the ':' */
    PY_OPEN_FSTRING,
};

struct py_open {
    enum py_open_kind kind;
    char closer;   /* of a bracket or field; the quote of an f-string */
    uint8_t flags; /* of an f-string */
    uint32_t tok;  /* the opening token */
};

struct py_lexer {
    struct str src;
    struct arena *a;
    size_t pos; /* the next byte to read */
    struct place place;
    struct py_token *tok; /* in the arena */
    size_t len, cap;
    struct py_problem problem;

    bool line_start; /* at the start of a line whose indentation counts */
    uint32_t indent[PY_MAX_INDENT], alt_indent[PY_MAX_INDENT];
    size_t indents; /* levels above 0; indent[0] is 0 */

    struct py_open open[PY_MAX_BRACKETS + PY_MAX_FSTRINGS];
    size_t opens, brackets;
    size_t fstring[PY_MAX_FSTRINGS]; /* their indices in `open` */
    size_t fstrings;
};

/* The byte `ahead` bytes past the next one; 0 past the end (sources have no
 * NUL). */
static inline char py_peek(const struct py_lexer *lx, size_t ahead)
{
    if (ahead >= lx->src.n - lx->pos)
        return 0;
    return lx->src.p[lx->pos + ahead];
}

static inline bool py_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether the byte may be part of an identifier. Accepts all non-ASCII bytes;
 * the whole word is checked later. */
static inline bool py_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           py_is_digit(c) || (unsigned char)c >= 0x80;
}

#define TAB_STOP 8

/* Records the problem if it is the first. Returns false. */
static bool py_fail(struct py_lexer *lx, const char *id, size_t at,
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

static bool py_bad(struct py_lexer *lx, size_t at, const char *message)
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

/* Appends the token src[at, end). The pointer is valid until the next call. */
static struct py_token *py_emit(struct py_lexer *lx, enum py_kind kind,
                                size_t at, size_t end)
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

/* NULL: nothing is open */
static struct py_open *py_top(struct py_lexer *lx)
{
    return lx->opens ? &lx->open[lx->opens - 1] : NULL;
}

/* Reports the opener that nests too deeply; it does not become a token. */
static bool py_lex_too_deep(struct py_lexer *lx, const char *message)
{
    return py_bad(lx, lx->tok[--lx->len].at, message);
}

/* Pushes the token just emitted as an opener; false when nested too deeply. */
static bool py_push(struct py_lexer *lx, enum py_open_kind kind, char closer)
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

/* Pops the top entry, closed by the token just emitted. */
static void py_pop(struct py_lexer *lx)
{
    const struct py_open *o = &lx->open[--lx->opens];

    if (o->kind == PY_OPEN_FSTRING)
        lx->fstrings--;
    else
        lx->brackets--;
    lx->tok[o->tok].match = (uint32_t)(lx->len - 1);
    lx->tok[lx->len - 1].match = o->tok;
}

/* ---- which texts are read --------------------------------------------------
 * Refuses sources that are too large, have NUL bytes, are not UTF-8, or have a
 * coding line (PEP 263) that would make CPython read a different text than we
 * do. All of this happens before the first token. */

static bool py_source_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_coding_char(char c)
{
    return (py_is_word(c) && (unsigned char)c < 0x80) || c == '-' || c == '.';
}

/* The codec named in a comment line, found the way CPython does it; empty when
 * the line does not name one. */
static struct str coding_of(struct str line)
{
    struct str none = {"", 0};
    size_t i = 0;

    while (i < line.n && py_source_is_blank(line.p[i]))
        i++;
    if (i == line.n || line.p[i] != '#')
        return none;
    for (; i + 7 <= line.n; i++) {
        size_t from = i + 7, to;

        if (memcmp(line.p + i, "coding", 6) != 0 ||
            (line.p[i + 6] != ':' && line.p[i + 6] != '='))
            continue;
        while (from < line.n && (line.p[from] == ' ' || line.p[from] == '\t'))
            from++;
        to = from;
        while (to < line.n && is_coding_char(line.p[to]))
            to++;
        if (to > from)
            return (struct str){line.p + from, to - from};
    }
    return none;
}

/* Whether CPython treats this codec name as UTF-8. */
static bool is_utf8_name(struct str name)
{
    static const char *const names[] = {"utf-8", "utf8", "u8", "utf",
                                        "cp65001"};
    char plain[32];

    if (name.n >= sizeof(plain))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        plain[i] = name.p[i];
        if (plain[i] == '_')
            plain[i] = '-';
        else if (plain[i] >= 'A' && plain[i] <= 'Z')
            plain[i] = (char)(plain[i] - 'A' + 'a');
    }
    plain[name.n] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(plain, names[i]) == 0)
            return true;
    return strncmp(plain, "utf-8-", 6) == 0;
}

/* A line with only blanks or a comment: the next line may still name a
 * codec. */
static bool is_comment_line(struct str line)
{
    size_t i = 0;

    while (i < line.n && py_source_is_blank(line.p[i]))
        i++;
    return i == line.n || line.p[i] == '#' || line.p[i] == '\r';
}

/* Python's compiler also ends a line at a lone \r. Its tokenize module, which
 * functions use to read their own source, ends it only at \n. Both must find
 * UTF-8. */
static bool admit_coding(struct py_lexer *lx, const char *ends)
{
    struct str rest = {lx->src.p + lx->pos, lx->src.n - lx->pos};

    for (int i = 0; i < 2 && rest.n; i++) {
        struct str line = {rest.p, 0}, name;

        while (line.n < rest.n && !strchr(ends, line.p[line.n]))
            line.n++;
        name = coding_of(line);
        if (name.n && !is_utf8_name(name))
            return py_fail(lx, "source-encoding", (size_t)(name.p - lx->src.p),
                           "the coding line names another codec than utf-8");
        if (name.n || !is_comment_line(line))
            break;
        rest = (struct str){rest.p + line.n, rest.n - line.n};
        line.n = place_line_end(rest, 0);
        rest = (struct str){rest.p + line.n, rest.n - line.n};
    }
    return true;
}

static bool py_source_admit(struct py_lexer *lx)
{
    struct str src = lx->src;
    const char *nul;
    size_t good;

    if (src.n > PY_MAX_BYTES)
        return py_fail(lx, "source-too-large", 0, "larger than 1 MiB");
    nul = src.n ? memchr(src.p, 0, src.n) : NULL;
    if (nul)
        return py_fail(lx, "source-nul", (size_t)(nul - src.p),
                       "a NUL byte in the source");
    good = str_utf8_check(src.p, src.n);
    if (good < src.n)
        return py_fail(lx, "source-encoding", good, "not UTF-8");
    lx->pos = place_bom(src);
    return admit_coding(lx, "\r\n") && admit_coding(lx, "\n");
}

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

static bool py_lex_name(struct py_lexer *lx)
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

static bool py_lex_number(struct py_lexer *lx)
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

/* Whether a string starts here: *prefix letters, then a quote. */
static bool py_string_here(const struct py_lexer *lx, size_t *prefix)
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

static bool py_lex_string(struct py_lexer *lx, size_t prefix)
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

static bool py_lex_ftext(struct py_lexer *lx)
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

const char *py_dotted(const struct py_token *tok, size_t *i, struct arena *a)
{
    const char *name = arena_strndup(a, tok[*i].text.p, tok[*i].text.n);

    for (++*i; py_is(&tok[*i], ".") && tok[*i + 1].kind == PY_NAME; *i += 2)
        name = arena_printf(a, "%s.%.*s", name, (int)tok[*i + 1].text.n,
                            tok[*i + 1].text.p);
    return name;
}
