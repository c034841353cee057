/* test_httpd.c: requests with bodies, answers that come later or piece by piece, clients
 * that leave, and requests that are refused. */
#include "base/mem.h"
#include "base/tick.h"
#include "io/httpd.h"
#include "tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY_LIMIT = 100000 };

struct served {
    struct loop *loop;
    struct httpd_listen where;
    struct httpd *http;
    struct httpd_call *late; /* one that waits */
    struct httpd_stream *stream;
    size_t gone, done, lines;
};

static void answer(struct httpd_call *c, const char *text)
{
    struct httpd_answer a = {.status = 200, .type = "text/plain"};

    a.header[0].name = "X-Of-Us";
    a.header[0].value = "yes";
    buf_init(&a.body, BUF_UNLIMITED);
    buf_puts(&a.body, text);
    httpd_answer(c, &a);
    buf_release(&a.body);
}

static void on_gone(void *arg)
{
    struct served *s = arg;

    s->gone++;
    s->late = NULL;
}

static bool on_fill(struct buf *out, void *arg)
{
    struct served *s = arg;

    if (s->lines)
        buf_printf(out, "line %zu\n", s->lines);
    return s->lines < 2;
}

static void on_done(void *arg)
{
    struct served *s = arg;

    s->done++;
    s->stream = NULL;
}

static void on_call(struct httpd_call *c, void *arg)
{
    struct served *s = arg;
    struct httpd_answer a = {.status = 200, .type = "text/plain"};
    char *text;

    if (strcmp(c->target.path, "/late") == 0) {
        c->gone = on_gone;
        c->arg = s;
        s->late = c;
    } else if (strcmp(c->target.path, "/stream") == 0) {
        s->lines = 0;
        s->stream = httpd_answer_stream(c, &a, on_fill, on_done, s);
    } else {
        text = xasprintf("%s %zu %s", c->method, c->body.n,
                         httpd_header(c, "X-Name") ? "named" : "nameless");
        answer(c, text);
        free(text);
    }
}

