/* py_lex.h: splits Python source into tokens the way CPython's tokenizer does:
 * comments dropped, lines joined by brackets and backslashes, indentation as
 * tokens, every string form, f-strings split into text and real code. The
 * source is untrusted: the lexer never fails, and recursion is bounded. If the
 * source cannot be tokenized, the result is one `problem` with its place, and
 * the tokens before it. */
#ifndef SOURCE_PY_LEX_H
#define SOURCE_PY_LEX_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PY_MAX_BYTES ((size_t)1 << 20)

enum py_kind {
    PY_NAME, /* identifiers and keywords; `text` is NFKC-normalised */
    PY_NUMBER,
    PY_STRING,  /* a whole literal that is not an f-string; body_* is inside */
    PY_FSTART,  /* f" or rf''' …: opens an f-string */
    PY_FTEXT,   /* literal text inside an f-string (and inside format specs) */
    PY_FEND,    /* the closing quotes */
    PY_OP,      /* operators and brackets, longest match: "**=", "->", ":=" …;
                   the braces round an f-string expression are PY_OP { and },
                   "!r" gives PY_OP "!" and a PY_NAME */
    PY_NEWLINE, /* end of a logical line; at, len cover the line end */
    PY_INDENT,
    PY_DEDENT,
    PY_END, /* always the last token */
};

/* PY_FIELD marks the parts of an f-string's replacement field that are not its
 * expression: the braces, the "!", and the "=" and ":" after the expression. */
enum { PY_RAW = 1, PY_BYTES = 2, PY_TRIPLE = 4, PY_UNICODE = 8, PY_FIELD = 16 };

struct py_token {
    enum py_kind kind;
    uint8_t flags;              /* PY_RAW … of strings and f-string starts,
                                  PY_FIELD of operators */
    uint32_t at, len;           /* position in the source */
    uint32_t line, column;      /* 1-based; column counts characters */
    uint32_t body_at, body_len; /* PY_STRING: between the quotes */
    uint32_t match;             /* brackets, PY_FSTART, PY_FEND: index of the
                                   partner (of PY_END if a problem left it
                                   open); otherwise 0 */
    struct str text;            /* as in the source, but NFKC for PY_NAME */
};

struct py_problem {
    const char *id; /* NULL: no problem. Otherwise source-encoding, source-nul,
                       source-too-large or source-syntax */
    uint32_t at, line, column;
    const char *message;
};

struct py_tokens {
    struct py_token *tok; /* `len` tokens; the last is PY_END */
    size_t len;
    struct py_problem problem;
};

/* Tokens and their text live in `a`; `src` must outlive them. Even after a
 * problem the tokens end properly: PY_NEWLINE after an unfinished line, one
 * PY_DEDENT for each PY_INDENT, PY_END. A source that is refused as a whole
 * (encoding, NUL, size) yields only PY_END. */
void py_lex(struct py_tokens *out, struct str src, struct arena *a);

bool py_is(const struct py_token *t, const char *text); /* name or operator */
/* The dotted name at token *i, such as "torch.nn", in `a`; moves *i past it. */
const char *py_dotted(const struct py_token *tok, size_t *i, struct arena *a);

#endif
