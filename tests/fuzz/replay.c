/* replay.c: a main() for a fuzz target that runs it on the files given. */
#include "base/buf.h"
#include "base/fs.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct err e = ERR_INIT;
        struct buf b = {.limit = (size_t)16 << 20};

        if (fs_read(argv[i], &b, &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            return 1;
        }
        puts(argv[i]);
        LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&b), b.len);
        buf_release(&b);
    }
    return 0;
}
