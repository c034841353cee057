/* fuzz_operators.c: any bytes as the source of a task or a candidate. Its
 * operators are plain names, sorted, each once; in the order of computing they
 * are such names too. Its primitives have names, as a program and as a text. */
#include "source/operators.h"
#include "source/primitives.h"
#include "source/py_normal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_primitives(struct str src, struct arena *a)
{
    struct map set = {0}, aliases = {0};
    bool inside;

    inside = primitives_of(src, &set, &aliases, a);
    primitives_in_text(src, &aliases, inside, &set, a);
    for (size_t i = 0; i < set.len; i++)
        if (!set.items[i].key[0] || strpbrk(set.items[i].key, "( \n"))
            abort();
    primitives_mentioned(src, set.len ? set.items[0].key : "x");
    map_release(&set);
    map_release(&aliases);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str src = {(const char *)data, size};
    struct py_tokens t;
    const char **ops;
    char hash[HASH_HEX];
    struct arena a = {0};

    py_lex(&t, src, &a);
    py_normal_hash_renamed(src, hash);
    ops = operators_of(&t, &a);
    for (size_t i = 0; ops[i]; i++)
        if (!ops[i][0] || strpbrk(ops[i], ".( \n") ||
            (i && strcmp(ops[i - 1], ops[i]) >= 0))
            abort();
    for (ops = operators_chain(&t, &a); *ops; ops++)
        if (!**ops || strpbrk(*ops, ".( \n"))
            abort();
    read_primitives(src, &a);
    arena_release(&a);
    return 0;
}
