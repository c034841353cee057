/* fuzz_operators.c: any bytes as a task's source. Its operators are plain names,
 * sorted, each once. */
#include "facts/operators.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str src = {(const char *)data, size};
    struct py_tokens t;
    const char **ops;
    struct arena a;

    arena_init(&a);
    py_lex(&t, src, &a);
    ops = operators_of(&t, &a);
    for (size_t i = 0; ops[i]; i++)
        if (!ops[i][0] || strpbrk(ops[i], ".( \n") ||
            (i && strcmp(ops[i - 1], ops[i]) >= 0))
            abort();
    arena_release(&a);
    return 0;
}
