/* llm_server.c: a server that answers every POST after a while with the same
 * chat completion, whole or as a stream, and costs next to nothing, so that a
 * benchmark measures who asks.
 *
 *   bench-llm_server DELAY_MS ANSWER_BYTES
 *
 * Prints its port on 127.0.0.1; ends with its standard input. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/loop.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 20, EVENTS = 16 };

struct server {
    struct loop *loop;
    int64_t delay_ns;
    struct buf whole, stream; /* the two answers, heads included */
};

struct conn {
    struct server *s;
    int fd;
    uint64_t source, timer;
    struct buf in;
};

static void put_answer(struct buf *out, const char *kind,
                       const struct buf *body)
{
    buf_printf(out,
               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n"
               "Content-Length: %zu\r\n\r\n",
               kind, body->len);
    buf_put(out, body->data, body->len);
}

static void make_answers(struct server *s, size_t bytes)
{
    static const char usage[] =
        "\"usage\":{\"prompt_tokens\":2000,\"completion_tokens\":500}";
    char *text = xcalloc(1, bytes + 1);
    struct buf body = BUF_INIT;

    memset(text, 'a', bytes);
    buf_init(&s->whole, BUF_UNLIMITED);
    buf_init(&s->stream, BUF_UNLIMITED);
    buf_printf(&body,
               "{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":"
               "\"%s\"},\"finish_reason\":\"stop\"}],%s}",
               text, usage);
    put_answer(&s->whole, "application/json", &body);
    buf_reset(&body);
    for (int i = 0; i < EVENTS; i++)
        buf_printf(&body,
                   "data: {\"model\":\"m\",\"choices\":[{\"delta\":"
                   "{\"content\":\"%.*s\"},\"finish_reason\":null}]}\n\n",
                   (int)bytes / EVENTS, text);
    buf_printf(&body,
               "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]"
               "}\n\ndata: {\"choices\":[],%s}\n\ndata: [DONE]\n\n",
               usage);
    put_answer(&s->stream, "text/event-stream", &body);
    buf_release(&body);
    free(text);
}

static void conn_close(struct conn *c)
{
    loop_remove(c->s->loop, c->source);
    loop_remove(c->s->loop, c->timer);
    close(c->fd);
    buf_release(&c->in);
    free(c);
}

static void answer(void *arg)
{
    struct conn *c = arg;
    bool stream = strstr(buf_str(&c->in), "\"stream\":true") != NULL;
    const struct buf *out = stream ? &c->s->stream : &c->s->whole;

    c->timer = 0;
    buf_release(&c->in); /* thousands wait */
    if (send(c->fd, out->data, out->len, MSG_NOSIGNAL) != (ssize_t)out->len)
        conn_close(c);
}

/* Whether head and body are there. */
static bool is_whole(const struct buf *in)
{
    const char *end = strstr(buf_str(in), "\r\n\r\n");
    const char *length = strcasestr(buf_str(in), "\r\ncontent-length:");

    return end && length && length < end &&
           (size_t)(end - in->data) + 4 + strtoul(length + 17, NULL, 10) <=
               in->len;
}

static void on_request(int fd, unsigned events, void *arg)
{
    struct conn *c = arg;
    struct err e = ERR_INIT;
    char data[16384];
    ssize_t n = recv(fd, data, sizeof(data), 0);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || buf_add(&c->in, data, (size_t)n, &e) < 0)
        conn_close(c);
    else if (!c->timer && is_whole(&c->in))
        c->timer = loop_add_timer(c->s->loop, tick_now_ns() + c->s->delay_ns,
                                  answer, c);
}

static void on_connection(int fd, unsigned events, void *arg)
{
    struct server *s = arg;
    struct err e = ERR_INIT;
    int one = 1, got;

    (void)events;
    while ((got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = xcalloc(1, sizeof(*c));

        setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        c->s = s;
        c->fd = got;
        buf_init(&c->in, REQUEST_MAX);
        c->source = loop_add_fd(s->loop, got, LOOP_READ, on_request, c, &e);
        if (!c->source)
            BUG("%s", e.text);
    }
}

static void on_input(int fd, unsigned events, void *arg)
{
    struct server *s = arg;
    char c;

    (void)events;
    if (read(fd, &c, 1) <= 0)
        loop_stop(s->loop);
}

static int listen_on_loopback(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
        listen(fd, 4096) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        BUG("no port on the loopback");
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv)
{
    struct server s = {0};
    struct err e = ERR_INIT;

    if (argc != 3)
        return 2;
    s.delay_ns = strtol(argv[1], NULL, 10) * TICK_MS;
    make_answers(&s, strtoul(argv[2], NULL, 10));
    s.loop = loop_new(&e);
    if (!s.loop ||
        !loop_add_fd(s.loop, listen_on_loopback(), LOOP_READ, on_connection, &s,
                     &e) ||
        !loop_add_fd(s.loop, STDIN_FILENO, LOOP_READ, on_input, &s, &e))
        BUG("%s", e.text);
    loop_run(s.loop);
    return 0;
}
