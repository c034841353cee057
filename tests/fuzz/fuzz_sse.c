/* fuzz_sse.c: any bytes as server-sent events. The first byte says in what
 * pieces the rest arrives, which must make no difference. */
#include "base/buf.h"
#include "io/sse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int note(struct str type, struct str data, void *arg)
{
    if (!type.n || type.n > LIMIT || data.n > LIMIT ||
        memchr(type.p, '\n', type.n) || memchr(data.p, '\r', data.n))
        abort();
    buf_printf(arg, "%zu %zu:", type.n, data.n);
    buf_put(arg, type.p, type.n);
    buf_put(arg, data.p, data.n);
    return data.n == 3 && memcmp(data.p, "end", 3) == 0;
}

static int read_all(const char *p, size_t n, size_t step, struct buf *out)
{
    struct err e = ERR_INIT;
    struct sse s;
    int rc = 0;

    buf_init(out, BUF_UNLIMITED);
    sse_init(&s, LIMIT, note, out);
    for (size_t i = 0; i < n && rc == 0; i += step)
        rc = sse_feed(&s, p + i, n - i < step ? n - i : step, &e);
    sse_release(&s);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole, pieces;
    size_t step;

    if (!size)
        return 0;
    step = 1 + data[0] % 32;
    if (read_all((const char *)data + 1, size - 1, size, &whole) !=
            read_all((const char *)data + 1, size - 1, step, &pieces) ||
        whole.len != pieces.len ||
        memcmp(buf_str(&whole), buf_str(&pieces), whole.len) != 0)
        abort();
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
