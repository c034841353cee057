/* str.c: slices, UTF-8, nearest names. */
#include "base/str.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct str str_of(const char *s)
{
    return (struct str){s, strlen(s)};
}

bool str_eq(struct str a, const char *b)
{
    return strlen(b) == a.n && (a.n == 0 || memcmp(a.p, b, a.n) == 0);
}

bool str_same(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_in(struct str word, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, " ");

        if (n == word.n && memcmp(list, word.p, n) == 0)
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

bool str_starts(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

bool str_ends(struct str s, const char *suffix)
{
    size_t n = strlen(suffix);

    return s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

static bool str_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.n && str_is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && str_is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool str_cut(struct str *s, char c, struct str *head)
{
    const char *at = s->n ? memchr(s->p, c, s->n) : NULL;

    if (!at)
        return false;
    *head = (struct str){s->p, (size_t)(at - s->p)};
    s->n -= head->n + 1;
    s->p = at + 1;
    return true;
}

bool str_part(struct str *rest, char c, struct str *part)
{
    if (!rest->p)
        return false;
    if (!str_cut(rest, c, part)) {
        *part = *rest;
        *rest = (struct str){NULL, 0};
    }
    return true;
}

bool str_to_i64(struct str s, int64_t lo, int64_t hi, int64_t *out)
{
    bool minus = s.n && s.p[0] == '-';
    int64_t v = 0;
    size_t i = minus ? 1 : 0;

    if (i == s.n)
        return false;
    for (; i < s.n; i++) {
        int digit = s.p[i] - '0';

        if (digit < 0 || digit > 9)
            return false;
        if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
            __builtin_sub_overflow(v, (int64_t)digit, &v))
            return false;
    }
    if (!minus && __builtin_sub_overflow((int64_t)0, v, &v))
        return false;
    if (v < lo || v > hi)
        return false;
    *out = v;
    return true;
}

bool str_to_fixed(struct str s, int places, int64_t *out)
{
    int64_t v = 0;
    size_t digits = 0;
    int after = -1; /* decimal places so far; -1 before the point */

    for (size_t i = 0; i < s.n; i++) {
        int digit = s.p[i] - '0';

        if (s.p[i] == '.' && after < 0) {
            after = 0;
            continue;
        }
        if (digit < 0 || digit > 9)
            return false;
        digits++;
        if (after >= places && digit == 0)
            continue;
        if (after >= places || __builtin_mul_overflow(v, (int64_t)10, &v) ||
            __builtin_add_overflow(v, (int64_t)digit, &v))
            return false;
        if (after >= 0)
            after++;
    }
    for (int i = after < 0 ? 0 : after; i < places; i++)
        if (__builtin_mul_overflow(v, (int64_t)10, &v))
            return false;
    *out = v;
    return digits > 0;
}

/* Length of the well-formed sequence at p, or 0. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    size_t len = p[0] < 0x80             ? 1
                 : (p[0] & 0xe0) == 0xc0 ? 2
                 : (p[0] & 0xf0) == 0xe0 ? 3
                 : (p[0] & 0xf8) == 0xf0 ? 4
                                         : 0;

    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((len == 2 && p[0] < 0xc2) ||
        (len == 3 && p[0] == 0xe0 && p[1] < 0xa0) ||
        (len == 3 && p[0] == 0xed && p[1] > 0x9f) ||
        (len == 4 && p[0] == 0xf0 && p[1] < 0x90) ||
        (len == 4 && (p[0] > 0xf4 || (p[0] == 0xf4 && p[1] > 0x8f))))
        return 0;
    return len;
}

size_t str_utf8_cut(const char *p, size_t n, size_t most)
{
    if (n <= most)
        return n;
    while (most > 0 && ((unsigned char)p[most] & 0xc0) == 0x80)
        most--;
    return most;
}

/* Length of the ASCII prefix: most text is only that. */
static size_t ascii_length(const char *p, size_t n)
{
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        uint64_t word;

        memcpy(&word, p + i, 8);
        if (word & 0x8080808080808080u)
            break;
    }
    while (i < n && (unsigned char)p[i] < 0x80)
        i++;
    return i;
}

size_t str_utf8_check(const char *p, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t len;

        i += ascii_length(p + i, n - i);
        if (i == n)
            break;
        len = utf8_length((const unsigned char *)p + i, n - i);
        if (len == 0)
            return i;
        i += len;
    }
    return n;
}

size_t str_utf8_decode(const char *p, size_t n, uint32_t *cp)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t len = utf8_length(u, n);

    if (len <= 1) {
        *cp = u[0];
        return 1;
    }
    *cp = u[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        *cp = (*cp << 6) | (u[i] & 0x3fu);
    return len;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

/* How many edits lie between two words (insert, delete, replace, swap). */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), w = m + 1, d;
    size_t *t = xcalloc((n + 1) * w, sizeof(*t));

    for (size_t i = 0; i <= n; i++)
        t[i * w] = i;
    for (size_t j = 0; j <= m; j++)
        t[j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t change = t[(i - 1) * w + j - 1] + (a[i - 1] != b[j - 1]);

            d = min3(change, t[(i - 1) * w + j] + 1, t[i * w + j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = min3(d, d, t[(i - 2) * w + j - 2] + 1);
            t[i * w + j] = d;
        }
    }
    d = t[n * w + m];
    free(t);
    return d;
}

const char *str_nearest(const char *word, const char *const *names,
                        size_t count)
{
    const char *best = NULL;
    size_t len = strlen(word), least = len / 3 + 2;

    if (len > 64)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, names[i]);

        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}
