/* fuzz_book_convert.c: any bytes as a program of KernelBook; the first line is its
 * entry class. What is kept can be tokenized and has the class Model. */
#include "data/book_convert.h"
#include "lex/py_lex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str code = {(const char *)data, size}, entry;
    struct book_program p, again;
    struct py_tokens t;
    struct arena a;

    if (!str_cut(&code, '\n', &entry))
        return 0;
    arena_init(&a);
    book_convert(&p, entry, code, 0, &a);
    if (p.reason == BOOK_KEPT) {
        py_lex(&t, p.text, &a);
        if (t.problem.id || strlen(p.hash) != HASH_HEX - 1)
            abort();
        book_convert(&again, STR_LIT("Model"), p.text, 64, &a);
        if (again.reason == BOOK_ENTRY)
            abort();
    } else if (!p.detail) {
        abort();
    }
    arena_release(&a);
    return 0;
}
