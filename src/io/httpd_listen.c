/* httpd_listen.c: an address in words to a socket that listens. */
#include "io/httpd_listen.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128 };

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static int httpd_listen_bad_address(const char *where, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "'%s' is not HOST:PORT, such as " HTTPD_LISTEN
                   " or [::1]:0; HOST is a numeric address or localhost",
                   where);
}

static int httpd_listen_read_address(const char *where, union address *out,
                                     struct err *e)
{
    char host[TCP_ADDRESS];
    const char *digits = NULL;
    bool six = where[0] == '[';
    int64_t port;

    if (tcp_split(where, host, &digits, e) < 0 ||
        !str_to_i64(str_of(digits), 0, 65535, &port))
        return httpd_listen_bad_address(where, e);
    if (strcmp(host, "localhost") == 0)
        snprintf(host, sizeof(host), "127.0.0.1");
    *out = (union address){0};
    if (six) {
        out->six.sin6_family = AF_INET6;
        out->six.sin6_port = htons((uint16_t)port);
        if (inet_pton(AF_INET6, host, &out->six.sin6_addr) == 1)
            return 0;
    } else {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons((uint16_t)port);
        if (inet_pton(AF_INET, host, &out->four.sin_addr) == 1)
            return 0;
    }
    return httpd_listen_bad_address(where, e);
}

static bool httpd_listen_is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
    return ntohl(a->four.sin_addr.s_addr) >> 24 == 127;
}

static bool httpd_listen_is_every(const union address *a)
{
    if (a->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&a->six.sin6_addr);
    return a->four.sin_addr.s_addr == htonl(INADDR_ANY);
}

