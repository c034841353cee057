/* buf.c: bounded growable bytes. */
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t limit)
{
    *b = (struct buf){.limit = limit};
}

void buf_release(struct buf *b)
{
    free(b->data);
    buf_init(b, b->limit);
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

/* Makes room for n more bytes and the NUL; false when the limit forbids it. */
static int buf_reserve(struct buf *b, size_t n)
{
    size_t want = b->cap ? b->cap : 64;

    if (n > b->limit || b->len > b->limit - n)
        return 0;
    while (want < b->len + n + 1)
        want *= 2;
    if (want != b->cap) {
        b->data = xrealloc(b->data, want);
        b->cap = want;
    }
    return 1;
}

/* There is room. */
static void buf_append(struct buf *b, const void *p, size_t n)
{
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
}

int buf_add(struct buf *b, const void *p, size_t n, struct err *e)
{
    if (!buf_reserve(b, n))
        return err_set(e, ERR_LIMIT, "more than %zu bytes", b->limit);
    buf_append(b, p, n);
    return 0;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
    if (!buf_reserve(b, n))
        BUG("buf_put: more than %zu bytes", b->limit);
    buf_append(b, p, n);
}

void buf_puts(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    size_t room = b->cap - b->len;
    va_list ap, again;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
    va_end(ap);
    if (n < 0 || !buf_reserve(b, (size_t)n))
        BUG("buf_printf past the limit of %zu bytes", b->limit);
    if ((size_t)n >= room) /* it had not all the room it needs */
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
    va_end(again);
    b->len += (size_t)n;
}

const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}

struct str buf_view(const struct buf *b)
{
    return (struct str){buf_str(b), b->len};
}

struct str buf_keep(struct buf *b, struct arena *a)
{
    struct str text = arena_str(a, buf_view(b));

    buf_release(b);
    return text;
}

char *buf_take(struct buf *b, size_t *len)
{
    char *p = b->data ? b->data : xcalloc(1, 1);

    if (len)
        *len = b->len;
    buf_init(b, b->limit);
    return p;
}
