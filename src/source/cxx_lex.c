/* cxx_lex.c: C, C++ and CUDA tokens. Line splices (a backslash, optional
 * blanks, a line end) are removed before anything else is recognised, so all
 * reading goes through a cursor that skips them. Only raw strings keep them. */
#include "source/cxx_lex.h"

#include "base/buf.h"
#include "base/mem.h"
#include "source/place.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RAW_DELIMITER 16

struct cxx_lexer {
    struct str src;
    struct arena *a;
    size_t pos; /* the next byte, never the start of a splice */
    size_t end; /* just past the last byte consumed */
    size_t raw; /* from here on, the last token is copied verbatim */
    struct place place;
    struct cxx_token *tok; /* on the heap while it grows */
    size_t len, cap;
    struct buf text; /* of the current token */
    bool line_start; /* only blanks and comments so far on this line */
};

/* ---- the cursor ------------------------------------------------------------ */

static bool cxx_lex_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\0';
}

static bool is_lone_return(struct str src, size_t at)
{
    return src.p[at] == '\r' && place_line_end(src, at) == 1;
}

/* The first offset at or after `at` that is not part of a splice. */
static size_t skip_splices(struct str src, size_t at)
{
    while (at < src.n && src.p[at] == '\\') {
        size_t end = at + 1;

        while (end < src.n && cxx_lex_is_blank(src.p[end]))
            end++;
        if (place_line_end(src, end) == 0 || is_lone_return(src, end))
            break;
        at = end + place_line_end(src, end);
    }
    return at;
}

static size_t next_of(const struct cxx_lexer *lx, size_t at)
{
    return skip_splices(lx->src, at + 1);
}

/* Returns NUL past the end. */
static char byte_at(const struct cxx_lexer *lx, size_t at)
{
    if (at >= lx->src.n)
        return '\0';
    return lx->src.p[at];
}

static char cxx_lex_peek(const struct cxx_lexer *lx)
{
    return byte_at(lx, lx->pos);
}

static char peek_next(const struct cxx_lexer *lx)
{
    return byte_at(lx, next_of(lx, lx->pos));
}

static void cxx_lex_next_byte(struct cxx_lexer *lx)
{
    lx->end = lx->pos + 1;
    lx->pos = next_of(lx, lx->pos);
}

static bool at_end(const struct cxx_lexer *lx)
{
    return lx->pos >= lx->src.n;
}

