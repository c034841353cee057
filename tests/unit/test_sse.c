/* test_sse.c: events out of bytes, however they are cut. */
#include "base/buf.h"
#include "base/str.h"
#include "io/sse.h"
#include "tap.h"

#include <string.h>

/* Events as text: "type=data;" each. */
static int note(struct str type, struct str data, void *arg)
{
    buf_printf(arg, "%.*s=%.*s;", (int)type.n, type.p, (int)data.n, data.p);
    return 0;
}

/* What comes of `text` when it is fed in pieces of `step` bytes. */
static void read_events(struct str text, size_t step, struct buf *out)
{
    struct err e = ERR_INIT;
    struct sse s;

    buf_reset(out);
    sse_init(&s, 1000, note, out);
    for (size_t i = 0; i < text.n; i += step) {
        size_t n = text.n - i < step ? text.n - i : step;

        if (sse_feed(&s, text.p + i, n, &e) != 0)
            buf_printf(out, "ended: %s", e.text);
    }
    sse_release(&s);
}

static void test_events(void)
{
    static const struct {
        const char *text, *want, *claim;
    } cases[] = {
        {"data: a\n\ndata: b\n\n", "message=a;message=b;", "two events"},
        {"event: x\ndata: a\n\ndata: b\n\n", "x=a;message=b;",
         "a type holds for one event"},
        {"data: a\r\n\r\ndata: b\r\n\r\n", "message=a;message=b;",
         "lines that end with CRLF"},
        {"data: a\r\rdata: b\r\r", "message=a;message=b;",
         "lines that end with CR"},
        {"data: a\r\n\ndata: b\r\r\n", "message=a;message=b;", "mixed ends"},
        {"data: a\ndata: b\ndata:\ndata: c\n\n", "message=a\nb\n\nc;",
         "data over several lines"},
        {"data:a\ndata:  b\n\n", "message=a\n b;",
         "one space behind the colon is not data"},
        {"data\n\n", "message=;", "a field without a colon"},
        {"data: {\"a\":1}\n\n", "message={\"a\":1};", "more colons are data"},
        {": ping\n\n: ping\ndata: a\n: ping\n\n", "message=a;",
         "comments are passed over"},
        {"event: x\n\ndata: a\n\n", "message=a;",
         "an event without data is none"},
        {"id: 7\nretry: 10\nother: x\ndata: a\n\n", "message=a;",
         "other fields are passed over"},
        {"\xef\xbb\xbf"
         "data: a\n\n",
         "message=a;", "a byte-order mark in front"},
        {"data: a\n\n\xef\xbb\xbf"
         "data: b\n\n",
         "message=a;", "one further on is part of a name"},
        {"data: a\n\ndata: cut\n", "message=a;",
         "what the end cuts off is not an event"},
        {"data: \xf0\x9f\x90\x92\n\n", "message=\xf0\x9f\x90\x92;",
         "characters of several bytes"},
        {"\n\n\r\n\n", "", "empty lines alone"},
        {"", "", "nothing"},
    };
    struct buf out = {.limit = 10000};

    for (size_t i = 0; i < COUNT(cases); i++) {
        bool same = true;

        read_events(str_of(cases[i].text), 1000, &out);
        is(buf_str(&out), cases[i].want, cases[i].claim);
        for (size_t step = 1; step < 10; step++) {
            read_events(str_of(cases[i].text), step, &out);
            same = same && strcmp(buf_str(&out), cases[i].want) == 0;
        }
        ok(same, "… in pieces of 1 to 9 bytes");
    }
    buf_release(&out);
}

static void test_limits(void)
{
    static const char line[] = "data: 0123456789\n";
    struct err e = ERR_INIT;
    struct buf out = {.limit = 1000};
    struct sse s;

    sse_init(&s, 16, note, &out);
    ok(sse_feed(&s, line, sizeof(line) - 1, &e) == 0, "a line up to the limit");
    ok(sse_feed(&s, line, sizeof(line) - 1, &e) == -1 && e.kind == ERR_LIMIT,
       "data past the limit");
    ok(sse_feed(&s, "\n\n", 2, &e) == 1 && out.len == 0,
       "nothing comes after that");
    sse_release(&s);
    sse_init(&s, 16, note, &out);
    ok(sse_feed(&s, ": 0123456789012345", 18, &e) == -1,
       "a line past the limit, a comment too");
    sse_release(&s);
    buf_release(&out);
}

static int stop_at_two(struct str type, struct str data, void *arg)
{
    int *seen = arg;

    (void)type;
    (void)data;
    return ++*seen == 2;
}

static void test_stop(void)
{
    static const char text[] = "data: a\n\ndata: b\n\ndata: c\n\n";
    struct err e = ERR_INIT;
    struct sse s;
    int seen = 0;

    sse_init(&s, 100, stop_at_two, &seen);
    ok(sse_feed(&s, text, sizeof(text) - 1, &e) == 1 && seen == 2,
       "the receiver can end it");
    ok(sse_feed(&s, text, sizeof(text) - 1, &e) == 1 && seen == 2, "for good");
    sse_release(&s);
}

SUITE(sse)
{
    test_events();
    test_limits();
    test_stop();
}