static int httpd_listen_open_socket(const union address *a, struct err *e)
{
    socklen_t size =
        a->any.sa_family == AF_INET6 ? sizeof(a->six) : sizeof(a->four);
    int fd =
        socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
        bind(fd, &a->any, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    err_sys(e, "cannot listen");
    if (e->sys == EADDRINUSE || e->sys == EADDRNOTAVAIL || e->sys == EACCES)
        e->kind = ERR_INPUT;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The address as a URL and as a Host header have it, without a port. */
static void httpd_listen_name_address(const union address *a, char *out,
                                      size_t size)
{
    char text[INET6_ADDRSTRLEN];
    bool six = a->any.sa_family == AF_INET6;

    inet_ntop(a->any.sa_family,
              six ? (const void *)&a->six.sin6_addr : &a->four.sin_addr, text,
              sizeof(text));
    snprintf(out, size, six ? "[%s]" : "%s", text);
}

static void httpd_listen_set_names(struct httpd_listen *l, const char *own,
                                   const struct opt_list *more)
{
    static const char *const always[] = {"localhost", "127.0.0.1", "[::1]"};
    size_t fixed = sizeof(always) / sizeof(*always), n = 0;

    l->names = xcalloc(fixed + 1 + more->len, sizeof(*l->names));
    for (; n < fixed; n++)
        l->names[n] = always[n];
    l->names[n++] = own;
    for (size_t i = 0; i < more->len; i++)
        l->names[n++] = more->item[i];
    l->hosts.name = l->names;
    l->hosts.names = n;
}

int httpd_listen_open(const char *where, const struct opt_list *names,
                      struct httpd_listen *l, struct err *e)
{
    const char *text = where ? where : HTTPD_LISTEN;
    union address a = {0};
    socklen_t size = sizeof(a);
    unsigned port;

    *l = (struct httpd_listen){.fd = -1};
    if (httpd_listen_read_address(text, &a, e) < 0)
        return -1;
    l->fd = httpd_listen_open_socket(&a, e);
    if (l->fd < 0 && !where && e->sys == EADDRINUSE) {
        *e = (struct err)ERR_INIT;
        a.four.sin_port = 0;
        l->fd = httpd_listen_open_socket(&a, e);
    }
    if (l->fd < 0)
        return err_wrap(e, "%s", text);
    if (getsockname(l->fd, &a.any, &size) < 0)
        BUG("getsockname: errno %d", errno);
    httpd_listen_name_address(&a, l->own, sizeof(l->own));
    port =
        ntohs(a.any.sa_family == AF_INET6 ? a.six.sin6_port : a.four.sin_port);
    l->public = !httpd_listen_is_loopback(&a);
    l->hosts.any_address = httpd_listen_is_every(&a);
    snprintf(l->url, sizeof(l->url), "http://%s:%u/", l->own, port);
    httpd_listen_set_names(l, l->own, names);
    return 0;
}

int httpd_listen_check(const char *where, struct err *e)
{
    union address a;

    return httpd_listen_read_address(where, &a, e);
}

void httpd_listen_warn(const struct httpd_listen *l)
{
    if (l->public)
        log_warn("%s: everybody who can reach this address can read the run, "
                 "its prompts and its replies; there is no password",
                 l->url);
}

void httpd_listen_close(struct httpd_listen *l)
{
    if (l->fd >= 0)
        close(l->fd);
    free(l->names);
    *l = (struct httpd_listen){.fd = -1};
}

/* ---- requests ---- */

/* ---- the target ---- */

static int httpd_target_hex_digit(char c)
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
static int httpd_target_next_byte(struct str *s)
{
    int high, low;

    if (s->p[0] != '%') {
        s->p++;
        s->n--;
        return (unsigned char)s->p[-1];
    }
    high = s->n > 2 ? httpd_target_hex_digit(s->p[1]) : -1;
    low = s->n > 2 ? httpd_target_hex_digit(s->p[2]) : -1;
    if (high < 0 || low < 0)
        return -1;
    s->p += 3;
    s->n -= 3;
    return high * 16 + low;
}

/* NULL for text that nobody sends who means well. In a query '+' is a space. */
static const char *httpd_target_decode(struct str s, bool query,
                                       struct arena *a)
{
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;

    while (s.n) {
        int c = query && s.p[0] == '+' ? ' ' : -1;

        if (c < 0)
            c = httpd_target_next_byte(&s);
        else
            s = (struct str){s.p + 1, s.n - 1};
        if (c < ' ' || c == 127)
            return NULL;
        out[n++] = (char)c;
    }
    return str_utf8_check(out, n) == n ? out : NULL;
}

static bool httpd_target_add_arg(struct httpd_target *r, struct str pair,
                                 struct arena *a)
{
    struct str name;
    bool has_value = str_cut(&pair, '=', &name);
    const char *key = httpd_target_decode(has_value ? name : pair, true, a);
    const char *value =
        httpd_target_decode(has_value ? pair : (struct str){"", 0}, true, a);

    if (!key || !value || r->args == HTTPD_ARGS || httpd_target_arg(r, key))
        return false;
    r->arg[r->args].name = key;
    r->arg[r->args++].value = value;
    return true;
}

int httpd_target_parse(struct str target, struct arena *a,
                       struct httpd_target *out)
{
    struct str path = target, query = {"", 0}, pair;

    *out = (struct httpd_target){0};
    if (target.n > HTTPD_TARGET_BYTES)
        return 414;
    if (!str_starts(target, "/"))
        return 400;
    if (str_cut(&target, '?', &path))
        query = target;
    out->path = httpd_target_decode(path, false, a);
    if (!out->path)
        return 400;
    while (str_part(&query, '&', &pair))
        if (pair.n && !httpd_target_add_arg(out, pair, a))
            return 400;
    return 0;
}

const char *httpd_target_arg(const struct httpd_target *r, const char *name)
{
    for (size_t i = 0; i < r->args; i++)
        if (strcmp(r->arg[i].name, name) == 0)
            return r->arg[i].value;
    return NULL;
}

/* ---- the name ---- */

/* Splits "name", "name:port", "[::1]" and "[::1]:port". The brackets stay. */
static bool httpd_target_split_host(struct str header, struct str *name)
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

static bool httpd_target_is_address(struct str name)
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

bool httpd_host_ok(const struct httpd_hosts *h, const char *header)
{
    struct str name;

    if (!header || !httpd_target_split_host(str_of(header), &name))
        return false;
    if (h->any_address && httpd_target_is_address(name))
        return true;
    for (size_t i = 0; i < h->names; i++)
        if (strlen(h->name[i]) == name.n &&
            strncasecmp(h->name[i], name.p, name.n) == 0)
            return true;
    return false;
}
