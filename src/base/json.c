/* json.c: jansson with places in errors and a depth limit. */
#include "base/json.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 64
#define MAX_BYTES ((size_t)16 << 20)

/* jansson allows 2,048 levels, and each costs its parser stack. */
static int too_deep(const char *text, size_t n)
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

json_t *jsn_parse(const char *name, const char *text, size_t n, struct err *e)
{
    json_error_t at;
    json_t *v;

    if (too_deep(text, n)) {
        err_set(e, ERR_INPUT, "%s: nested deeper than %d levels", name,
                MAX_DEPTH);
        return NULL;
    }
    v = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &at);
    if (!v)
        err_set(e, ERR_INPUT, "%s:%d:%d: %s", name, at.line, at.column,
                at.text);
    return v;
}

json_t *jsn_read(const char *path, struct err *e)
{
    struct buf b;
    json_t *v = NULL;

    buf_init(&b, MAX_BYTES);
    if (fs_read(path, &b, e) == 0)
        v = jsn_parse(path, buf_str(&b), b.len, e);
    buf_release(&b);
    return v;
}

void jsn_line(json_t *v)
{
    json_dumpf(v, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(v);
}

json_t *jsn_text(const char *p, size_t n)
{
    struct buf b;
    json_t *v;
    size_t good = str_utf8_check(p, n);

    if (good == n)
        return json_stringn(p, n);
    buf_init(&b, BUF_UNLIMITED);
    while (n) {
        good = str_utf8_check(p, n);
        buf_put(&b, p, good);
        if (good == n)
            break;
        buf_puts(&b, "\xef\xbf\xbd");
        p += good + 1;
        n -= good + 1;
    }
    v = json_stringn(buf_str(&b), b.len);
    buf_release(&b);
    return v;
}
