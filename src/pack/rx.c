/* rx.c: regular expressions on untrusted text. */
#include "pack/rx.h"

#include "base/mem.h"
#include "base/tick.h"
#include "pack/quote.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define GROUP_CHARS 100 /* of a group in a message */

/* PCRE2 counts steps separately for each position where a match may start, so a
 * long text can cost the step limit at every byte. Therefore the text is
 * searched in windows, and the time is checked between them. */
#define WINDOW_FIRST ((size_t)256)
#define WINDOW_MOST  ((size_t)4096)

/* The code that PCRE2 10.42 compiles for aarch64 may read a whole vector at the
 * end of the text, although the next page may not be mapped. */
#define OVERREAD   ((size_t)64)
#define PAGE_LEAST ((size_t)4096)

struct rx {
    pcre2_code *code;
    uint32_t groups;
};

struct rx_ctx {
    pcre2_match_context *match;
    pcre2_jit_stack *stack;
    pcre2_match_data *data;
    struct buf copy; /* of a text that ends where its page ends */
    int64_t round_ns, end_ns;
    int pairs; /* pairs of offsets set by the last match */
};

const struct rx_limits rx_limits_default = {
    .match = 200000,
    .depth = 10000,
    .heap_kib = 16384,
    .jit_stack_bytes = (size_t)1 << 20,
    .round_ns = 5 * TICK_S,
};

static int compile_error(struct err *e, int code, size_t at)
{
    PCRE2_UCHAR text[256] = "";

    pcre2_get_error_message(code, text, sizeof(text));
    return err_set(e, ERR_INPUT, "at offset %zu: %s", at, (char *)text);
}

static int on_callout(pcre2_callout_enumerate_block *b, void *arg)
{
    size_t *at = arg;

    *at = b->pattern_position;
    return 1;
}

static pcre2_match_context *limited(const struct rx_limits *l)
{
    pcre2_match_context *m = pcre2_match_context_create(NULL);

    if (!m)
        BUG("rx: no memory");
    pcre2_set_match_limit(m, l->match);
    pcre2_set_depth_limit(m, l->depth);
    pcre2_set_heap_limit(m, l->heap_kib);
    return m;
}

static bool matches_empty(const pcre2_code *code)
{
    pcre2_match_context *m = limited(&rx_limits_default);
    pcre2_match_data *d = pcre2_match_data_create(1, NULL);
    int rc;

    if (!d)
        BUG("rx: no memory");
    rc = pcre2_match(code, (PCRE2_SPTR) "", 0, 0, 0, d, m);
    pcre2_match_data_free(d);
    pcre2_match_context_free(m);
    return rc >= 0;
}

static int rx_refuse(const pcre2_code *code, struct err *e)
{
    size_t at = 0;

    if (pcre2_callout_enumerate(code, on_callout, &at) != 0)
        return err_set(e, ERR_INPUT, "at offset %zu: callouts are not allowed",
                       at);
    if (matches_empty(code))
        return err_set(e, ERR_INPUT,
                       "at offset 0: the pattern matches the empty text");
    return 0;
}

static pcre2_code *compile(const char *pattern, struct err *e)
{
    const uint32_t options = PCRE2_UTF | PCRE2_MULTILINE |
                             PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    pcre2_code *code;
    int why;
    PCRE2_SIZE at;

    if (!c)
        BUG("rx: no memory");
    pcre2_set_newline(c, PCRE2_NEWLINE_ANYCRLF);
    pcre2_set_max_pattern_length(c, RX_PATTERN_MAX);
    pcre2_set_parens_nest_limit(c, 100);
    code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options,
                         &why, &at, c);
    pcre2_compile_context_free(c);
    if (!code)
        compile_error(e, why, at);
    return code;
}

struct rx *rx_new(const char *pattern, struct err *e)
{
    pcre2_code *code = compile(pattern, e);
    struct rx *rx;

    if (!code)
        return NULL;
    if (rx_refuse(code, e) < 0) {
        pcre2_code_free(code);
        return NULL;
    }
    rx = xcalloc(1, sizeof(*rx));
    rx->code = code;
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &rx->groups);
    /* If this fails, the interpreter runs instead, with the same limits. */
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return rx;
}

void rx_free(struct rx *rx)
{
    if (!rx)
        return;
    pcre2_code_free(rx->code);
    free(rx);
}

size_t rx_group_count(const struct rx *rx)
{
    return rx->groups;
}

struct rx_ctx *rx_ctx_new(const struct rx_limits *l)
{
    const size_t first = 32768;
    struct rx_ctx *c = xcalloc(1, sizeof(*c));

