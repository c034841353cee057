/* sse.h: server-sent events out of bytes that arrive in any pieces. Lines end
 * with LF, CR or CRLF; a byte-order mark in front is passed over; an event ends
 * with an empty line, and one without data is none. What the stream's end cuts
 * off is not an event. `id` and `retry` are passed over: nobody here connects
 * again by himself. */
#ifndef IO_SSE_H
#define IO_SSE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* One event; its type is "message" when it says none. Gone when the function
 * returns; 0 goes on, anything else ends sse_feed(). */
typedef int sse_fn(struct str type, struct str data, void *arg);

struct sse {
    sse_fn *fn;
    void *arg;
    struct buf line, type, data; /* of the event that is not whole yet */
    bool has_data;
    bool after_cr; /* a LF here belongs to the CR before it */
    bool started;  /* a byte-order mark can no longer come */
    bool over;     /* it was refused or ended; nothing more is taken */
};

/* `limit`: bytes of one line, and of one event's data. Allocates nothing. */
void sse_init(struct sse *s, size_t limit, sse_fn *fn, void *arg);
void sse_release(struct sse *s);

/* 0; or 1 when the function ended it; or -1 past the limit. */
int sse_feed(struct sse *s, const char *p, size_t n, struct err *e);

#endif
