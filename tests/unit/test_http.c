/* test_http.c: requests to a real server on the loopback, which answers well,
 * slowly, half, wrongly, or not at all. */
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "fds.h"
#include "io/http.h"
#include "peer.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct testpeer server;

/* Only one thread runs here. */
static void set_env(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1); /* NOLINT(concurrency-mt-unsafe) */
    else
        unsetenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

/* What a request came to. */
struct got {
    int done; /* calls of on_done */
    enum http_outcome outcome;
    int status;
    bool sent;
    int64_t retry_after_ns;
    char body[4096], error[256], retry_after[32];
    size_t body_len;
    int64_t wall_ns;
};

static void note_done(struct http_call *c, struct http_reply *r, void *arg)
{
    struct got *g = arg;
    const char *retry_after = http_header(c, "retry-after");

    g->done++;
    g->outcome = r->outcome;
    g->status = r->status;
    g->body_len = r->body.len;
    g->sent = r->sent;
    g->retry_after_ns = http_retry_after_ns(c);
    g->wall_ns = r->wall_ns;
    snprintf(g->body, sizeof(g->body), "%s", buf_str(&r->body));
    snprintf(g->error, sizeof(g->error), "%s", r->error);
    snprintf(g->retry_after, sizeof(g->retry_after), "%s",
             retry_after ? retry_after : "none");
    http_cancel(c); /* does nothing here */
}

/* A client with its loop. */
struct client {
    struct loop *loop;
    struct http *http;
};

static struct client client_open(struct http_opts o)
{
    struct err e = ERR_INIT;
    struct client c = {.loop = loop_new(&e)};

    c.http = c.loop ? http_new(c.loop, &o, &e) : NULL;
    if (!c.http)
        BUG("%s", e.text);
    return c;
}

static void client_close(struct client *c)
{
    http_free(c->http);
    loop_free(c->loop);
}

/* Fills in what the request leaves open, and sends it. */
static struct http_call *send_to(struct client *c, const char *path,
                                 struct http_request r, struct got *g)
{
    struct err e = ERR_INIT;
    struct http_call *call;
    char url[256];

    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", server.port, path);
    if (!r.url)
        r.url = url;
    if (!r.timeout_ns)
        r.timeout_ns = 300 * TICK_S;
    if (!r.body_limit)
        r.body_limit = 4000;
    if (!r.on_done)
        r.on_done = note_done;
    if (!r.arg)
        r.arg = g;
    call = http_send(c->http, &r, &e);
    if (!call)
        BUG("%s", e.text);
    return call;
}

static struct got ask(struct client *c, const char *path, struct http_request r)
{
    struct got g = {0};

    send_to(c, path, r, &g);
    loop_run(c->loop);
    return g;
}

/* ---- answers ---- */

static void test_get(struct client *c)
{
    struct got g = ask(c, "/echo", (struct http_request){0});

    ok(g.done == 1 && g.outcome == HTTP_ANSWERED && g.status == 200 &&
           g.wall_ns > 0,
       "a GET is answered once");
    ok(strncmp(g.body, "GET /echo\naccept: */*\nhost: ", 28) == 0 &&
           !strstr(g.body, "content-type") && !strstr(g.body, "expect"),
       "nothing is sent that was not asked for");
    is(g.error, "", "an answer has no error");
    is(g.retry_after, "none", "a header that did not come");
    g = ask(c, "/status/429", (struct http_request){0});
    ok(g.outcome == HTTP_ANSWERED && g.status == 429, "429 is an answer");
    is(g.body, "status 429", "with a body");
    is(g.retry_after, "7", "and headers");
    g = ask(c, "/redirect", (struct http_request){0});
    ok(g.status == 302 && strcmp(g.body, "over there") == 0,
       "a redirect is not followed");
    g = ask(c, "/echo", (struct http_request){.method = "HEAD"});
    ok(g.status == 200 && g.body_len == 0, "HEAD has no body");
}