static bool at_line_end(const struct cxx_lexer *lx)
{
    return at_end(lx) || place_line_end(lx->src, lx->pos) > 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool cxx_lex_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* ---- comments and literals ------------------------------------------------- */

/* Skips a comment; false when there is no comment here. */
static bool pass_comment(struct cxx_lexer *lx)
{
    if (cxx_lex_peek(lx) != '/')
        return false;
    if (peek_next(lx) == '/') {
        while (!at_line_end(lx))
            cxx_lex_next_byte(lx);
        return true;
    }
    if (peek_next(lx) != '*')
        return false;
    cxx_lex_next_byte(lx);
    cxx_lex_next_byte(lx);
    while (!at_end(lx) && !(cxx_lex_peek(lx) == '*' && peek_next(lx) == '/'))
        cxx_lex_next_byte(lx);
    if (!at_end(lx)) {
        cxx_lex_next_byte(lx);
        cxx_lex_next_byte(lx);
    }
    return true;
}

/* Skips "…" or '…', starting at the quote. */
static void pass_quoted(struct cxx_lexer *lx)
{
    char quote = cxx_lex_peek(lx);

    cxx_lex_next_byte(lx);
    while (!at_line_end(lx) && cxx_lex_peek(lx) != quote) {
        bool escape = cxx_lex_peek(lx) == '\\';

        cxx_lex_next_byte(lx);
        if (escape && !at_line_end(lx))
            cxx_lex_next_byte(lx);
    }
    if (!at_line_end(lx))
        cxx_lex_next_byte(lx);
}

/* Skips "delimiter(…)delimiter", starting at the quote; false when this is not
 * a raw string. */
static bool pass_raw(struct cxx_lexer *lx)
{
    struct str src = lx->src;
    size_t from = lx->pos + 1, n = 0;
    char closer[MAX_RAW_DELIMITER + 2];
    const char *end;

    while (n < MAX_RAW_DELIMITER && from + n < src.n &&
           !strchr(" ()\\\t\v\f\n\r\"", src.p[from + n]))
        n++;
    if (byte_at(lx, from + n) != '(')
        return false;
    closer[0] = ')';
    memcpy(closer + 1, src.p + from, n);
    closer[n + 1] = '"';
    end = memmem(src.p + from + n, src.n - from - n, closer, n + 2);
    lx->raw = lx->pos;
    lx->end = end ? (size_t)(end - src.p) + n + 2 : src.n;
    lx->pos = skip_splices(src, lx->end);
    return true;
}

/* The offset of the literal's opening quote, after its encoding prefix, or the
 * length of the text when there is no literal here. */
static size_t find_quote(const struct cxx_lexer *lx, bool *raw)
{
    size_t at = lx->pos;
    char c = byte_at(lx, at);

    if (c == 'u' && peek_next(lx) == '8')
        at = next_of(lx, next_of(lx, at));
    else if (c == 'u' || c == 'U' || c == 'L')
        at = next_of(lx, at);
    *raw = byte_at(lx, at) == 'R';
    if (*raw)
        at = next_of(lx, at);
    if (byte_at(lx, at) == '"' || (byte_at(lx, at) == '\'' && !*raw))
        return at;
    return lx->src.n;
}

static bool pass_literal(struct cxx_lexer *lx)
{
    bool raw;
    size_t quote = find_quote(lx, &raw);

    if (quote >= lx->src.n)
        return false;
    lx->pos = quote;
    if (!raw || !pass_raw(lx))
        pass_quoted(lx);
    return true;
}

/* ---- words and operators --------------------------------------------------- */

/* A preprocessing number: digits, letters, dots, signed exponents and single
 * quotes between digits. */
static bool pass_number(struct cxx_lexer *lx)
{
    if (!is_digit(cxx_lex_peek(lx)) &&
        !(cxx_lex_peek(lx) == '.' && is_digit(peek_next(lx))))
        return false;
    for (;;) {
        char c = cxx_lex_peek(lx), next = peek_next(lx);
        bool exponent = c == 'e' || c == 'E' || c == 'p' || c == 'P';

        if (exponent && (next == '+' || next == '-'))
            cxx_lex_next_byte(lx);
        else if (!(c == '\'' && cxx_lex_is_word(next)) && c != '.' &&
                 !cxx_lex_is_word(c))
            return true;
        cxx_lex_next_byte(lx);
    }
}

static bool is_any_of(const char *here, const char *ops, size_t n)
{
    for (; *ops; ops += n)
        if (memcmp(here, ops, n) == 0)
            return true;
    return false;
}

static void pass_operator(struct cxx_lexer *lx)
{
    size_t second = next_of(lx, lx->pos), third = next_of(lx, second), n = 1;
    char here[3] = {cxx_lex_peek(lx), byte_at(lx, second), byte_at(lx, third)};

    if (!is_any_of(here + 1, "=>:+-<&|#.*", 1)) /* no operator continues like
                                                   this */
        n = 1;
    else if (is_any_of(here, "<<<>>><<=>>=<=>->*...", 3))
        n = 3;
    else if (is_any_of(here, "::->++--<<>><=>===!=&&||+=-=*=/=%=&=|=^=##.*", 2))
        n = 2;
    while (n--)
        cxx_lex_next_byte(lx);
}

static enum cxx_kind pass_token(struct cxx_lexer *lx)
{
    lx->raw = lx->src.n;
    if (pass_literal(lx))
        return CXX_STRING;
    if (pass_number(lx))
        return CXX_NUMBER;
    if (!cxx_lex_is_word(cxx_lex_peek(lx))) {
        pass_operator(lx);
        return CXX_OP;
    }
    while (cxx_lex_is_word(cxx_lex_peek(lx)))
        cxx_lex_next_byte(lx);
    return CXX_NAME;
}

/* ---- tokens ---------------------------------------------------------------- */

/* Appends src[at, end) without splices to the current text. */
static void cxx_lex_add_text(struct cxx_lexer *lx, size_t at, size_t end)
{
    size_t raw = lx->raw < end ? lx->raw : end;

    for (; at < raw; at = next_of(lx, at))
        buf_putc(&lx->text, lx->src.p[at]);
    if (at < end)
        buf_put(&lx->text, lx->src.p + at, end - at);
}

static struct cxx_token *cxx_lex_emit(struct cxx_lexer *lx, enum cxx_kind kind,
                                      size_t at)
{
    struct cxx_token *t;

    lx->tok = xgrow(lx->tok, &lx->cap, lx->len, sizeof(*lx->tok));
    place_to(&lx->place, lx->src, at);
    t = &lx->tok[lx->len++];
    *t = (struct cxx_token){.kind = kind,
                            .at = (uint32_t)at,
                            .len = (uint32_t)(lx->end - at),
                            .line = lx->place.line,
                            .text = {lx->src.p + at, lx->end - at}};
    return t;
}

static void own_text(struct cxx_lexer *lx, struct cxx_token *t)
{
    t->text.n = lx->text.len;
    t->text.p = arena_strndup(lx->a, buf_str(&lx->text), lx->text.len);
}

static void lex_token(struct cxx_lexer *lx)
{
    size_t at = lx->pos;
    enum cxx_kind kind = pass_token(lx);
    struct cxx_token *t = cxx_lex_emit(lx, kind, at);

    if (memchr(t->text.p, '\\', t->text.n)) {
        buf_reset(&lx->text);
        cxx_lex_add_text(lx, at, lx->end);
        own_text(lx, t);
    }
}

/* ---- preprocessor lines ---------------------------------------------------- */

/* Whether a header name comes next: in <a//b> and "a\" the characters are
 * literal. */
static bool expects_header(const struct buf *line)
{
    static const char *const first[] = {"include", "include_next", "import",
                                        "embed"};
    struct str s = buf_view(line);
    size_t mark = str_starts(s, "%:") ? 2 : 1;

    s = str_trim((struct str){s.p + mark, s.n - mark});
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        if (str_eq(s, first[i]))
            return true;
    if ((!str_starts(s, "if") && !str_starts(s, "elif")) || !str_ends(s, "("))
        return false;
    s = str_trim((struct str){s.p, s.n - 1});
    return str_ends(s, "__has_include") || str_ends(s, "__has_include_next") ||
           str_ends(s, "__has_embed");
}

static bool pass_header(struct cxx_lexer *lx)
{
    char closer = cxx_lex_peek(lx) == '<' ? '>' : '"';

    if ((cxx_lex_peek(lx) != '<' && cxx_lex_peek(lx) != '"') ||
        !expects_header(&lx->text))
        return false;
    lx->raw = lx->src.n;
    do
        cxx_lex_next_byte(lx);
    while (!at_line_end(lx) && cxx_lex_peek(lx) != closer);
    if (!at_line_end(lx))
        cxx_lex_next_byte(lx);
    return true;
}

static void lex_directive(struct cxx_lexer *lx)
{
    size_t at = lx->pos, end = at;

    buf_reset(&lx->text);
    while (!at_line_end(lx)) {
        size_t from = lx->pos;

        if (pass_comment(lx)) {
            buf_putc(&lx->text, ' ');
            continue;
        }
        if (at == from || !pass_header(lx))
            pass_token(lx);
        cxx_lex_add_text(lx, from, lx->end);
        if (!cxx_lex_is_blank(lx->src.p[from]))
            end = lx->end;
    }
    while (lx->text.len && cxx_lex_is_blank(lx->text.data[lx->text.len - 1]))
        lx->text.data[--lx->text.len] = '\0';
    lx->end = end;
    own_text(lx, cxx_lex_emit(lx, CXX_DIRECTIVE, at));
}

/* ---- the loop -------------------------------------------------------------- */

static void cxx_lex_end_line(struct cxx_lexer *lx)
{
    size_t n = place_line_end(lx->src, lx->pos);

    lx->end = lx->pos + n;
    if (is_lone_return(lx->src, lx->pos))
        cxx_lex_emit(lx, CXX_OP, lx->pos);
    lx->pos = skip_splices(lx->src, lx->end);
    lx->line_start = true;
}

static void lex_next(struct cxx_lexer *lx)
{
    char c = cxx_lex_peek(lx);
    bool mark = c == '#' || (c == '%' && peek_next(lx) == ':');

    if (at_line_end(lx)) {
        cxx_lex_end_line(lx);
    } else if (cxx_lex_is_blank(c)) {
        cxx_lex_next_byte(lx);
    } else if (lx->line_start && mark) {
        lex_directive(lx);
    } else if (!pass_comment(lx)) {
        lx->line_start = false;
        lex_token(lx);
    }
}

void cxx_lex(struct cxx_tokens *out, struct str text, struct arena *a)
{
    struct cxx_lexer lx = {.a = a, .line_start = true};
    size_t bytes;

    lx.src = text.n ? text : (struct str){"", 0};
    buf_init(&lx.text, BUF_UNLIMITED);
    place_init(&lx.place, lx.src);
    lx.pos = skip_splices(lx.src, place_bom(lx.src));
    while (!at_end(&lx))
        lex_next(&lx);
    bytes = lx.len * sizeof(*lx.tok);
    out->tok = arena_alloc(a, bytes);
    out->len = lx.len;
    if (bytes)
        memcpy(out->tok, lx.tok, bytes);
    free(lx.tok);
    buf_release(&lx.text);
}
