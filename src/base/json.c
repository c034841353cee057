/* json.c: jansson with places in errors and a depth limit. */
#include "base/json.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64
#define MAX_BYTES ((size_t)16 << 20)

/* jansson allows 2,048 levels, and each costs its parser stack. */
static int jsn_too_deep(const char *text, size_t n)
{
    int depth = 0, in_string = 0;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = 0;
        } else if (c == '"') {
            in_string = 1;
        } else if (c == '[' || c == '{') {
            if (++depth > MAX_DEPTH)
                return 1;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return 0;
}

/* `line` is that of the text's beginning. */
static json_t *jsn_parse_flags(const char *name, size_t line, struct str text,
                               size_t flags, struct err *e)
{
    json_error_t at;
    json_t *v;

    if (jsn_too_deep(text.p, text.n)) {
        err_set(e, ERR_INPUT, "%s: nested deeper than %d levels", name,
                MAX_DEPTH);
        return NULL;
    }
    v = json_loadb(text.p, text.n, flags | JSON_DECODE_ANY, &at);
    if (!v)
        err_set(e, ERR_INPUT, "%s:%zu:%d: %s", name,
                line + (size_t)(at.line > 0 ? at.line - 1 : 0), at.column,
                at.text);
    return v;
}

json_t *jsn_parse(const char *name, const char *text, size_t n, struct err *e)
{
    return jsn_parse_flags(name, 1, (struct str){text, n},
                           JSON_REJECT_DUPLICATES, e);
}

json_t *jsn_parse_nul(const char *name, const char *text, size_t n,
                      struct err *e)
{
    return jsn_parse_flags(name, 1, (struct str){text, n},
                           JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, e);
}

/* The code unit of an escape "\uXXXX" at the start of p[0..n), or -1. */
static long unit_at(const char *p, size_t n)
{
    long v = 0;

    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *at = p[i] ? strchr(digits, p[i]) : NULL;

        if (!at)
            return -1;
        v = v * 16 + (at - digits) % 16;
    }
    return v;
}

/* Copies the escape at p[0..n), or a valid replacement; returns its length. */
static size_t mend_escape(const char *p, size_t n, struct buf *out)
{
    long unit = unit_at(p, n), low;
    size_t len = unit < 0 ? (n < 2 ? n : 2) : 6;

    if (unit >= 0xd800 && unit < 0xdc00) {
        low = unit_at(p + 6, n - 6);
        if (low >= 0xdc00 && low < 0xe000)
            len = 12;
    }
    if (unit == 0 || (unit >= 0xd800 && unit < 0xe000 && len == 6))
        buf_puts(out, "\\ufffd");
    else
        buf_put(out, p, len);
    return len;
}

/* Copies p[0..n), which has no escapes. */
static void mend_plain(const char *p, size_t n, struct buf *out)
{
    for (;;) {
        size_t good = str_utf8_check(p, n);

        buf_put(out, p, good);
        if (good == n)
            return;
        buf_puts(out, "\xef\xbf\xbd");
        p += good + 1;
        n -= good + 1;
    }
}

static void mend(const char *p, size_t n, struct buf *out)
{
    while (n) {
        const char *slash = memchr(p, '\\', n);
        size_t taken = slash ? (size_t)(slash - p) : n;

        mend_plain(p, taken, out);
        if (slash)
            taken += mend_escape(slash, n - taken, out);
        p += taken;
        n -= taken;
    }
}

json_t *jsn_parse_part(const char *name, size_t line, const char *text,
                       size_t n, struct err *e)
{
    struct err first = ERR_INIT;
    json_t *v = jsn_parse_flags(name, line, (struct str){text, n}, 0, &first);
    struct buf mended = BUF_INIT;

    if (v)
        return v;
    mend(text, n, &mended);
    v = jsn_parse_flags(name, line, buf_view(&mended), 0, e);
    buf_release(&mended);
    return v;
}

json_t *jsn_parse_foreign(const char *name, const char *text, size_t n,
                          struct err *e)
{
    return jsn_parse_part(name, 1, text, n, e);
}

json_t *jsn_read(const char *path, struct err *e)
{
    struct buf b = {.limit = MAX_BYTES};
    json_t *v = NULL;

    if (fs_read(path, &b, e) == 0)
        v = jsn_parse(path, buf_str(&b), b.len, e);
    buf_release(&b);
    return v;
}

