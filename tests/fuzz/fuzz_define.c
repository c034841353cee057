/* fuzz_define.c: the first line is a word of --define, the rest a source. What
 * comes out has the tokens of the source, but for the one value. */
#include "source/task.h"

#include "source/py_lex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t names(const struct py_tokens *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->len; i++)
        n += t->tok[i].kind == PY_NAME && !py_is(&t->tok[i], "True") &&
             !py_is(&t->tok[i], "False");
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str source = {(const char *)data, size}, word;
    struct py_tokens before, after;
    struct err e = ERR_INIT;
    struct arena a = {0};
    struct buf out = BUF_INIT;
    int rc;

    if (!str_cut(&source, '\n', &word) || memchr(word.p, 0, word.n))
        return 0;
    rc = define_in("f", source, arena_strndup(&a, word.p, word.n), &out, &e);
    if (rc == 0 && !str_same(source, (struct str){buf_str(&out), out.len}))
        abort();
    if (rc > 0) {
        py_lex(&before, source, &a);
        py_lex(&after, (struct str){buf_str(&out), out.len}, &a);
        if (!before.problem.id &&
            (after.problem.id || names(&before) != names(&after)))
            abort();
    }
    buf_release(&out);
    arena_release(&a);
    return 0;
}
