/* py_lex_int.h: shared by the files of the Python lexer. py_lex.c has the main
 * loop and handles lines, brackets and operators; py_source.c accepts or
 * refuses the text; py_word.c reads names and numbers; py_string.c reads
 * strings and f-strings.
 *
 * A stack records what is open. If the top entry is an f-string or a format
 * spec, the lexer reads text; otherwise it reads code. */
#ifndef SOURCE_PY_LEX_INT_H
#define SOURCE_PY_LEX_INT_H

#include "source/place.h"
#include "source/py_lex.h"

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

/* Records the problem if it is the first. Returns false. */
bool py_fail(struct py_lexer *lx, const char *id, size_t at,
             const char *message);
bool py_bad(struct py_lexer *lx, size_t at, const char *message);

/* Appends the token src[at, end). The pointer is valid until the next call. */
struct py_token *py_emit(struct py_lexer *lx, enum py_kind kind, size_t at,
                         size_t end);
struct py_open *py_top(struct py_lexer *lx); /* NULL: nothing is open */
/* Pushes the token just emitted as an opener; false when nested too deeply. */
bool py_push(struct py_lexer *lx, enum py_open_kind kind, char closer);
/* Pops the top entry, closed by the token just emitted. */
void py_pop(struct py_lexer *lx);

/* Each reads at lx->pos and advances it; false when it recorded a problem. */
bool py_source_admit(struct py_lexer *lx);
bool py_lex_name(struct py_lexer *lx);
bool py_lex_number(struct py_lexer *lx);
/* Whether a string starts here: *prefix letters, then a quote. */
bool py_string_here(const struct py_lexer *lx, size_t *prefix);
bool py_lex_string(struct py_lexer *lx, size_t prefix);
bool py_lex_ftext(struct py_lexer *lx);

#endif
