/* httpd.c: libmicrohttpd on our loop. We accept connections ourselves, so that one
 * that is idle can make room.
 *
 * A call that is answered later is suspended. libmicrohttpd does not look at suspended
 * connections, so a tick asks the kernel which of their clients have hung up. */
#include "io/httpd.h"

#include "base/mem.h"
#include "base/tick.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_NS    (250 * TICK_MS)
#define REQUEST_NS (60 * TICK_S) /* in which a request must have arrived */
enum {
    MEMORY_BYTES = 16384,
    ACCEPT_AT_ONCE = 64,
    IDLE_S = 30,
    STREAM_BYTES = 4096
};

/* The Content-Security-Policy of what is no page. */
#define NOTHING "default-src 'none'; frame-ancestors 'none'"

enum client_state {
    CLIENT_IDLE,    /* no request; in the list of idle ones, oldest first */
    CLIENT_ASKING,  /* its request is arriving */
    CLIENT_WAITING, /* suspended, for httpd_answer() */
    CLIENT_ANSWERED,
};

/* A connection, with the request that is under way on it. */
struct client {
    struct httpd_call call; /* the first member */
    struct httpd *server;
    struct MHD_Connection *connection;
    int fd;
    enum client_state state;
    bool began; /* libmicrohttpd has called for this request before */
    bool hung_up;
    int64_t since_ns; /* it began to ask */
    char *target;
    struct arena memory; /* of the target's parts */
    struct buf body;
    size_t dropped; /* bytes of a body that is too large */
    unsigned status;
    struct MHD_Response *response; /* made while it was suspended */
    struct client *before, *after; /* in one of the server's lists */
};

struct httpd_stream {
    struct client *client;
    httpd_fill_fn *fill;
    httpd_gone_fn *done;
    void *arg;
    struct buf out; /* what is not yet sent */
    size_t sent;
    bool suspended, over;
    struct httpd_stream *before, *after;
};

struct httpd {
    struct loop *loop;
    struct httpd_opts o;
    struct MHD_Daemon *daemon;
    uint64_t listen_id, epoll_id, timer_id, run_id;
    size_t clients;
    struct client idle, busy; /* the anchors of both lists */
    struct httpd_stream streams;
    bool deaf;
};

/* ---- connections ---- */

static void client_move(struct client *c, struct client *list)
{
    if (c->before) {
        c->before->after = c->after;
        c->after->before = c->before;
    }
    c->before = list ? list->before : NULL;
    c->after = list;
    if (list)
        c->before->after = c->after->before = c;
}

static void client_reset(struct client *c)
{
    free(c->target);
    arena_release(&c->memory);
    buf_release(&c->body);
    if (c->response)
        MHD_destroy_response(c->response);
    *c = (struct client){.server = c->server,
                         .connection = c->connection,
                         .fd = c->fd,
                         .before = c->before,
                         .after = c->after};
    buf_init(&c->body, BUF_UNLIMITED);
}

static void httpd_on_connection(void *arg, struct MHD_Connection *connection,
                                void **context,
                                enum MHD_ConnectionNotificationCode code)
{
    struct httpd *h = arg;
    struct client *c = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        c = xcalloc(1, sizeof(*c));
        c->server = h;
        c->connection = connection;
        c->fd = MHD_get_connection_info(connection,
                                        MHD_CONNECTION_INFO_CONNECTION_FD)
                    ->connect_fd;
        buf_init(&c->body, BUF_UNLIMITED);
        h->clients++;
        client_move(c, &h->idle);
        *context = c;
    } else {
        h->clients--;
        client_move(c, NULL);
        client_reset(c);
        free(c);
    }
}

static struct client *client_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

/* Closes the connection that has been idle longest. */
static bool httpd_make_room(struct httpd *h)
{
    struct client *c = h->idle.after;

    if (c == &h->idle)
        return false;
    client_move(c, &h->busy);
    shutdown(c->fd, SHUT_RDWR);
    MHD_run(h->daemon);
    return true;
}

static void httpd_refuse(int fd)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\n"
                               "Connection: close\r\nRetry-After: 5\r\n"
                               "Content-Length: 0\r\n\r\n";

    if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0) {
        /* It is closed in any case. */
    }
    close(fd);
}

static void httpd_on_accept(int fd, unsigned events, void *arg)
{
    struct httpd *h = arg;
    struct sockaddr_storage from;
    struct err ignored;

    (void)events;
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        socklen_t size = sizeof(from);
        int client = accept4(fd, (struct sockaddr *)&from, &size,
                             SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client < 0 && (errno == EMFILE || errno == ENFILE)) {
            /* The listener stays readable: rest until the next tick. */
            httpd_make_room(h);
            loop_set_interest(h->loop, h->listen_id, 0, &ignored);
            h->deaf = true;
        }
        if (client < 0)
            break;
        if (h->clients >= h->o.connections && !httpd_make_room(h))
            httpd_refuse(client);
        else
            MHD_add_connection(h->daemon, client, (struct sockaddr *)&from,
                               size);
    }
    MHD_run(h->daemon);
}

