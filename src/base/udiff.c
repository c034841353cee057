/* udiff.c: the shortest edit script (Myers 1986), printed in hunks. */
#include "base/udiff.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 3
#define MOST_DIFF \
    1000 /* lines that differ: memory and time grow as its square */

struct line {
    struct str text;
    uint64_t hash;
};

struct lines {
    struct line *at;
    size_t len;
};

static struct lines udiff_split(struct str text)
{
    struct lines l = {0};
    size_t cap = 0;

    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) + 1 : text.n;

        l.at = xgrow(l.at, &cap, l.len, sizeof(*l.at));
        l.at[l.len++] = (struct line){{text.p, n}, fnv1a(text.p, n)};
        text.p += n;
        text.n -= n;
    }
    return l;
}

/* What becomes of the lines: dropped ones of `a`, new ones of `b`. */
struct script {
    struct lines a, b;
    bool *gone, *new;
};

static bool same(const struct script *s, size_t x, size_t y)
{
    const struct line *a = &s->a.at[x], *b = &s->b.at[y];

    return a->hash == b->hash && str_same(a->text, b->text);
}

/* Follows the saved frontiers back from (x, y) to the start of the middle. */
static void trace_back(struct script *s, int **saved, int d, int x, int y,
                       size_t from)
{
    for (; d > 0; d--) {
        const int *v = saved[d - 1] + d; /* v[k], |k| < d */
        int k = x - y;
        bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
        int before = down ? v[k + 1] : v[k - 1];

        x = before;
        y = before - (down ? k + 1 : k - 1);
        if (down)
            s->new[from + (size_t)y] = true;
        else
            s->gone[from + (size_t)x] = true;
    }
}

/* The middle: n lines of `a` and m of `b`, both after `from` equal ones. */
static void udiff_compare(struct script *s, size_t from, int n, int m)
{
    int *saved[MOST_DIFF + 1] = {0}, d, x = 0, y = 0;
    bool found = false;

    for (d = 0; !found && d <= MOST_DIFF; d++) {
        /* One more on either side, for the next round's look aside. */
        int *v = xcalloc(2 * (size_t)d + 3, sizeof(*v)),
            *last = d ? saved[d - 1] + d : NULL;

        saved[d] = v;
        v += d + 1;
        for (int k = -d; !found && k <= d; k += 2) {
            if (d == 0)
                x = 0;
            else if (k == -d || (k != d && last[k - 1] < last[k + 1]))
                x = last[k + 1];
            else
                x = last[k - 1] + 1;
            y = x - k;
            while (x >= 0 && y >= 0 && x < n && y < m &&
                   same(s, from + (size_t)x, from + (size_t)y))
                x++, y++;
            v[k] = x;
            found = x >= n && y >= m;
        }
    }
    if (found) {
        trace_back(s, saved, d - 1, x, y, from);
    } else {
        memset(s->gone + from, true, (size_t)n);
        memset(s->new + from, true, (size_t)m);
    }
    for (int i = 0; i <= MOST_DIFF; i++)
        free(saved[i]);
}

/* ---- hunks ---- */

static void udiff_put_line(char mark, struct str line, struct buf *out)
{
    buf_putc(out, mark);
    buf_put(out, line.p, line.n);
    if (line.p[line.n - 1] != '\n')
        buf_puts(out, "\n\\ No newline at end of file\n");
}

static void put_range(char mark, size_t from, size_t to, struct buf *out)
{
    /* An empty range names the line before it. */
    buf_printf(out, " %c%zu", mark, to > from ? from + 1 : from);
    if (to - from != 1)
        buf_printf(out, ",%zu", to - from);
}

static bool at_change(const struct script *s, size_t x, size_t y)
{
    return (x < s->a.len && s->gone[x]) || (y < s->b.len && s->new[y]);
}

/* Moves from the first change of a hunk to its end, the context included. */
static void udiff_end_of(const struct script *s, size_t *x, size_t *y)
{
    size_t equal = 0;

    while (*x < s->a.len || *y < s->b.len) {
        if (at_change(s, *x, *y)) {
            if (*x < s->a.len && s->gone[*x])
                (*x)++;
            else
                (*y)++;
            equal = 0;
            continue;
        }
        if (++equal > (size_t)2 * CONTEXT)
            break;
        (*x)++;
        (*y)++;
    }
    if (equal > CONTEXT) { /* the rest belongs to nobody, or to the next */
        size_t back =
            (equal > (size_t)2 * CONTEXT ? equal - 1 : equal) - CONTEXT;

        *x -= back;
        *y -= back;
    }
}

static void put_hunk(const struct script *s, size_t *x, size_t *y,
                     struct buf *out)
{
    size_t back = *x < CONTEXT ? *x : CONTEXT, a = *x - back, b = *y - back,
           a_end = *x, b_end = *y;

    udiff_end_of(s, &a_end, &b_end);
    buf_puts(out, "@@");
    put_range('-', a, a_end, out);
    put_range('+', b, b_end, out);
    buf_puts(out, " @@\n");
    while (a < a_end || b < b_end) {
        if (a < a_end && s->gone[a]) {
            udiff_put_line('-', s->a.at[a++].text, out);
        } else if (b < b_end && s->new[b]) {
            udiff_put_line('+', s->b.at[b++].text, out);
        } else {
            udiff_put_line(' ', s->a.at[a++].text, out);
            b++;
        }
    }
    *x = a_end;
    *y = b_end;
}

void udiff_put(struct str a, const char *a_name, struct str b,
               const char *b_name, struct buf *out)
{
    struct script s = {.a = udiff_split(a), .b = udiff_split(b)};
    size_t from = 0, n = s.a.len, m = s.b.len, x = 0, y = 0;

    s.gone = xcalloc(n + 1, sizeof(bool));
    s.new = xcalloc(m + 1, sizeof(bool));
    while (from < n && from < m && same(&s, from, from))
        from++;
    while (n > from && m > from && same(&s, n - 1, m - 1))
        n--, m--;
    if (n > from || m > from) {
        udiff_compare(&s, from, (int)(n - from), (int)(m - from));
        buf_printf(out, "--- %s\n+++ %s\n", a_name, b_name);
    }
    while (x < s.a.len || y < s.b.len) {
        if (at_change(&s, x, y)) {
            put_hunk(&s, &x, &y, out);
        } else {
            x++;
            y++;
        }
    }
    free(s.gone);
    free(s.new);
    free(s.a.at);
    free(s.b.at);
}
