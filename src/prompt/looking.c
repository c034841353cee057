/* looking.c: results that fit a prompt, with line numbers to go on from. */
#include "prompt/looking.h"

#include "base/mem.h"
#include "llm/llm.h"
#include "pack/rx.h"

#include <string.h>

#define PEEK_LINES 200 /* where no end is said */

static bool find_document(const struct looking *l, const char *name,
                          struct span *out)
{
    const struct source *doc = sources_find(l->sources, name);
    size_t i;

    if (!doc)
        return false;
    i = (size_t)(doc - l->sources->item);
    if (l->only && l->only->source != i)
        return false;
    *out = l->only ? *l->only : sources_whole(l->sources, i);
    return true;
}

bool looking_span(const struct looking *l, const struct action *a,
                  struct span *out)
{
    if (!find_document(l, a->document, out))
        return false;
    if (a->from > out->from)
        out->from = a->from;
    if (a->to && a->to < out->to)
        out->to = a->to;
    return out->from <= out->to;
}

static struct str line_at(const struct sources *s, size_t source, size_t line)
{
    struct str x = sources_text(s, (struct span){source, line, line});

    while (x.n && (x.p[x.n - 1] == '\n' || x.p[x.n - 1] == '\r'))
        x.n--;
    return x;
}

/* False: it does not fit any more. */
static bool put_line(const struct looking *l, size_t source, size_t line,
                     bool named, int64_t *tokens, struct buf *out)
{
    struct str x = line_at(l->sources, source, line);

    if (x.n > 2000)
        x.n = 2000;
    *tokens -= llm_estimate_tokens(x) + 4;
    if (*tokens < 0)
        return false;
    if (named)
        buf_printf(out, "%s:", l->sources->item[source].name);
    buf_printf(out, "%zu: %.*s\n", line, (int)x.n, x.p);
    return true;
}

static void peek(const struct looking *l, struct span x, struct buf *out)
{
    int64_t tokens = l->tokens;

    for (size_t i = x.from; i <= x.to; i++)
        if (!put_line(l, x.source, i, false, &tokens, out)) {
            buf_printf(out, "(cut; go on from line %zu)\n", i);
            return;
        }
}

/* Lines of one document that match; false: no room or no time is left. */
static bool grep_in(const struct looking *l, struct span x, const struct rx *rx,
                    struct rx_ctx *c, int64_t *tokens, struct buf *out)
{
    struct str text = sources_text(l->sources, x);
    size_t line = x.from, at = 0, from = 0;

    while (from < text.n) {
        enum rx_result found = rx_find(c, rx, text, from);

        if (found == RX_NONE)
            return true;
        if (found != RX_MATCH) {
            buf_puts(out, "(the pattern takes too long)\n");
            return false;
        }
        for (; at < rx_at(c); at++)
            line += text.p[at] == '\n';
        if (!put_line(l, x.source, line, true, tokens, out)) {
            buf_puts(out, "(cut; narrow the pattern or name a document)\n");
            return false;
        }
        while (from < text.n && (from <= rx_at(c) || text.p[from - 1] != '\n'))
            from++;
    }
    return true;
}

static void grep(const struct looking *l, const struct action *a,
                 struct buf *out)
{
    struct err e = ERR_INIT;
    struct rx *rx = rx_new(a->text, &e);
    struct rx_ctx *c;
    int64_t tokens = l->tokens;
    size_t before = out->len;
    bool more = true;

    if (!rx) {
        buf_printf(out, "the pattern is wrong: %s\n", e.text);
        return;
    }
    c = rx_ctx_new(&rx_limits_default);
    for (size_t i = 0; more && i < l->sources->len; i++) {
        struct span x = sources_whole(l->sources, i);

        if (a->document[0] &&
            strcmp(a->document, l->sources->item[i].name) != 0)
            continue;
        if (l->only && l->only->source != i)
            continue;
        rx_round(c);
        more = grep_in(l, l->only ? *l->only : x, rx, c, &tokens, out);
    }
    if (out->len == before)
        buf_puts(out, "no line matches\n");
    rx_ctx_free(c);
    rx_free(rx);
}

void looking_do(const struct looking *l, const struct action *a,
                struct buf *out)
{
    struct span x;

    buf_printf(out, "%s %s", action_names[a->kind],
               a->kind == ACTION_GREP ? a->text : a->document);
    if (a->from || a->to)
        buf_printf(out, " from %zu to %zu", a->from, a->to);
    buf_puts(out, ":\n");
    if (a->kind == ACTION_GREP) {
        grep(l, a, out);
    } else if (!looking_span(l, a, &x)) {
        buf_puts(out, "there is no such document, or it has no such lines; the "
                      "manifest has the names\n");
    } else if (a->kind == ACTION_LIST) {
        sources_manifest(l->sources, &x, l->tokens, out);
    } else {
        if (!a->to && x.to - x.from >= PEEK_LINES)
            x.to = x.from + PEEK_LINES - 1;
        peek(l, x, out);
    }
}
