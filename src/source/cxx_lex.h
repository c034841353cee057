/* cxx_lex.h: splits C, C++ and CUDA source into tokens, in enough detail to
 * tell code from comments and literals: line splices, raw strings, character
 * literals and their prefixes, digit separators, preprocessor lines. Never
 * fails: an unterminated literal ends with its line, as in a skipped #if group;
 * an unterminated comment or raw string ends with the text. A carriage return
 * that is not part of a line end is a CXX_OP of its own and ends a line.
 * Compilers disagree about it, so a rule can refuse it. */
#ifndef SOURCE_CXX_LEX_H
#define SOURCE_CXX_LEX_H

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum cxx_kind {
    CXX_NAME,
    CXX_NUMBER,
    CXX_STRING, /* also character literals; with prefix and quotes */
    CXX_OP,
    CXX_DIRECTIVE, /* a whole preprocessor line, splices joined, no comments */
};

struct cxx_token {
    enum cxx_kind kind;
    uint32_t at, len;
    uint32_t line;   /* 1-based, within the text */
    struct str text; /* splices removed */
};

struct cxx_tokens {
    struct cxx_token *tok;
    size_t len;
};

void cxx_lex(struct cxx_tokens *out, struct str text, struct arena *a);

#endif
