/* split.c: the alternatives of the pattern, in its order. */
#include "data/split.h"

#include <string.h>

/* A character, or the end of the text: length 0. */
struct seen {
    size_t len;
    unsigned kind;
    bool newline;
};

#define WORD (UNICODE_LETTER | UNICODE_NUMBER)

static inline struct seen look(const struct unicode *u, const char *p, size_t n)
{
    unsigned char c;
    uint32_t cp;
    size_t len;

    if (!n)
        return (struct seen){0, 0, false};
    c = (unsigned char)p[0];
    if (c < 0x80)
        return (struct seen){1, u->kind[c], c == '\n' || c == '\r'};
    len = str_utf8_decode(p, n, &cp);
    return (struct seen){len, unicode_kind(u, cp), false};
}

/* Where the run of characters of this kind that starts at `at` ends. */
static inline size_t run_end(const struct unicode *u, const char *p, size_t n,
                             size_t at, unsigned kind)
{
    for (;;) {
        struct seen s;

        while (at < n && (unsigned char)p[at] < 0x80 &&
               (u->kind[(unsigned char)p[at]] & kind))
            at++;
        if (at == n || (unsigned char)p[at] < 0x80)
            return at;
        s = look(u, p + at, n - at);
        if (!(s.kind & kind))
            return at;
        at += s.len;
    }
}

/* 's 't 're 've 'm 'll 'd in either case, after the quote at p[0]; else 0. The
 * long s (U+017F) is an s in another case, too. */
static size_t contraction(const char *p, size_t n)
{
    char a = n > 1 ? (char)(p[1] | 0x20) : 0,
         b = n > 2 ? (char)(p[2] | 0x20) : 0;

    if (n > 1 && (a == 's' || a == 't' || a == 'm' || a == 'd'))
        return 2;
    if (n > 2 && ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') ||
                  (a == 'l' && b == 'l')))
        return 3;
    if (n > 2 && memcmp(p + 1, "\xc5\xbf", 2) == 0)
        return 3;
    return 0;
}

/* ` ?[^\s\p{L}\p{N}]+[\r\n]*`, whose first sign is at `at`. */
static size_t signs(const struct unicode *u, const char *p, size_t n, size_t at)
{
    for (;;) {
        struct seen s = look(u, p + at, n - at);

        if (!s.len || (s.kind & (WORD | UNICODE_SPACE)))
            break;
        at += s.len;
    }
    while (at < n && (p[at] == '\n' || p[at] == '\r'))
        at++;
    return at;
}

/* White space: up to its last line end; else all of it at the end of the text;
 * else all but its last character, which belongs to what follows. */
static size_t white(const struct unicode *u, const char *p, size_t n)
{
    size_t end = run_end(u, p, n, 0, UNICODE_SPACE), line = end, last;

    while (line > 0 && p[line - 1] != '\n' && p[line - 1] != '\r')
        line--;
    if (line)
        return line;
    if (end == n)
        return n;
    last = end - 1;
    while (last > 0 && ((unsigned char)p[last] & 0xc0) == 0x80)
        last--;
    return last ? last : end;
}

size_t split_piece(const struct unicode *u, const char *p, size_t n)
{
    struct seen first = look(u, p, n), next;
    size_t len;

    if (first.kind & UNICODE_LETTER)
        return run_end(u, p, n, first.len, UNICODE_LETTER);
    if (first.kind & UNICODE_NUMBER)
        return first.len;
    if (p[0] == '\'' && (len = contraction(p, n)))
        return len;
    next = look(u, p + first.len, n - first.len);
    if (!first.newline && (next.kind & UNICODE_LETTER))
        return run_end(u, p, n, first.len + next.len, UNICODE_LETTER);
    if (!(first.kind & UNICODE_SPACE))
        return signs(u, p, n, first.len);
    if (p[0] == ' ' && next.len && !(next.kind & (WORD | UNICODE_SPACE)))
        return signs(u, p, n, 1);
    return white(u, p, n);
}
