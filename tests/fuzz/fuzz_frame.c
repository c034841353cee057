/* fuzz_frame.c: any bytes as frames: a whole one, none yet, or none at all. */
#include "io/frame.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    size_t at = 0;

    while (at <= size) {
        struct err e = ERR_INIT;
        struct frame f = {0};
        char head[300];
        long n = frame_parse(p + at, size - at, &f, &e);

        if (n <= 0)
            break;
        if ((size_t)n > size - at || f.payload < p + at ||
            f.payload + f.len != p + at + n || !f.type[0] || !f.id[0])
            abort();
        /* What is written is what was read, but for zeros in front of numbers. */
        if (frame_header(&f, head, sizeof(head)) > (size_t)n - f.len)
            abort();
        at += (size_t)n;
    }
    return 0;
}
