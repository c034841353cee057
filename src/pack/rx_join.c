/* rx_join.c: patterns taken apart just so far that equal beginnings are seen.
 * A pattern is a row of pieces: a character, an escape, a set or a pair of
 * parentheses, each with its quantifier. AB|AC and A(?:B|C) match at the same
 * places, whatever the pieces mean; so do the choices inside of parentheses. */
#include "pack/rx_join.h"

#include "base/mem.h"
#include "base/str.h"
#include "pack/rx.h"

#include <stdlib.h>
#include <string.h>

/* ---- pieces ---------------------------------------------------------------- */

static bool has_odd_escape(const char *p)
{
    for (; (p = strchr(p, '\\')) && p[1]; p += 2)
        if (strchr("ghkopxcNQEPCG0123456789", p[1]))
            return true;
    return false;
}

/* A brace that is neither escaped nor a quantifier stands for itself, or does
 * not, depending on the library's version. */
static bool has_odd_brace(const char *p)
{
    for (; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == '{') {
            size_t n = 1 + strspn(p + 1, "0123456789");

            if (n == 1)
                return true;
            if (p[n] == ',')
                n += 1 + strspn(p + n + 1, "0123456789");
            if (p[n] != '}')
                return true;
        }
    }
    return false;
}

/* Whether pieces can be told apart without knowing all of the language, and
 * mean the same beside other patterns: no quoting, comments or free spacing, no
 * long escapes, no set with a bracket in it, no verbs, no calls of groups or
 * conditions on them, no options that hold to the end, nothing that forbids to
 * try the next choice. */
static bool is_plain(const char *p)
{
    static const char *const odd[] = {"(?#", "(*",  "(?R", "(?>", "(?(", "(?&",
                                      "(?P", "(?+", "(?-", "[[",  "[]",  "[^]",
                                      "[:",  "*+",  "++",  "?+",  "}+"};

    if (has_odd_escape(p) || has_odd_brace(p))
        return false;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        if (strstr(p, odd[i]))
            return false;
    for (const char *at = p; (at = strstr(at, "(?")); at += 2) {
        size_t flags = strspn(at + 2, "imnsxJU^-");

        if (at[2 + flags] == ')' || memchr(at + 2, 'x', flags) ||
            (at[2] >= '0' && at[2] <= '9'))
            return false;
    }
    return true;
}

/* Length of the set or the parentheses that `s` starts with. */
static size_t bracket_length(struct str s)
{
    size_t i = 0, depth = 0;
    bool set = false;

    do {
        if (s.p[i] == '\\')
            i++;
        else if (set)
            set = s.p[i] != ']';
        else if (s.p[i] == '[')
            set = true;
        else if (s.p[i] == '(')
            depth++;
        else if (s.p[i] == ')')
            depth--;
        i++;
    } while (i < s.n && (set || depth));
    return i < s.n ? i : s.n;
}

/* Length of a piece without its quantifier. */
static size_t atom_length(struct str s)
{
    size_t n = 1;

    if (s.p[0] == '(' || s.p[0] == '[')
        return bracket_length(s);
    if (s.p[0] == '\\')
        n = 2;
    while (n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n++;
    return n < s.n ? n : s.n;
}

static size_t quantifier_length(struct str s)
{
    size_t n = 0;

    if (s.n && s.p[0] == '{')
        while (n < s.n && s.p[n] != '}')
            n++;
    else if (!s.n || !strchr("*+?", s.p[0]))
        return 0;
    n++;
    return n + (n < s.n && s.p[n] == '?');
}

static struct str behind(struct str s, size_t n)
{
    return n < s.n ? (struct str){s.p + n, s.n - n} : (struct str){"", 0};
}

static size_t piece_length(struct str s)
{
    size_t n = atom_length(s);

    n += quantifier_length(behind(s, n));
    return n < s.n ? n : s.n;
}

/* Its first character is `^`, which holds for all of it: there is no choice
 * outside of parentheses. */
bool rx_starts_line(const char *pattern)
{
    struct str rest = str_of(pattern);

    if (pattern[0] != '^' || !is_plain(pattern))
        return false;
    for (; rest.n; rest = behind(rest, piece_length(rest)))
        if (rest.p[0] == '|')
            return false;
    return true;
}

/* ---- joining --------------------------------------------------------------- */

static void join(struct buf *out, struct str *rest, size_t n);

/* The choices of s, into `choice` unless it is NULL. */
static size_t split(struct str s, struct str *choice)
{
    struct str now = {s.p, 0};
    size_t n = 0;

    for (; s.n; s = behind(s, piece_length(s))) {
        if (s.p[0] != '|') {
            now.n += piece_length(s);
            continue;
        }
        if (choice)
            choice[n] = now;
        n++;
        now = (struct str){s.p + 1, 0};
    }
    if (choice)
        choice[n] = now;
    return n + 1;
}

/* Length of what opens parentheses whose choices may be regrouped, else 0. */
static size_t opener_length(struct str s)
{
    if (s.p[0] != '(')
        return 0;
    if (s.n < 3 || s.p[1] != '?')
        return 1;
    return strchr(":=!", s.p[2]) ? 3 : 0;
}

static void put_piece(struct buf *out, struct str piece)
{
    size_t open = opener_length(piece), atom = atom_length(piece), n;
    struct str inner, *choice;

    if (!open) {
        buf_put(out, piece.p, piece.n);
        return;
    }
    inner = (struct str){piece.p + open, atom - open - 1};
    n = split(inner, NULL);
    choice = xcalloc(n, sizeof(*choice));
    split(inner, choice);
    buf_put(out, piece.p, open);
    join(out, choice, n);
    buf_put(out, piece.p + atom - 1, piece.n - atom + 1);
    free(choice);
}

static bool same_piece(struct str a, struct str b)
{
    size_t n = a.n ? piece_length(a) : 0;

    return n ? b.n && piece_length(b) == n && memcmp(a.p, b.p, n) == 0
             : b.n == 0;
}

/* How many of rest[0, n) start with the same piece as the first; they are moved
 * to the front. */
static size_t gather(struct str *rest, size_t n)
{
    size_t len = 1;

    for (size_t i = 1; i < n; i++) {
        struct str moved = rest[i];

        if (!same_piece(rest[0], moved))
            continue;
        memmove(rest + len + 1, rest + len, (i - len) * sizeof(*rest));
        rest[len++] = moved;
    }
    return len;
}

/* Writes the pieces that all of rest[0, n) start with, and passes them. */
static void put_common(struct buf *out, struct str *rest, size_t n)
{
    while (rest[0].n && gather(rest, n) == n) {
        size_t piece = piece_length(rest[0]);

        put_piece(out, (struct str){rest[0].p, piece});
        for (size_t i = 0; i < n; i++)
            rest[i] = behind(rest[i], piece);
    }
}

/* The choice between rest[0, n), which it uses up. */
static void join(struct buf *out, struct str *rest, size_t n)
{
    for (size_t from = 0, len; from < n; from += len) {
        len = gather(rest + from, n - from);
        if (from)
            buf_putc(out, '|');
        put_common(out, rest + from, len);
        if (gather(rest + from, len) < len) {
            buf_puts(out, "(?:");
            join(out, rest + from, len);
            buf_putc(out, ')');
        }
    }
}

void rx_join(struct buf *out, const char *const *patterns, size_t n)
{
    struct str *rest = xcalloc(n, sizeof(*rest));

    for (size_t i = 0; i < n; i++)
        rest[i] = str_of(patterns[i] + 1);
    buf_puts(out, "^(?:");
    join(out, rest, n);
    buf_putc(out, ')');
    free(rest);
}
