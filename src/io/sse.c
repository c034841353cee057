/* sse.c: bytes to lines, lines to fields, fields to events. */
#include "io/sse.h"

#include <string.h>

static const char mark[] = "\xef\xbb\xbf";

void sse_init(struct sse *s, size_t limit, sse_fn *fn, void *arg)
{
    *s = (struct sse){.fn = fn, .arg = arg};
    buf_init(&s->line, limit);
    buf_init(&s->type, limit);
    buf_init(&s->data, limit);
}

void sse_release(struct sse *s)
{
    buf_release(&s->line);
    buf_release(&s->type);
    buf_release(&s->data);
}

static int sse_dispatch(struct sse *s)
{
    struct str type = buf_view(&s->type);
    struct str data = buf_view(&s->data);
    int rc = 0;

    if (s->has_data)
        rc = s->fn(type.n ? type : STR_LIT("message"), data, s->arg) != 0;
    buf_reset(&s->type);
    buf_reset(&s->data);
    s->has_data = false;
    return rc;
}

static int add_data(struct sse *s, struct str value, struct err *e)
{
    if (s->has_data && buf_add(&s->data, "\n", 1, e) < 0)
        return -1;
    s->has_data = true;
    return buf_add(&s->data, value.p, value.n, e);
}

/* A line without its end: a field, a comment, or the end of an event. */
static int sse_take_line(struct sse *s, struct str line, struct err *e)
{
    struct str field;

    if (!line.n)
        return sse_dispatch(s);
    if (!str_cut(&line, ':', &field)) {
        field = line;
        line.n = 0;
    }
    if (line.n && line.p[0] == ' ') {
        line.p++;
        line.n--;
    }
    if (str_eq(field, "data"))
        return add_data(s, line, e);
    if (str_eq(field, "event")) {
        buf_reset(&s->type);
        return buf_add(&s->type, line.p, line.n, e);
    }
    return 0;
}

static int sse_end_line(struct sse *s, struct err *e)
{
    struct str line = buf_view(&s->line);
    int rc;

    if (!s->started && str_starts(line, mark)) {
        line.p += sizeof(mark) - 1;
        line.n -= sizeof(mark) - 1;
    }
    s->started = true;
    rc = sse_take_line(s, line, e);
    buf_reset(&s->line);
    return rc;
}

/* How many bytes come before the first CR or LF. */
static size_t up_to_end(const char *p, size_t n)
{
    const char *lf = memchr(p, '\n', n);
    const char *cr;

    if (lf)
        n = (size_t)(lf - p);
    cr = memchr(p, '\r', n);
    return cr ? (size_t)(cr - p) : n;
}

static int sse_take_bytes(struct sse *s, const char *p, size_t n, struct err *e)
{
    while (n) {
        size_t part;
        int rc;

        if (s->after_cr && *p == '\n') {
            p++;
            n--;
        }
        s->after_cr = false;
        part = up_to_end(p, n);
        if (buf_add(&s->line, p, part, e) < 0)
            return -1;
        if (part == n)
            return 0;
        s->after_cr = p[part] == '\r';
        rc = sse_end_line(s, e);
        if (rc)
            return rc;
        p += part + 1;
        n -= part + 1;
    }
    return 0;
}

int sse_feed(struct sse *s, const char *p, size_t n, struct err *e)
{
    int rc = s->over ? 1 : sse_take_bytes(s, p, n, e);

    s->over = rc != 0;
    return rc;
}