const char *jsn_str(const json_t *object, const char *key)
{
    const char *s = jsn_maybe(object, key);

    return s ? s : "";
}

const char *jsn_maybe(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool jsn_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

json_int_t jsn_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

double jsn_num(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

int jsn_write(const char *path, const json_t *v, size_t flags, struct err *e)
{
    char *text = json_dumps(v, flags), *line = xasprintf("%s\n", text);
    int rc = fs_replace(path, line, strlen(line), e);

    free(line);
    free(text);
    return rc;
}

void jsn_line(json_t *v)
{
    json_dumpf(v, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(v);
}

/* ---- canonical text ---- */

/* Has one of the eight bytes a value below `n`, of at most 128? (A false yes is
 * possible for a byte of 128 or more; a false no is not.) */
#define HAS_BELOW(x, n) \
    (((x) - ~UINT64_C(0) / 255 * (n)) & ~(x) & ~UINT64_C(0) / 255 * 128)
#define HAS_BYTE(x, c) HAS_BELOW((x) ^ (~UINT64_C(0) / 255 * (c)), 1)

/* The bytes at the front that a string holds as they are; eight at a time. */
static size_t plain_length(const char *p, size_t n)
{
    size_t i = 0;
    uint64_t x;

    for (; i + sizeof(x) <= n; i += sizeof(x)) {
        memcpy(&x, p + i, sizeof(x));
        if (HAS_BELOW(x, ' ') | HAS_BYTE(x, '"') | HAS_BYTE(x, '\\'))
            break;
    }
    while (i < n && (unsigned char)p[i] >= ' ' && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

static void put_escape(struct buf *b, char c)
{
    static const char special[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *at = c ? strchr(special, c) : NULL;

    if (at)
        buf_put(b, (const char[]){'\\', letters[at - special]}, 2);
    else
        buf_printf(b, "\\u%04X", (unsigned)(unsigned char)c);
}

static void put_string(struct buf *b, const char *p, size_t n)
{
    buf_putc(b, '"');
    for (;;) {
        size_t plain = plain_length(p, n);

        buf_put(b, p, plain);
        if (plain == n)
            break;
        put_escape(b, p[plain]);
        p += plain + 1;
        n -= plain + 1;
    }
    buf_putc(b, '"');
}

static int jsn_by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void jsn_put_value(struct buf *b, const json_t *v);

static void put_object(struct buf *b, const json_t *v)
{
    size_t n = json_object_size(v), i = 0;
    const char **keys = xreallocarray(NULL, n + 1, sizeof(*keys)), *key;
    json_t *member;

    json_object_foreach((json_t *)v, key, member) keys[i++] = key;
    qsort(keys, n, sizeof(*keys), jsn_by_key);
    buf_putc(b, '{');
    for (i = 0; i < n; i++) {
        if (i)
            buf_putc(b, ',');
        put_string(b, keys[i], strlen(keys[i]));
        buf_putc(b, ':');
        jsn_put_value(b, json_object_get(v, keys[i]));
    }
    buf_putc(b, '}');
    free(keys);
}

static void put_array(struct buf *b, const json_t *v)
{
    buf_putc(b, '[');
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (i)
            buf_putc(b, ',');
        jsn_put_value(b, json_array_get(v, i));
    }
    buf_putc(b, ']');
}

/* Numbers and words are short: jansson writes them. */
static void jsn_put_value(struct buf *b, const json_t *v)
{
    char *text;

    if (json_is_string(v)) {
        put_string(b, json_string_value(v), json_string_length(v));
    } else if (json_is_object(v)) {
        put_object(b, v);
    } else if (json_is_array(v)) {
        put_array(b, v);
    } else {
        text = json_dumps(v, JSON_ENCODE_ANY);
        buf_puts(b, text ? text : "null");
        free(text);
    }
}

char *jsn_canonical(const json_t *v)
{
    struct buf b = BUF_INIT;

    jsn_put_value(&b, v);
    return buf_take(&b, NULL);
}

json_t *jsn_text(const char *p, size_t n)
{
    struct buf b = BUF_INIT;
    json_t *v;

    if (str_utf8_check(p, n) == n)
        return json_stringn_nocheck(p, n);
    mend_plain(p, n, &b);
    v = json_stringn(buf_str(&b), b.len);
    buf_release(&b);
    return v;
}

json_t *jsn_of(const char *s)
{
    return s ? jsn_text(s, strlen(s)) : json_null();
}
