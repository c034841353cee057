/* unicode.c: classes from utf8proc, with the differences between versions. */
#include "data/unicode.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

struct range {
    uint32_t from, to;
};

/* Letters and numbers that came after Unicode 15.0, up to 16.0. */
static const struct range newer_letters[] = {
    {0x1c89, 0x1c8a},   {0xa7cb, 0xa7cd},   {0xa7da, 0xa7dc},
    {0x105c0, 0x105f3}, {0x10d4a, 0x10d65}, {0x10d6f, 0x10d85},
    {0x10ec2, 0x10ec4}, {0x11380, 0x11389}, {0x1138b, 0x1138b},
    {0x1138e, 0x1138e}, {0x11390, 0x113b5}, {0x113b7, 0x113b7},
    {0x113d1, 0x113d1}, {0x113d3, 0x113d3}, {0x11bc0, 0x11be0},
    {0x13460, 0x143fa}, {0x16100, 0x1611d}, {0x16d40, 0x16d6c},
    {0x18cff, 0x18cff}, {0x1e5d0, 0x1e5ed}, {0x1e5f0, 0x1e5f0},
    {0x2ebf0, 0x2ee5d},
};
static const struct range newer_numbers[] = {
    {0x10d40, 0x10d49}, {0x116d0, 0x116e3}, {0x11bf0, 0x11bf9},
    {0x16130, 0x16139}, {0x16d70, 0x16d79}, {0x1ccf0, 0x1ccf9},
    {0x1e5f1, 0x1e5fa},
};
static const struct range controls[] = {{0x09, 0x0d}, {0x85, 0x85}};
/* Combining marks that came after Unicode 9. To an NFC of that version they are
 * unknown: it moves nothing past them, and joins nothing with them. */
static const struct range walls[] = {
    {0x7fd, 0x7fd},     {0x897, 0x89f},     {0x8ca, 0x8d3},
    {0x9fe, 0x9fe},     {0xc3c, 0xc3c},     {0xd3b, 0xd3c},
    {0xeba, 0xeba},     {0x1715, 0x1715},   {0x1abf, 0x1ace},
    {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},   {0x10d24, 0x10d27},
    {0x10d69, 0x10d6d}, {0x10eab, 0x10eac}, {0x10efc, 0x10eff},
    {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11070, 0x11070},
    {0x1133b, 0x1133b}, {0x11382, 0x113e2}, {0x1145e, 0x1145e},
    {0x11839, 0x1183a}, {0x11930, 0x11930}, {0x1193d, 0x1193e},
    {0x11943, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34},
    {0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11d42, 0x11d42},
    {0x11d44, 0x11d45}, {0x11d97, 0x11d97}, {0x11f41, 0x11f42},
    {0x1611e, 0x1612f}, {0x16d63, 0x16d6a}, {0x16ff0, 0x16ff1},
    {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae},
    {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef}, {0x1e5ee, 0x1e5ef},
};

#define MARK(table, bits)                                                  \
    for (size_t mark = 0; mark < sizeof(table) / sizeof(*(table)); mark++) \
    add_range(u, (table)[mark], (bits))

static void add_range(struct unicode *u, struct range r, uint8_t bits)
{
    for (uint32_t c = r.from; c <= r.to; c++)
        u->kind[c] |= bits;
}

static uint8_t kind_of_category(uint32_t c)
{
    switch (*utf8proc_category_string((utf8proc_int32_t)c)) {
    case 'L':
        return UNICODE_LETTER;
    case 'N':
        return UNICODE_NUMBER;
    case 'Z':
        return UNICODE_SPACE;
    default:
        return 0;
    }
}

/* NFC takes `c` apart. If it would not put it together again, `c` is loose; the
 * last part may join the character before it, so it is loose in any case. */
static void look_into(struct unicode *u, uint32_t c)
{
    utf8proc_int32_t part[8];
    utf8proc_ssize_t n, whole;
    int boundary = 0;

    n = utf8proc_decompose_char((utf8proc_int32_t)c, part, 8,
                                UTF8PROC_DECOMPOSE, &boundary);
    if (n < 1 || n > 8 || (n == 1 && part[0] == (utf8proc_int32_t)c))
        return;
    if (n > 1 && (uint32_t)part[n - 1] < UNICODE_CLASSED)
        u->kind[part[n - 1]] |= UNICODE_LOOSE;
    whole =
        utf8proc_normalize_utf32(part, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (whole != 1 || part[0] != (utf8proc_int32_t)c)
        u->kind[c] |= UNICODE_LOOSE;
}

struct unicode *unicode_new(void)
{
    static const struct range jamo[] = {{0x1161, 0x1175}, {0x11a8, 0x11c2}};
    struct unicode *u = xcalloc(1, sizeof(*u));

    for (uint32_t c = 0; c < UNICODE_CLASSED; c++) {
        const utf8proc_property_t *p =
            utf8proc_get_property((utf8proc_int32_t)c);

        u->kind[c] |= kind_of_category(c);
        if (p->combining_class)
            u->kind[c] |= UNICODE_LOOSE;
        if (p->decomp_seqindex != UINT16_MAX && !p->decomp_type)
            look_into(u, c);
    }
    MARK(newer_letters, UNICODE_LETTER);
    MARK(newer_numbers, UNICODE_NUMBER);
    MARK(controls, UNICODE_SPACE);
    MARK(walls, UNICODE_WALL);
    MARK(jamo, UNICODE_LOOSE);
    return u;
}

void unicode_free(struct unicode *u)
{
    free(u);
}

/* ---- bytes that are not UTF-8 ---- */

/* How many bytes at `p`, which do not start a character, one U+FFFD stands for:
 * as many as could have been the start of one. */
static size_t bad_length(const unsigned char *p, size_t n)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t need, i = 1;

    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 1;
    need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    while (i < n && i < need && p[i] >= low && p[i] <= high) {
        low = 0x80;
        high = 0xbf;
        i++;
    }
    return i;
}

