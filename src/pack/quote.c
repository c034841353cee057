/* quote.c: puts untrusted text on one line of output. */
#include "pack/quote.h"

static bool quote_is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 ||
           cp == 0x2029;
}

static bool quote_is_space(uint32_t cp)
{
    return (cp >= '\t' && cp <= '\r') || cp == ' ';
}

/* The length of the character at `s`, or 0 if the bytes are not UTF-8. */
static size_t char_length(struct str s, uint32_t *cp)
{
    size_t most = s.n < 4 ? s.n : 4;

    if (str_utf8_check(s.p, most) == 0)
        return 0;
    return str_utf8_decode(s.p, most, cp);
}

void quote_add(struct buf *b, struct str s, size_t max)
{
    for (size_t count = 0; s.n; count++) {
        uint32_t cp = 0;
        size_t n = char_length(s, &cp);

        if (count + 1 == max && s.n > (n ? n : 1)) {
            buf_puts(b, "…");
            return;
        }
        if (n && quote_is_space(cp))
            buf_putc(b, ' ');
        else if (n && !quote_is_control(cp))
            buf_put(b, s.p, n);
        else
            buf_putc(b, '?');
        n = n ? n : 1;
        s.p += n;
        s.n -= n;
    }
}