static void test_post(struct client *c)
{
    size_t n = (size_t)2 << 20; /* from 1 MB on libcurl would expect */
    char *large = xmalloc(n);
    struct got g;

    g = ask(c, "/echo",
            (struct http_request){
                .body = "{}",
                .body_len = 2,
                .headers = (const char *const[]){
                    "Content-Type: application/json", "X-Key: k", NULL}});
    ok(strncmp(g.body, "POST /echo\n", 11) == 0 &&
           strstr(g.body, "\ncontent-type: application/json\n") &&
           strstr(g.body, "\nx-key: k\n") && strstr(g.body, "\n\n{}"),
       "a body is posted, with the caller's headers");
    g = ask(c, "/echo", (struct http_request){.body = "x", .body_len = 1});
    ok(!strstr(g.body, "content-type"), "no type is made up");
    g = ask(c, "/echo",
            (struct http_request){.method = "PUT", .body = "x", .body_len = 1});
    ok(strncmp(g.body, "PUT /echo\n", 10) == 0 && strstr(g.body, "\n\nx"),
       "another method");
    g = ask(c, "/echo", (struct http_request){.method = "POST"});
    ok(strstr(g.body, "\ncontent-length: 0\n"), "an empty body is a body");
    memset(large, 'y', n);
    g = ask(c, "/echo",
            (struct http_request){
                .body = large, .body_len = n, .body_limit = 2 * n});
    ok(g.status == 200 && g.body_len > n && !strstr(g.body, "expect:"),
       "a large body goes without Expect");
    free(large);
}

static void test_reuse(void)
{
    struct client c = client_open((struct http_opts){0});
    struct got first = ask(&c, "/connections", (struct http_request){0}), last;

    for (int i = 0; i < 20; i++)
        last = ask(&c, "/connections", (struct http_request){0});
    ok(first.body[0] && strcmp(first.body, last.body) == 0,
       "20 requests in a row use one connection");
    client_close(&c);
}

static void test_retry_after(struct client *c)
{
    static const struct {
        const char *path, *claim;
        int64_t least_ns, most_ns;
    } cases[] = {
        {"/echo", "an answer that asks for nothing", 0, 0},
        {"/status/429", "seconds", 7 * TICK_S, 7 * TICK_S},
        {"/retry/Retry-After/0.5", "a part of a second", TICK_S / 2,
         TICK_S / 2},
        {"/retry/date/100", "a date", 40 * TICK_S, 100 * TICK_S},
        {"/retry/date/-100", "a date that is over", 0, 0},
        {"/retry/Retry-After/-5", "less than nothing", 0, 0},
        {"/retry/Retry-After/soon", "a word", 0, 0},
        {"/retry/Retry-After/1e300", "for ever is a day", 86400 * TICK_S,
         86400 * TICK_S},
        {"/retry/Retry-After/nan", "no number", 0, 0},
        {"/retry/retry-after-ms/20", "milliseconds", 20 * TICK_MS,
         20 * TICK_MS},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct got g = ask(c, cases[i].path, (struct http_request){0});

        ok(g.retry_after_ns >= cases[i].least_ns &&
               g.retry_after_ns <= cases[i].most_ns,
           "Retry-After: %s", cases[i].claim);
    }
}

/* A connection that carried an answer before is lost with the next request on
 * it: libcurl by itself would send that once more. */
static void test_never_twice(void)
{
    struct client c = client_open((struct http_opts){0});
    struct got g = ask(&c, "/echo", (struct http_request){0});

    g = ask(&c, "/drop", (struct http_request){.body = "x", .body_len = 1});
    ok(g.done == 1 && g.outcome == HTTP_BROKEN && g.sent,
       "a connection lost before the answer");
    is(g.error, "the connection was lost before a reply", "says so");
    g = ask(&c, "/dropped", (struct http_request){0});
    is(g.body, "1", "the request was sent once");
    client_close(&c);
}

