/* sse.h: parses server-sent events from bytes that arrive in any parts. Lines end
 * with LF, CR or CRLF; a leading byte-order mark is skipped; an event ends with an
 * empty line. Events without data, and one cut off by the end of the stream, do
 * not count. `id` and `retry` are ignored: we never reconnect. */
#ifndef IO_SSE_H
#define IO_SSE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Called for each event; the default type is "message". The strings are valid until
 * it returns. Returns 0 to continue; anything else ends sse_feed(). */
typedef int sse_fn(struct str type, struct str data, void *arg);

struct sse {
    sse_fn *fn;
    void *arg;
    struct buf line, type, data; /* of the incomplete event */
    bool has_data;
    bool after_cr; /* a LF here is part of a CRLF */
    bool started;  /* past a possible byte-order mark */
    bool over;     /* ended by the function or an error */
};

/* `limit`: bytes of one line, and of one event's data. Allocates nothing. */
void sse_init(struct sse *s, size_t limit, sse_fn *fn, void *arg);
void sse_release(struct sse *s);

/* Returns 1 when the function ended it, -1 past the limit. */
int sse_feed(struct sse *s, const char *p, size_t n, struct err *e);

#endif