    c->match = limited(l);
    c->data = pcre2_match_data_create(RX_GROUPS, NULL);
    if (!c->data)
        BUG("rx: no memory");
    /* NULL without JIT support, which then needs no stack. */
    c->stack = pcre2_jit_stack_create(
        l->jit_stack_bytes < first ? l->jit_stack_bytes : first,
        l->jit_stack_bytes, NULL);
    pcre2_jit_stack_assign(c->match, NULL, c->stack);
    buf_init(&c->copy, BUF_UNLIMITED);
    c->round_ns = l->round_ns;
    rx_round(c);
    return c;
}

void rx_ctx_free(struct rx_ctx *c)
{
    if (!c)
        return;
    pcre2_match_data_free(c->data);
    pcre2_match_context_free(c->match);
    pcre2_jit_stack_free(c->stack);
    buf_release(&c->copy);
    free(c);
}

void rx_round(struct rx_ctx *c)
{
    c->end_ns = tick_used_ns() + c->round_ns;
}

static enum rx_result failure(int rc)
{
    switch (rc) {
    case PCRE2_ERROR_NOMATCH:
        return RX_NONE;
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_JIT_STACKLIMIT:
    case PCRE2_ERROR_RECURSELOOP:
    case PCRE2_ERROR_NOMEMORY:
        return RX_LIMIT;
    default:
        BUG("rx: pcre2_match says %d", rc);
    }
}

/* The last start position in a window; it may be in the middle of a
 * character. */
static size_t window_end(struct str text, size_t from, size_t window)
{
    return text.n - from > window ? from + window : text.n;
}

static size_t next_char(struct str text, size_t at)
{
    do
        at++;
    while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80);
    return at;
}

/* The text, to be searched up to `end`: a copy if a vector read there could
 * cross the end of its page. Searches that end earlier do not read so far. */
static PCRE2_SPTR readable(struct rx_ctx *c, struct str text, size_t end)
{
    static const char slack[OVERREAD];
    size_t left = -((uintptr_t)text.p + text.n) % PAGE_LEAST;

    if (left >= OVERREAD || text.n - end >= OVERREAD)
        return (PCRE2_SPTR)text.p;
    buf_reset(&c->copy);
    buf_put(&c->copy, text.p, text.n);
    buf_put(&c->copy, slack, sizeof(slack));
    return (PCRE2_SPTR)c->copy.data;
}

enum rx_result rx_find(struct rx_ctx *c, const struct rx *rx, struct str text,
                       size_t from)
{
    size_t window = WINDOW_FIRST;

    if (!text.p)
        text.p = "";
    c->pairs = 0;
    while (from <= text.n) {
        size_t end = window_end(text, from, window);
        int rc;

        if (tick_used_ns() > c->end_ns)
            return RX_TIME;
        pcre2_set_offset_limit(c->match, end);
        rc = pcre2_match(rx->code, readable(c, text, end), text.n, from,
                         PCRE2_NO_UTF_CHECK, c->data, c->match);
        if (rc >= 0) {
            c->pairs = rc ? rc : RX_GROUPS;
            return RX_MATCH;
        }
        if (rc != PCRE2_ERROR_NOMATCH)
            return failure(rc);
        from = next_char(text, end);
        window = window < WINDOW_MOST ? 2 * window : WINDOW_MOST;
    }
    return RX_NONE;
}

size_t rx_next(const struct rx_ctx *c, struct str text)
{
    size_t end = pcre2_get_ovector_pointer(c->data)[1];

    /* \K changes the reported start of a match, not where it was found. */
    return pcre2_get_startchar(c->data) < end ? end : next_char(text, end);
}

size_t rx_at(const struct rx_ctx *c)
{
    return pcre2_get_ovector_pointer(c->data)[0];
}

struct str rx_group(const struct rx_ctx *c, struct str text, size_t n)
{
    const PCRE2_SIZE *o = pcre2_get_ovector_pointer(c->data);

    if (n >= (size_t)c->pairs || o[2 * n] == PCRE2_UNSET ||
        o[2 * n] > o[2 * n + 1])
        return (struct str){"", 0};
    return (struct str){text.p + o[2 * n], o[2 * n + 1] - o[2 * n]};
}

static bool is_group(const char *p)
{
    return p[0] == '$' && p[1] >= '0' && p[1] <= '9';
}

void rx_expand(const struct rx_ctx *c, struct str text, const char *model,
               struct buf *out)
{
    for (const char *p = model; *p; p++) {
        if (!is_group(p)) {
            buf_putc(out, *p);
            continue;
        }
        quote_add(out, rx_group(c, text, (size_t)(p[1] - '0')), GROUP_CHARS);
        p++;
    }
}

int rx_model_groups(const char *model)
{
    int most = -1;

    for (const char *p = model; *p; p++)
        if (is_group(p) && p[1] - '0' > most)
            most = p[1] - '0';
    return most;
}