/* All of them are answered when the server has `n` at once, else none. */
static void test_together(const char *scheme, int port, int n)
{
    static struct got g[100];
    struct client c = client_open((struct http_opts){.insecure = true});
    char url[64];
    int good = 0;

    snprintf(url, sizeof(url), "%s://127.0.0.1:%d/barrier/%d", scheme, port, n);
    memset(g, 0, sizeof(g));
    for (int i = 0; i < n; i++)
        send_to(&c, "", (struct http_request){.url = url}, &g[i]);
    loop_run(c.loop);
    for (int i = 0; i < n; i++)
        good += g[i].done == 1 && strcmp(g[i].body, "together") == 0;
    ok(good == n, "%d requests are in flight at once (%s)", n, scheme);
    client_close(&c);
}

static void test_connection_bound(void)
{
    static struct got g[30];
    struct client c =
        client_open((struct http_opts){.max_host_connections = 3});
    struct got before = ask(&c, "/connections", (struct http_request){0}), now;
    int64_t a = 0, b = 0;
    int good = 0;

    for (int i = 0; i < 30; i++)
        send_to(&c, "/echo", (struct http_request){0}, &g[i]);
    loop_run(c.loop);
    for (int i = 0; i < 30; i++)
        good += g[i].status == 200;
    now = ask(&c, "/connections", (struct http_request){0});
    str_to_i64(str_of(before.body), 0, 10000, &a);
    str_to_i64(str_of(now.body), 0, 10000, &b);
    ok(good == 30 && b - a <= 2, "30 requests over at most 3 connections");
    client_close(&c);
}

/* ---- what goes wrong ---- */

static void test_failures(struct client *c)
{
    struct got g = ask(c, "/large/4000", (struct http_request){0});

    ok(g.outcome == HTTP_ANSWERED && g.body_len == 4000, "up to the limit");
    g = ask(c, "/large/4001", (struct http_request){0});
    ok(g.outcome == HTTP_TOO_LARGE && g.status == 200 && g.body_len == 4000,
       "a body past its limit");
    is(g.error, "the reply is larger than 4000 bytes", "says so");
    g = ask(c, "/large/50000000", (struct http_request){0});
    ok(g.outcome == HTTP_TOO_LARGE && g.body_len == 4000, "a huge one");
    g = ask(c, "/cut", (struct http_request){0});
    ok(g.outcome == HTTP_BROKEN && g.status == 200 && g.error[0],
       "a connection cut in the middle of an answer: %s", g.error);
    is(g.body, "0123456789", "what came is kept");
    g = ask(c, "/nonsense", (struct http_request){0});
    ok(g.outcome == HTTP_BROKEN && g.error[0], "not HTTP: %s", g.error);
    g = ask(c, "", (struct http_request){.url = "http://127.0.0.1:1/"});
    ok(g.outcome == HTTP_BROKEN && g.status == 0 && !g.sent && g.error[0],
       "nobody listens: %s", g.error);
    g = ask(c, "",
            (struct http_request){.url = "http://no-such-host.invalid/"});
    ok(g.outcome == HTTP_BROKEN && g.error[0], "no such host: %s", g.error);
}

/* Writing on must not end us by SIGPIPE. */
static void test_hang_up(struct client *c, const char *url)
{
    size_t n = (size_t)8 << 20;
    char *body = xcalloc(1, n);
    struct got g =
        ask(c, "/hangup",
            (struct http_request){.url = url, .body = body, .body_len = n});

    ok(g.outcome == HTTP_BROKEN && g.error[0],
       "the server hangs up during the request: %s", g.error);
    free(body);
}

static void test_deadline(struct client *c)
{
    struct got g =
        ask(c, "/never", (struct http_request){.timeout_ns = TICK_S});

    ok(g.done == 1 && g.outcome == HTTP_TIMED_OUT && g.status == 0 && g.sent &&
           g.wall_ns >= TICK_S,
       "a server that never answers");
    is(g.error, "no reply within 1.0 s", "says so");
    g = ask(c, "/half", (struct http_request){.timeout_ns = 500 * TICK_MS});
    ok(g.outcome == HTTP_TIMED_OUT && strstr(g.error, "within 0.5 s"),
       "nor finishes");
}

