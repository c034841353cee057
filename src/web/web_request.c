/* web_request.c: the target of a request, and the name it was sent to. */
#include "web/web_request.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* ---- the target ---- */

static int web_request_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* One byte of the text, which may be written as %XX; -1: a bad escape. */
static int web_request_next_byte(struct str *s)
{
    int high, low;

    if (s->p[0] != '%') {
        s->p++;
        s->n--;
        return (unsigned char)s->p[-1];
    }
    high = s->n > 2 ? web_request_hex_digit(s->p[1]) : -1;
    low = s->n > 2 ? web_request_hex_digit(s->p[2]) : -1;
    if (high < 0 || low < 0)
        return -1;
    s->p += 3;
    s->n -= 3;
    return high * 16 + low;
}

/* NULL for text that nobody sends who means well. In a query '+' is a space. */
static const char *web_request_decode(struct str s, bool query, struct arena *a)
{
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;

    while (s.n) {
        int c = query && s.p[0] == '+' ? ' ' : -1;

        if (c < 0)
            c = web_request_next_byte(&s);
        else
            s = (struct str){s.p + 1, s.n - 1};
        if (c < ' ' || c == 127)
            return NULL;
        out[n++] = (char)c;
    }
    return str_utf8_check(out, n) == n ? out : NULL;
}

static bool web_request_add_arg(struct web_request *r, struct str pair,
                                struct arena *a)
{
    struct str name;
    bool has_value = str_cut(&pair, '=', &name);
    const char *key = web_request_decode(has_value ? name : pair, true, a);
    const char *value =
        web_request_decode(has_value ? pair : (struct str){"", 0}, true, a);

    if (!key || !value || r->args == WEB_ARGS || web_request_arg(r, key))
        return false;
    r->arg[r->args].name = key;
    r->arg[r->args++].value = value;
    return true;
}

int web_request_parse(struct str target, struct arena *a,
                      struct web_request *out)
{
    struct str path = target, query = {"", 0}, pair;

    *out = (struct web_request){0};
    if (target.n > WEB_TARGET_BYTES)
        return 414;
    if (!str_starts(target, "/"))
        return 400;
    if (str_cut(&target, '?', &path))
        query = target;
    out->path = web_request_decode(path, false, a);
    if (!out->path)
        return 400;
    while (str_part(&query, '&', &pair))
        if (pair.n && !web_request_add_arg(out, pair, a))
            return 400;
    return 0;
}

const char *web_request_arg(const struct web_request *r, const char *name)
{
    for (size_t i = 0; i < r->args; i++)
        if (strcmp(r->arg[i].name, name) == 0)
            return r->arg[i].value;
    return NULL;
}

/* ---- the name ---- */

/* Splits "name", "name:port", "[::1]" and "[::1]:port". The brackets stay. */
static bool web_request_split_host(struct str header, struct str *name)
{
    size_t end = 0;
    int64_t port;

    if (header.n && header.p[0] == '[') {
        while (end < header.n && header.p[end] != ']')
            end++;
        if (end++ >= header.n)
            return false;
    } else {
        while (end < header.n && header.p[end] != ':')
            end++;
    }
    *name = (struct str){header.p, end};
    if (end == header.n)
        return end > 0;
    return end > 0 && header.p[end] == ':' &&
           str_to_i64((struct str){header.p + end + 1, header.n - end - 1}, 0,
                      65535, &port);
}

static bool web_request_is_address(struct str name)
{
    char text[INET6_ADDRSTRLEN] = "";
    bool six = str_starts(name, "[") && str_ends(name, "]");
    unsigned char out[16];

    if (six)
        name = (struct str){name.p + 1, name.n - 2};
    if (name.n >= sizeof(text) || memchr(name.p, '\0', name.n))
        return false;
    memcpy(text, name.p, name.n);
    return inet_pton(six ? AF_INET6 : AF_INET, text, out) == 1;
}

bool web_request_host_ok(const struct web_request_hosts *h, const char *header)
{
    struct str name;

    if (!header || !web_request_split_host(str_of(header), &name))
        return false;
    if (h->any_address && web_request_is_address(name))
        return true;
    for (size_t i = 0; i < h->names; i++)
        if (strlen(h->name[i]) == name.n &&
            strncasecmp(h->name[i], name.p, name.n) == 0)
            return true;
    return false;
}
