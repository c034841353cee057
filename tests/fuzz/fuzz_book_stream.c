/* fuzz_book_stream.c: any bytes as a file of rows. Every row is an object, and
 * what ends the file is its end or an error. */
#include "data/book_stream.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = ERR_INIT;
    struct book_stream s;
    size_t rows = 0;
    json_t *v;
    FILE *in;

    if (!size)
        return 0;
    in = fmemopen((void *)data, size, "r");
    if (!in)
        abort();
    book_stream_init(&s, in, "rows");
    while ((v = book_stream_next(&s, &e))) {
        if (e.kind || !json_is_object(v))
            abort();
        json_decref(v);
        rows++;
    }
    if (rows != s.rows || book_stream_next(&s, &e))
        abort();
    book_stream_release(&s);
    fclose(in);
    return 0;
}