/* ---- answers ---- */

static const struct {
    const char *name, *value;
} headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

static void client_put_headers(const struct client *c,
                               const struct httpd_answer *a,
                               struct MHD_Response *r)
{
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
        MHD_add_response_header(r, headers[i].name, headers[i].value);
    MHD_add_response_header(r, "Content-Security-Policy",
                            a->policy ? a->policy : NOTHING);
    MHD_add_response_header(r, "Content-Type", a->type);
    MHD_add_response_header(r, "Cache-Control",
                            a->fixed.p ? "no-cache" : "no-store");
    for (size_t i = 0; i < HTTPD_HEADERS && a->header[i].name; i++)
        MHD_add_response_header(r, a->header[i].name, a->header[i].value);
    if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, "Allow", c->server->o.allow);
    if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED ||
        a->status == MHD_HTTP_CONTENT_TOO_LARGE ||
        a->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(r, "Connection", "close");
    if (a->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(r, "Retry-After", "5");
}

static void httpd_on_run(void *arg)
{
    struct httpd *h = arg;

    h->run_id = 0;
    MHD_run(h->daemon);
}

/* libmicrohttpd has something to do, but may be what called us. */
static void httpd_run_soon(struct httpd *h)
{
    if (!h->run_id)
        h->run_id = loop_defer(h->loop, httpd_on_run, h);
}

static void client_answer(struct client *c, const struct httpd_answer *a,
                          struct MHD_Response *r)
{
    if (!r)
        BUG("no memory for a response");
    client_put_headers(c, a, r);
    c->status = a->status;
    c->response = r;
    if (c->state == CLIENT_WAITING) {
        MHD_resume_connection(c->connection);
        httpd_run_soon(c->server);
    }
    c->state = CLIENT_ANSWERED;
}

void httpd_answer(struct httpd_call *call, struct httpd_answer *a)
{
    struct client *c = (struct client *)call;
    size_t n;
    char *text;

    if (a->fixed.p) {
        client_answer(c, a,
                      MHD_create_response_from_buffer(a->fixed.n,
                                                      (void *)a->fixed.p,
                                                      MHD_RESPMEM_PERSISTENT));
    } else if (a->shared.p) {
        client_answer(
            c, a,
            MHD_create_response_from_buffer_with_free_callback_cls(
                a->shared.n, (void *)a->shared.p, a->release, a->owner));
    } else {
        text = buf_take(&a->body, &n);
        client_answer(
            c, a,
            MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE));
    }
}

static void client_say(struct client *c, unsigned status, const char *text)
{
    struct httpd_answer a = {.status = status,
                             .type = "text/plain; charset=utf-8",
                             .fixed = str_of(text)};

    httpd_answer(&c->call, &a);
}

/* ---- answers that are said piece by piece ---- */

static ssize_t stream_read(void *arg, uint64_t pos, char *into, size_t most)
{
    struct httpd_stream *t = arg;
    size_t n;

    (void)pos;
    if (t->sent == t->out.len) {
        buf_reset(&t->out);
        t->sent = 0;
        if (!t->over)
            t->over = !t->fill(&t->out, t->arg);
    }
    n = t->out.len - t->sent;
    if (n > most)
        n = most;
    if (n) {
        memcpy(into, t->out.data + t->sent, n);
        t->sent += n;
        return (ssize_t)n;
    }
    if (t->over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    MHD_suspend_connection(t->client->connection);
    t->suspended = true;
    return 0;
}

static void stream_free(void *arg)
{
    struct httpd_stream *t = arg;

    t->before->after = t->after;
    t->after->before = t->before;
    t->done(t->arg);
    buf_release(&t->out);
    free(t);
}

struct httpd_stream *httpd_answer_stream(struct httpd_call *call,
                                         struct httpd_answer *a,
                                         httpd_fill_fn *fill,
                                         httpd_gone_fn *done, void *arg)
{
    struct client *c = (struct client *)call;
    struct httpd_stream *t = xcalloc(1, sizeof(*t)), *list;

    list = &c->server->streams;
    *t = (struct httpd_stream){.client = c,
                               .fill = fill,
                               .done = done,
                               .arg = arg,
                               .before = list->before,
                               .after = list};
    t->before->after = t->after->before = t;
    buf_init(&t->out, BUF_UNLIMITED);
    client_answer(c, a,
                  MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
                                                    STREAM_BYTES, stream_read,
                                                    t, stream_free));
    return t;
}