void unicode_repair(struct str text, struct buf *out)
{
    while (text.n) {
        size_t good = str_utf8_check(text.p, text.n), bad;

        buf_put(out, text.p, good);
        if (good == text.n)
            return;
        buf_puts(out, "\xef\xbf\xbd");
        bad = bad_length((const unsigned char *)text.p + good, text.n - good);
        text.p += good + bad;
        text.n -= good + bad;
    }
}

uint32_t *unicode_points(struct str text, size_t *len)
{
    uint32_t *cp;
    struct buf good = BUF_INIT;
    size_t at = 0;

    if (str_utf8_check(text.p, text.n) < text.n) {
        unicode_repair(text, &good);
        text = buf_view(&good);
    }
    cp = xreallocarray(NULL, text.n + 1, sizeof(*cp));
    *len = 0;
    while (at < text.n)
        at += str_utf8_decode(text.p + at, text.n - at, &cp[(*len)++]);
    buf_release(&good);
    return cp;
}

/* ---- NFC ---- */

bool unicode_is_nfc(const struct unicode *u, struct str text)
{
    uint32_t cp;

    for (size_t i = 0; i < text.n;) {
        if ((unsigned char)text.p[i] < 0xcc) { /* below U+0300 */
            i++;
            continue;
        }
        i += str_utf8_decode(text.p + i, text.n - i, &cp);
        if (unicode_kind(u, cp) & UNICODE_LOOSE)
            return false;
    }
    return true;
}

static int class_of(utf8proc_int32_t c)
{
    return utf8proc_get_property(c)->combining_class;
}

/* Sorts a run of marks by class, those of one class in the order they have: class
 * after class, since a run may be as long as its writer likes. */
static void sort_marks(utf8proc_int32_t *run, size_t n)
{
    utf8proc_int32_t *sorted = xreallocarray(NULL, n, sizeof(*sorted));
    size_t len = 0;

    for (int class = 1; class < 256 && len < n; class ++)
        for (size_t i = 0; i < n; i++)
            if (class_of(run[i]) == class)
                sorted[len++] = run[i];
    memcpy(run, sorted, n * sizeof(*run));
    free(sorted);
}

/* Canonical order: no mark passes a character of class 0. */
static void order_marks(utf8proc_int32_t *cp, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t end = i;
        bool sorted = true;

        while (end < n && class_of(cp[end])) {
            sorted = sorted &&
                     (end == i || class_of(cp[end - 1]) <= class_of(cp[end]));
            end++;
        }
        if (!sorted)
            sort_marks(cp + i, end - i);
        i = end + 1;
    }
}

/* Appends the NFC of code points without a wall among them. */
static void put_part(uint32_t *cp, size_t n, struct buf *out)
{
    size_t room = n * 4 + 16, len = 0; /* the longest decomposition has 4 */
    utf8proc_int32_t *part = xreallocarray(NULL, room, sizeof(*part));
    utf8proc_ssize_t got;
    int boundary = 0;

    for (size_t i = 0; i < n; i++) {
        got = utf8proc_decompose_char((utf8proc_int32_t)cp[i], part + len,
                                      (utf8proc_ssize_t)(room - len),
                                      UTF8PROC_DECOMPOSE, &boundary);
        if (got < 0 || (size_t)got > room - len)
            BUG("U+%04X has a long decomposition", cp[i]);
        len += (size_t)got;
    }
    order_marks(part, len);
    got = utf8proc_normalize_utf32(part, (utf8proc_ssize_t)len,
                                   UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    for (utf8proc_ssize_t i = 0; i < got; i++) {
        utf8proc_uint8_t bytes[4];

        buf_put(out, bytes, (size_t)utf8proc_encode_char(part[i], bytes));
    }
    free(part);
}

void unicode_nfc(const struct unicode *u, struct str text, struct buf *out)
{
    size_t n, from = 0;
    uint32_t *cp = unicode_points(text, &n);

    for (size_t i = 0; i < n; i++)
        if (unicode_kind(u, cp[i]) & UNICODE_WALL) {
            char wall[4];

            put_part(cp + from, i - from, out);
            buf_put(out, wall,
                    (size_t)utf8proc_encode_char((utf8proc_int32_t)cp[i],
                                                 (utf8proc_uint8_t *)wall));
            from = i + 1;
        }
    put_part(cp + from, n - from, out);
    free(cp);
}