static void test_deadline_in_queue(void)
{
    struct client c =
        client_open((struct http_opts){.max_host_connections = 1});
    struct got a = {0}, b = {0};
    struct http_call *first =
        send_to(&c, "/never", (struct http_request){0}, &a);

    send_to(&c, "/echo", (struct http_request){.timeout_ns = 50 * TICK_MS}, &b);
    loop_run_for(c.loop, 0);
    while (!b.done)
        loop_run_for(c.loop, 10 * TICK_MS);
    ok(b.outcome == HTTP_TIMED_OUT && !b.sent && !a.done,
       "a request that waits for a connection has its deadline, too");
    http_cancel(first);
    client_close(&c);
}

static void refused(struct client *c, struct http_request r, const char *want)
{
    struct err e = ERR_INIT;

    r.on_done = note_done;
    ok(!http_send(c->http, &r, &e) && e.kind == ERR_INPUT, "refused:");
    is(e.text, want, want);
}

static void test_refusals(struct client *c)
{
    char line[] = "Authorization: secret\n";

    refused(c, (struct http_request){.url = "ftp://127.0.0.1/x"},
            "a URL must begin with http or https, not ftp");
    refused(c, (struct http_request){.url = "file:///etc/passwd"},
            "a URL must begin with http or https, not file");
    refused(c, (struct http_request){.url = "127.0.0.1/x"},
            "not a URL: Bad scheme");
    refused(c,
            (struct http_request){.url = "http://127.0.0.1/",
                                  .headers = (const char *const[]){line, NULL}},
            "header Authorization holds a line break");
    refused(c,
            (struct http_request){.url = "http://127.0.0.1/",
                                  .headers = (const char *const[]){"x", NULL}},
            "a header without a name");
}

/* ---- streaming and cancelling ---- */

struct stream {
    struct got got; /* first: note_done takes it for the whole */
    struct client *client;
    struct got side; /* of the request sent from on_chunk */
    char pieces[256];
    int chunks;
    bool stop, cancel;
};

static int on_chunk(struct http_call *c, const char *data, size_t n, void *arg)
{
    struct stream *s = arg;
    size_t at = strlen(s->pieces);

    snprintf(s->pieces + at, sizeof(s->pieces) - at, "%.*s", (int)n, data);
    if (++s->chunks == 1)
        send_to(s->client, "/release", (struct http_request){0}, &s->side);
    if (s->cancel)
        http_cancel(c);
    return s->stop;
}

static void test_stream(struct client *c)
{
    struct stream s = {.client = c};
    struct got g;

    send_to(c, "/drip", (struct http_request){.on_chunk = on_chunk, .arg = &s},
            NULL);
    loop_run(c->loop);
    ok(s.got.outcome == HTTP_ANSWERED && s.chunks >= 2,
       "a piece is handed out before the next one is sent");
    is(s.pieces, "first,second,third", "the pieces in order");
    ok(s.got.body_len == 0 && s.side.status == 200,
       "they are not collected; a callback may send requests");
    s = (struct stream){.client = c};
    send_to(c, "/drip/503",
            (struct http_request){.on_chunk = on_chunk, .arg = &s}, NULL);
    loop_run(c->loop);
    ok(s.got.status == 503 && s.chunks == 0, "of a refusal no piece is given");
    is(s.got.body, "first,second,third", "its body is collected");
    s = (struct stream){.client = c, .stop = true};
    send_to(c, "/drip", (struct http_request){.on_chunk = on_chunk, .arg = &s},
            NULL);
    loop_run(c->loop);
    ok(s.got.outcome == HTTP_STOPPED && s.got.done == 1 && s.chunks == 1,
       "the receiver can stop it");
    s = (struct stream){.client = c, .cancel = true};
    send_to(c, "/drip", (struct http_request){.on_chunk = on_chunk, .arg = &s},
            NULL);
    loop_run(c->loop);
    ok(s.got.done == 0 && s.chunks == 1, "or cancel it");
    s = (struct stream){.client = c};
    send_to(c, "/large/100000",
            (struct http_request){
                .on_chunk = on_chunk, .arg = &s, .body_limit = 50000},
            NULL);
    loop_run(c->loop);
    ok(s.got.outcome == HTTP_TOO_LARGE, "the limit holds for streams, too");
    g = ask(c, "/echo", (struct http_request){0});
    ok(g.status == 200, "the client is as good as before");
}