void httpd_wake(struct httpd_stream *t)
{
    if (!t->suspended)
        return;
    t->suspended = false;
    MHD_resume_connection(t->client->connection);
    httpd_run_soon(t->client->server);
}

/* ---- requests ---- */

static void *httpd_on_target(void *arg, const char *target,
                             struct MHD_Connection *connection)
{
    struct client *c = client_of(connection);

    (void)arg;
    c->target = xstrdup(target);
    return c;
}

static void httpd_on_completed(void *arg, struct MHD_Connection *connection,
                               void **context,
                               enum MHD_RequestTerminationCode code)
{
    struct client *c = client_of(connection);

    (void)arg;
    (void)code;
    *context = NULL;
    client_reset(c);
    client_move(c, &c->server->idle);
}

const char *httpd_header(const struct httpd_call *call, const char *name)
{
    return MHD_lookup_connection_value(
        ((const struct client *)call)->connection, MHD_HEADER_KIND, name);
}

/* "GET, HEAD" has it as a word. */
static bool httpd_allows(const char *list, const char *method)
{
    struct str rest = str_of(list), word;

    while (str_part(&rest, ',', &word))
        if (str_eq(str_trim(word), method))
            return true;
    return false;
}

/* A browser names the site whose page asks. Programs do not. */
static bool client_is_foreign(const struct client *c)
{
    const char *origin = httpd_header(&c->call, "Origin");
    const char *host = origin ? strstr(origin, "://") : NULL;

    return origin && (!host || !httpd_host_ok(&c->server->o.where->hosts,
                                              host + strlen("://")));
}

/* What its head alone tells. */
static void client_check_head(struct client *c)
{
    const struct httpd_opts *o = &c->server->o;
    const char *length = httpd_header(&c->call, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t bytes;

    if (!httpd_allows(o->allow, c->call.method))
        client_say(c, MHD_HTTP_METHOD_NOT_ALLOWED,
                   "this method is not answered\n");
    else if (!httpd_host_ok(&o->where->hosts,
                            httpd_header(&c->call, MHD_HTTP_HEADER_HOST)))
        client_say(c, MHD_HTTP_MISDIRECTED_REQUEST,
                   "this name is not served here; start the server with "
                   "--host NAME to allow it\n");
    else if (client_is_foreign(c))
        client_say(c, MHD_HTTP_FORBIDDEN,
                   "pages of other sites are not answered\n");
    else if (o->body_limit && length &&
             (!str_to_i64(str_of(length), 0, INT64_MAX, &bytes) ||
              (uint64_t)bytes > o->body_limit))
        client_say(c, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large\n");
}

/* All of the request is there. */
static void client_call(struct client *c)
{
    unsigned refused = (unsigned)httpd_target_parse(
        str_of(c->target), &c->memory, &c->call.target);

    if (c->dropped) {
        client_say(c, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large\n");
    } else if (refused) {
        client_say(c, refused, "bad request\n");
    } else {
        c->call.body = buf_view(&c->body);
        c->server->o.on_call(&c->call, c->server->o.arg);
    }
    if (c->state == CLIENT_ANSWERED)
        return;
    c->state = CLIENT_WAITING;
    MHD_suspend_connection(c->connection);
}

static void client_take_body(struct client *c, const char *data, size_t *n)
{
    if (c->body.len + *n > c->server->o.body_limit || c->dropped)
        c->dropped += *n;
    else
        buf_put(&c->body, data, *n);
    *n = 0;
}

static enum MHD_Result client_send(struct client *c)
{
    enum MHD_Result rc =
        MHD_queue_response(c->connection, c->status, c->response);

    MHD_destroy_response(c->response);
    c->response = NULL;
    return rc;
}

/* The parameters are libmicrohttpd's, which calls when the head has arrived, for
 * each part of a body, at the end, and after the connection was resumed. Only at the
 * first and the last may it be answered.
 * NOLINTBEGIN(readability-function-size,readability-non-const-parameter) */
static enum MHD_Result httpd_on_request(void *arg,
                                        struct MHD_Connection *connection,
                                        const char *url, const char *method,
                                        const char *version, const char *upload,
                                        size_t *upload_size, void **context)
{
    struct client *c = *context;

    (void)arg;
    (void)connection;
    (void)url;
    (void)version;
    if (c->hung_up)
        return MHD_NO;
    if (!c->began) {
        c->began = true;
        c->state = CLIENT_ASKING;
        c->since_ns = tick_now_ns();
        c->call.method = method;
        client_move(c, &c->server->busy);
        client_check_head(c);
    } else if (*upload_size) {
        client_take_body(c, upload, upload_size);
    } else if (c->state == CLIENT_ASKING) {
        client_call(c);
    }
    return c->response ? client_send(c) : MHD_YES;
}
/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

/* ---- the loop ---- */

static void client_hang_up(struct client *c)
{
    c->hung_up = true;
    if (c->state != CLIENT_WAITING) {
        shutdown(c->fd, SHUT_RDWR);
        return;
    }
    c->state = CLIENT_ANSWERED;
    if (c->call.gone)
        c->call.gone(c->call.arg);
    MHD_resume_connection(c->connection);
}

static bool client_has_left(const struct client *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return poll(&p, 1, 0) > 0;
}

/* Those whose request takes too long to arrive, and those who wait for an answer that
 * nobody will read. */
static void httpd_look_at_busy(struct httpd *h)
{
    struct client *next;

    for (struct client *c = h->busy.after; c != &h->busy; c = next) {
        next = c->after;
        if ((c->state == CLIENT_ASKING &&
             tick_now_ns() - c->since_ns > REQUEST_NS) ||
            (c->state == CLIENT_WAITING && client_has_left(c)))
            client_hang_up(c);
    }
    for (struct httpd_stream *t = h->streams.after; t != &h->streams;
         t = t->after)
        if (t->suspended && client_has_left(t->client)) {
            t->over = true;
            httpd_wake(t);
        }
}

static void httpd_on_epoll(int fd, unsigned events, void *arg)
{
    struct httpd *h = arg;

    (void)fd;
    (void)events;
    MHD_run(h->daemon);
}

static void httpd_on_tick(void *arg)
{
    struct httpd *h = arg;
    struct err ignored;

    if (h->deaf && h->listen_id) {
        h->deaf = false;
        loop_set_interest(h->loop, h->listen_id, LOOP_READ, &ignored);
    }
    httpd_look_at_busy(h);
    MHD_run(h->daemon); /* and lets connections time out */
    h->timer_id =
        loop_add_timer(h->loop, tick_now_ns() + TICK_NS, httpd_on_tick, h);
}

/* ---- start and end ---- */

/* A quarter of the files that may be open, where that is less. */
static size_t httpd_most_clients(size_t wanted)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 4 < wanted)
        return files.rlim_cur / 4 > 8 ? (size_t)(files.rlim_cur / 4) : 8;
    return wanted;
}

static int httpd_start(struct httpd *h, struct err *e)
{
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0,
        NULL, NULL, httpd_on_request, h, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)h->o.connections + ACCEPT_AT_ONCE,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
        httpd_on_target, h, MHD_OPTION_NOTIFY_COMPLETED, httpd_on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, httpd_on_connection, h, MHD_OPTION_END);
    if (!h->daemon)
        return err_sys(e, "libmicrohttpd cannot start");
    return 0;
}