static int call(const struct served *s, const char *text)
{
    struct sockaddr_in a;
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = strlen(text);

    if (getsockname(s->where.fd, (struct sockaddr *)&a, &size) < 0 ||
        connect(fd, (struct sockaddr *)&a, size) < 0)
        BUG("cannot connect");
    if (send(fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
        BUG("cannot send");
    return fd;
}

/* Lets the server run until `word` has come; false: the connection ended first, or
 * ten seconds did. */
static bool hears(struct served *s, int fd, const char *word)
{
    int64_t until = tick_now_ns() + 10 * TICK_S;
    char all[8192];
    size_t n = 0;

    while (n < sizeof(all) - 1 && tick_now_ns() < until) {
        ssize_t got;

        loop_run_for(s->loop, 5 * TICK_MS);
        got = recv(fd, all + n, sizeof(all) - 1 - n, MSG_DONTWAIT);
        if (got == 0)
            return false;
        n += got > 0 ? (size_t)got : 0;
        all[n] = '\0';
        if (strstr(all, word))
            return true;
    }
    return false;
}

static bool waits_for(struct served *s, const size_t *count, size_t n)
{
    int64_t until = tick_now_ns() + 10 * TICK_S;

    while (*count < n && tick_now_ns() < until)
        loop_run_for(s->loop, 5 * TICK_MS);
    return *count == n;
}

#define HEAD "Host: localhost\r\n"

static void test_bodies(struct served *s)
{
    char *long_one = xcalloc(1, 60000), *text;
    int fd = call(s, "POST /x HTTP/1.1\r\n" HEAD
                     "Content-Length: 5\r\nX-Name: a\r\n\r\nhello");

    ok(hears(s, fd, "POST 5 named"), "a body arrives");
    if (send(fd, "GET / HTTP/1.1\r\n" HEAD "\r\n", 35, MSG_NOSIGNAL) < 0)
        BUG("cannot send");
    ok(hears(s, fd, "GET 0 nameless"), "the connection is kept");
    close(fd);
    memset(long_one, 'a', 59999);
    text =
        xasprintf("POST /x HTTP/1.1\r\n" HEAD "Content-Length: 59999\r\n\r\n%s",
                  long_one);
    fd = call(s, text);
    ok(hears(s, fd, "POST 59999"), "a body in many parts");
    close(fd);
    free(text);
    text = xasprintf("POST /x HTTP/1.1\r\n" HEAD
                     "Transfer-Encoding: chunked\r\n\r\nea5f\r\n%s\r\nea5f\r\n"
                     "%s\r\n0\r\n\r\n",
                     long_one, long_one);
    fd = call(s, text);
    ok(hears(s, fd, " 413 "), "chunks that are too many are refused");
    close(fd);
    free(text);
    free(long_one);
}

static void refuses(struct served *s, const char *text, const char *status,
                    const char *what)
{
    int fd = call(s, text);

    ok(hears(s, fd, status), "%s: %s", what, status);
    close(fd);
}

static void test_refusals(struct served *s)
{
    refuses(s, "PUT / HTTP/1.1\r\n" HEAD "\r\n", "Allow: GET, POST",
            "another method");
    refuses(s, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", " 421 ",
            "another name");
    refuses(s, "GET / HTTP/1.1\r\n" HEAD "Origin: http://evil.example\r\n\r\n",
            " 403 ", "a page of another site");
    refuses(s, "GET / HTTP/1.1\r\n" HEAD "Origin: null\r\n\r\n", " 403 ",
            "a page of no site");
    refuses(s, "GET / HTTP/1.1\r\n" HEAD "Origin: http://localhost:1\r\n\r\n",
            " 200 ", "our own page");
    refuses(s, "POST / HTTP/1.1\r\n" HEAD "Content-Length: 100001\r\n\r\n",
            " 413 ", "a body that is too large");
    refuses(s, "GET /%zz HTTP/1.1\r\n" HEAD "\r\n", " 400 ", "a bad escape");
}

static void test_later(struct served *s)
{
    int fd = call(s, "GET /late HTTP/1.1\r\n" HEAD "\r\n");

    while (!s->late)
        loop_run_for(s->loop, 5 * TICK_MS);
    answer(s->late, "at last");
    ok(hears(s, fd, "at last"), "an answer may come later");
    s->late = NULL;
    close(fd);
    fd = call(s, "GET /late HTTP/1.1\r\n" HEAD "\r\n");
    while (!s->late)
        loop_run_for(s->loop, 5 * TICK_MS);
    close(fd);
    ok(waits_for(s, &s->gone, 1) && !s->late,
       "a client that leaves before is noticed");
}

static void test_streams(struct served *s)
{
    int fd = call(s, "GET /stream HTTP/1.1\r\n" HEAD "\r\n");

    ok(hears(s, fd, "\r\n\r\n"), "a stream begins");
    s->lines = 1;
    httpd_wake(s->stream);
    ok(hears(s, fd, "line 1"), "and goes on");
    s->lines = 2;
    httpd_wake(s->stream);
    ok(hears(s, fd, "0\r\n\r\n") && s->done == 1, "and ends");
    close(fd);
    fd = call(s, "GET /stream HTTP/1.1\r\n" HEAD "\r\n");
    ok(hears(s, fd, "\r\n\r\n"), "another one");
    close(fd);
    ok(waits_for(s, &s->done, 2), "is over when its client leaves");
}

SUITE(httpd)
{
    const struct opt_list none = {0};
    struct err e = ERR_INIT;
    struct served s = {.loop = loop_new(&e)};
    struct httpd_opts o = {.where = &s.where,
                           .allow = "GET, POST",
                           .connections = 16,
                           .body_limit = BODY_LIMIT,
                           .on_call = on_call,
                           .arg = &s};

    if (httpd_listen_open("127.0.0.1:0", &none, &s.where, &e) == 0)
        s.http = httpd_new(s.loop, &o, &e);
    if (!ok(s.http != NULL, "a server: %s", e.text))
        return;
    test_bodies(&s);
    test_refusals(&s);
    test_later(&s);
    test_streams(&s);
    close(call(&s, "GET /late HTTP/1.1\r\n" HEAD "\r\n"));
    httpd_free(s.http);
    httpd_listen_close(&s.where);
    loop_free(s.loop);
}