static void cancel_timer(void *arg)
{
    http_cancel(arg);
}

static void test_cancel(void)
{
    struct client c = client_open((struct http_opts){0});
    struct got g[10] = {0}, after;
    struct http_call *call[10];
    int told = 0;

    for (int i = 0; i < 10; i++)
        call[i] = send_to(&c, "/never", (struct http_request){0}, &g[i]);
    http_cancel(call[0]);
    for (int i = 1; i < 10; i++)
        loop_add_timer(c.loop, tick_now_ns() + i * TICK_MS, cancel_timer,
                       call[i]);
    loop_run(c.loop);
    for (int i = 0; i < 10; i++)
        told += g[i].done;
    ok(told == 0, "a cancelled request is not told of");
    after = ask(&c, "/echo", (struct http_request){0});
    ok(after.status == 200, "others go on");
    send_to(&c, "/never", (struct http_request){0}, &g[0]);
    loop_run_for(c.loop, TICK_MS);
    client_close(&c);
    ok(g[0].done == 0, "closing the client cancels what is in flight");
}

struct pair {
    struct got got;
    struct http_call *other;
};

static void cancel_other(struct http_call *c, struct http_reply *r, void *arg)
{
    struct pair *p = arg;

    note_done(c, r, &p->got);
    http_cancel(p->other);
}

static void test_cancel_from_done(struct client *c)
{
    struct pair p = {0};
    struct got other = {0};
    struct http_request r = {
        .url = "http://127.0.0.1:1/", .on_done = cancel_other, .arg = &p};
    struct err e = ERR_INIT;

    p.other = send_to(c, "/never", (struct http_request){0}, &other);
    ok(http_send(c->http, &r, &e) != NULL, "sent");
    loop_run(c->loop);
    ok(p.got.done == 1 && other.done == 0,
       "a reply may cancel another request");
}

/* ---- around it ---- */

static void test_proxy(void)
{
    struct client c = client_open((struct http_opts){0});
    char proxy[64];
    struct got g;

    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", server.port);
    set_env("http_proxy", proxy);
    g = ask(&c, "", (struct http_request){.url = "http://models.invalid/v1"});
    set_env("http_proxy", NULL);
    is(g.body, "proxied http://models.invalid/v1",
       "the environment's proxy is used");
    client_close(&c);
}

/* A bound that is meant for HTTP/2 does not hold a server back that speaks
 * HTTP/1: after the first answer the others go out, too. */
static void test_tls_http1(int port)
{
    static struct got g[20];
    struct client c =
        client_open((struct http_opts){.insecure = true,
                                       .max_host_connections = 1,
                                       .max_http1_connections = 50});
    char url[64];
    int good = 0;

    for (int i = 0; i < 20; i++) {
        snprintf(url, sizeof(url), "https://127.0.0.1:%d/%s", port,
                 i ? "gather/19" : "echo");
        send_to(&c, "", (struct http_request){.url = url}, &g[i]);
    }
    loop_run(c.loop);
    for (int i = 1; i < 20; i++)
        good += g[i].done == 1 && strcmp(g[i].body, "together") == 0;
    ok(good == 19, "19 requests wait for the first answer, then go together");
    client_close(&c);
}

static void test_tls_hang_up(int port)
{
    struct client c = client_open((struct http_opts){.insecure = true});
    char url[64];

    snprintf(url, sizeof(url), "https://127.0.0.1:%d/hangup", port);
    test_hang_up(&c, url);
    client_close(&c);
}