struct httpd *httpd_new(struct loop *l, const struct httpd_opts *o,
                        struct err *e)
{
    struct httpd *h = xcalloc(1, sizeof(*h));
    int fd;

    *h = (struct httpd){.loop = l, .o = *o};
    h->o.connections = httpd_most_clients(o->connections);
    h->idle.before = h->idle.after = &h->idle;
    h->busy.before = h->busy.after = &h->busy;
    h->streams.before = h->streams.after = &h->streams;
    if (httpd_start(h, e) < 0) {
        free(h);
        return NULL;
    }
    fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    h->epoll_id = loop_add_fd(l, fd, LOOP_READ, httpd_on_epoll, h, e);
    h->listen_id =
        loop_add_fd(l, o->where->fd, LOOP_READ, httpd_on_accept, h, e);
    if (!h->epoll_id || !h->listen_id) {
        httpd_free(h);
        return NULL;
    }
    h->timer_id = loop_add_timer(l, tick_now_ns() + TICK_NS, httpd_on_tick, h);
    return h;
}

void httpd_deafen(struct httpd *h)
{
    loop_remove(h->loop, h->listen_id);
    h->listen_id = 0;
}

void httpd_free(struct httpd *h)
{
    loop_remove(h->loop, h->listen_id);
    loop_remove(h->loop, h->epoll_id);
    loop_remove(h->loop, h->timer_id);
    loop_remove(h->loop, h->run_id);
    for (struct client *c = h->busy.after; c != &h->busy; c = c->after)
        if (c->state == CLIENT_WAITING)
            client_hang_up(c);
    for (struct httpd_stream *t = h->streams.after; t != &h->streams;
         t = t->after)
        if (t->suspended)
            MHD_resume_connection(t->client->connection);
    MHD_stop_daemon(h->daemon);
    free(h);
}
