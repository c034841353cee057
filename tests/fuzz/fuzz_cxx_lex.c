/* fuzz_cxx_lex.c: whatever the bytes, C++ tokens are in order and in bounds,
 * never empty, and no longer than what they were made from. */
#include "source/cxx_lex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_token(const struct cxx_token *k)
{
    char first = k->text.p[0];

    require(k->text.n > 0 && k->text.n <= k->len);
    if (k->kind == CXX_DIRECTIVE)
        require(first == '#' || first == '%');
    if (k->kind == CXX_STRING)
        require(memchr(k->text.p, '"', k->text.n) ||
                memchr(k->text.p, '\'', k->text.n));
    if (k->kind == CXX_NUMBER)
        require((first >= '0' && first <= '9') || first == '.');
    if (k->kind == CXX_OP)
        require(k->text.n <= 3);
    if (k->kind == CXX_NAME || k->kind == CXX_NUMBER)
        require(!memchr(k->text.p, '\n', k->text.n) &&
                !memchr(k->text.p, '"', k->text.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct cxx_tokens t;
    struct arena a = {0};
    size_t end = 0, line = 1;

    cxx_lex(&t, text, &a);
    for (size_t i = 0; i < t.len; i++) {
        const struct cxx_token *k = &t.tok[i];

        require(k->at >= end && k->len > 0 && k->len <= size - k->at);
        require(k->line >= line);
        check_token(k);
        end = k->at + k->len;
        line = k->line;
    }
    arena_release(&a);
    return 0;
}