static struct got ask_tls(struct http_opts o, int port)
{
    struct client c = client_open(o);
    char url[64];
    struct got g;

    snprintf(url, sizeof(url), "https://127.0.0.1:%d/echo", port);
    g = ask(&c, "", (struct http_request){.url = url});
    client_close(&c);
    return g;
}

/* 60 requests on 2 connections at once can only be HTTP/2. */
static void test_http2(const char *cert, const char *key)
{
    static struct got g[60];
    struct testpeer h2 = testpeer_start((const char *const[]){
        "tests/servers/http2_server.py", cert, key, "60", NULL});
    struct client c = client_open(
        (struct http_opts){.ca_file = cert, .max_host_connections = 2});
    char url[64];
    int good = 0;

    snprintf(url, sizeof(url), "https://127.0.0.1:%d/", h2.port);
    for (int i = 0; i < 60; i++)
        send_to(&c, "", (struct http_request){.url = url}, &g[i]);
    loop_run(c.loop);
    for (int i = 0; i < 60; i++)
        good += g[i].status == 200 &&
                (strcmp(g[i].body, "1") == 0 || strcmp(g[i].body, "2") == 0);
    ok(good == 60, "60 HTTP/2 requests share at most 2 connections");
    client_close(&c);
    testpeer_stop(&h2);
}

static void test_tls(void)
{
    char dir[] = "/tmp/monkeys-http-XXXXXX";
    char *cert = NULL, *key = NULL;
    struct testpeer tls;
    struct got g;

    if (!mkdtemp(dir))
        BUG("mkdtemp");
    if (!testpeer_certificate(dir, &cert, &key)) {
        tap_skip("TLS", "openssl cannot make a certificate");
        goto out;
    }
    tls = testpeer_start(
        (const char *const[]){"tests/servers/http_server.py", cert, key, NULL});
    g = ask_tls((struct http_opts){0}, tls.port);
    ok(g.outcome == HTTP_UNTRUSTED && g.status == 0 && g.error[0],
       "a certificate nobody vouches for is refused: %s", g.error);
    g = ask_tls((struct http_opts){.insecure = true}, tls.port);
    ok(g.outcome == HTTP_ANSWERED && g.status == 200, "unless told otherwise");
    g = ask_tls((struct http_opts){.ca_file = cert}, tls.port);
    ok(g.outcome == HTTP_ANSWERED && g.status == 200, "or told whom to trust");
    g = ask_tls((struct http_opts){0}, server.port);
    ok(g.outcome == HTTP_BROKEN, "no TLS where TLS is asked for: %s", g.error);
    test_together("https", tls.port, 20);
    test_tls_http1(tls.port);
    test_tls_hang_up(tls.port);
    testpeer_stop(&tls);
    test_http2(cert, key);
out:
    unlink(cert);
    unlink(key);
    rmdir(dir);
    free(cert);
    free(key);
}

SUITE(http)
{
    size_t before = fds_open();
    struct client c;

    set_env("http_proxy", NULL);
    set_env("all_proxy", NULL);
    set_env("ALL_PROXY", NULL);
    set_env("https_proxy", NULL);
    set_env("HTTPS_PROXY", NULL);
    server = testpeer_start(
        (const char *const[]){"tests/servers/http_server.py", NULL});
    c = client_open((struct http_opts){0});
    test_get(&c);
    test_post(&c);
    test_failures(&c);
    test_hang_up(&c, NULL);
    test_deadline(&c);
    test_retry_after(&c);
    test_refusals(&c);
    test_stream(&c);
    test_cancel_from_done(&c);
    client_close(&c);
    test_reuse();
    test_never_twice();
    test_together("http", server.port, 100);
    test_connection_bound();
    test_deadline_in_queue();
    test_cancel();
    test_proxy();
    test_tls();
    testpeer_stop(&server);
    ok(before > 0 && fds_open() == before, "no descriptor is left open");
}
