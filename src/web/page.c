/* page.c: the document, put together from its parts. */
#include "web/page.h"

#include "base/hash.h"
#include "base/str.h"
#include "web/assets.h"

#include <stdlib.h>
#include <string.h>

static struct str page_asset(const unsigned char *p, size_t n)
{
    return (struct str){(const char *)p, n};
}

/* ---- the policy ---- */

/* 'sha256-…', in base64, as browsers want it. */
static void page_put_source(struct str text, struct buf *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char hash[33] = {0}; /* and a 0 after it */

    hash_bytes(text.p, text.n, hash);
    buf_puts(out, "'sha256-");
    for (size_t i = 0; i < 33; i += 3) {
        unsigned long three = (unsigned long)hash[i] << 16 |
                              (unsigned long)hash[i + 1] << 8 |
                              (i + 2 < 33 ? hash[i + 2] : 0);

        for (int shift = 18; shift >= 0; shift -= 6)
            buf_putc(out, i + 3 >= 33 && shift == 0
                              ? '='
                              : digits[three >> shift & 63]);
    }
    buf_putc(out, '\'');
}

void page_policy(bool served, struct buf *out)
{
    buf_puts(out, "default-src 'none'; script-src ");
    page_put_source(page_asset(page_js, page_js_len), out);
    buf_puts(out, "; style-src ");
    page_put_source(page_asset(page_css, page_css_len), out);
    buf_printf(out, "; connect-src %s; base-uri 'none'; form-action 'none'",
               served ? "'self'" : "'none'");
}

/* ---- data ---- */

static void page_put_escaped(const char *p, size_t n, struct buf *out)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        bool wide = n - i >= 3 && memcmp(p + i, "\xe2\x80", 2) == 0 &&
                    (p[i + 2] == '\xa8' || p[i + 2] == '\xa9');

        if (!wide && (!p[i] || !strchr("<>&", p[i])))
            continue;
        buf_put(out, p + from, i - from);
        if (wide)
            buf_puts(out, p[i + 2] == '\xa8' ? "\\u2028" : "\\u2029");
        else
            buf_printf(out, "\\u%04x", (unsigned)p[i]);
        i += wide ? 2 : 0;
        from = i + 1;
    }
    buf_put(out, p + from, n - from);
}

void page_json(const json_t *data, struct buf *out)
{
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(7));

    if (text)
        page_put_escaped(text, strlen(text), out);
    free(text);
}

/* ---- the document ---- */

static void page_put_part(struct str name, const json_t *data, struct buf *out)
{
    if (str_eq(name, "POLICY"))
        page_policy(!data, out);
    else if (str_eq(name, "STYLE"))
        buf_put(out, page_css, page_css_len);
    else if (str_eq(name, "SCRIPT"))
        buf_put(out, page_js, page_js_len);
    else if (data)
        page_json(data, out);
}

void page_put(const json_t *data, struct buf *out)
{
    struct str rest = page_asset(page_html, page_html_len), text, name;

    while (str_cut(&rest, '@', &text)) {
        buf_put(out, text.p, text.n);
        str_cut(&rest, '@', &name);
        page_put_part(name, data, out);
    }
    buf_put(out, rest.p, rest.n);
}
