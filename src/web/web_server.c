/* web_server.c: libmicrohttpd on our loop. We accept connections ourselves, so
 * that one that is idle can make room. */
#include "web/web_server.h"

#include "base/mem.h"
#include "base/tick.h"
#include "web/web_routes.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_NS  (250 * TICK_MS)
#define ALIVE_NS (15 * TICK_S) /* a stream hears something this often */
#define END_NS   TICK_S
enum { MEMORY_BYTES = 16384, ACCEPT_AT_ONCE = 64 };

/* A connection. Those that wait for a request are in a list, oldest first. */
struct client {
    int fd;
    bool idle;
    struct client *before, *after;
};

struct stream {
    struct web_server *server;
    struct MHD_Connection *connection;
    bool suspended, ended;
    int64_t version; /* of web_live: what it was told */
    int64_t told_ns;
    struct buf out; /* what of the last event is not yet sent */
    size_t sent;
    struct stream *next;
};

struct web_server {
    struct loop *loop;
    const struct web_listen *where;
    struct web_live *live;
    struct web_routes routes;
    struct MHD_Daemon *daemon;
    uint64_t listen_id, epoll_id, timer_id;
    size_t clients, most;
    struct client idle; /* the list's anchor */
    struct stream *stream;
    size_t streams;
    bool deaf, ending;
};

/* ---- connections ---- */

static void unlink_client(struct client *c)
{
    if (!c->idle)
        return;
    c->before->after = c->after;
    c->after->before = c->before;
    c->idle = false;
}

static void set_idle(struct web_server *s, struct client *c)
{
    unlink_client(c);
    c->before = s->idle.before;
    c->after = &s->idle;
    c->before->after = c->after->before = c;
    c->idle = true;
}

static void on_connection(void *arg, struct MHD_Connection *connection,
                          void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct web_server *s = arg;
    struct client *c = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        c = xcalloc(1, sizeof(*c));
        c->fd = MHD_get_connection_info(connection,
                                        MHD_CONNECTION_INFO_CONNECTION_FD)
                    ->connect_fd;
        s->clients++;
        set_idle(s, c);
        *context = c;
    } else {
        s->clients--;
        unlink_client(c);
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
static bool make_room(struct web_server *s)
{
    struct client *c = s->idle.after;

    if (c == &s->idle)
        return false;
    unlink_client(c);
    shutdown(c->fd, SHUT_RDWR);
    MHD_run(s->daemon);
    return true;
}

static void refuse(int fd)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\n"
                               "Connection: close\r\nRetry-After: 5\r\n"
                               "Content-Length: 0\r\n\r\n";

    if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0) {
        /* It is closed in any case. */
    }
    close(fd);
}

static void on_accept(int fd, unsigned events, void *arg)
{
    struct web_server *s = arg;
    struct sockaddr_storage from;
    struct err ignored;

    (void)events;
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        socklen_t size = sizeof(from);
        int client = accept4(fd, (struct sockaddr *)&from, &size,
                             SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client < 0 && (errno == EMFILE || errno == ENFILE)) {
            /* The listener stays readable: rest until the next tick. */
            make_room(s);
            loop_set_interest(s->loop, s->listen_id, 0, &ignored);
            s->deaf = true;
        }
        if (client < 0)
            break;
        if (s->clients >= s->most && !make_room(s))
            refuse(client);
        else
            MHD_add_connection(s->daemon, client, (struct sockaddr *)&from,
                               size);
    }
    MHD_run(s->daemon);
}

/* ---- streams of events ---- */

static ssize_t read_stream(void *arg, uint64_t pos, char *into, size_t most)
{
    struct stream *t = arg;
    size_t n;

    (void)pos;
    if (t->sent == t->out.len) {
        buf_reset(&t->out);
        t->sent = 0;
        if (t->version < t->server->live->version) {
            web_routes_event(t->server->live, &t->out);
            t->version = t->server->live->version;
        } else if (t->server->ending && !t->ended) {
            buf_puts(&t->out, "event: end\ndata: {}\n\n");
            t->ended = true;
        } else if (tick_now_ns() - t->told_ns >= ALIVE_NS) {
            buf_puts(&t->out, ":\n\n");
        }
    }
    n = t->out.len - t->sent;
    if (n > most)
        n = most;
    if (n) {
        memcpy(into, t->out.data + t->sent, n);
        t->sent += n;
        t->told_ns = tick_now_ns();
        return (ssize_t)n;
    }
    MHD_suspend_connection(t->connection);
    t->suspended = true;
    return 0;
}

static void free_stream(void *arg)
{
    struct stream *t = arg, **at = &t->server->stream;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->server->streams--;
    buf_release(&t->out);
    free(t);
}

static struct MHD_Response *new_stream(struct web_server *s,
                                       struct MHD_Connection *connection)
{
    struct stream *t = xcalloc(1, sizeof(*t));
    struct MHD_Response *r;

    *t = (struct stream){.server = s,
                         .connection = connection,
                         .told_ns = tick_now_ns(),
                         .next = s->stream};
    buf_init(&t->out, BUF_UNLIMITED);
    s->stream = t;
    s->streams++;
    r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream,
                                          t, free_stream);
    if (!r)
        BUG("no memory for a response");
    return r;
}

/* Wakes the streams that have something to say. */
static void wake_streams(struct web_server *s)
{
    int64_t now_ns = tick_now_ns();

    for (struct stream *t = s->stream; t; t = t->next) {
        if (!t->suspended || (t->version == s->live->version && !s->ending &&
                              now_ns - t->told_ns < ALIVE_NS))
            continue;
        t->suspended = false;
        MHD_resume_connection(t->connection);
    }
    MHD_run(s->daemon);
}

/* ---- requests ---- */

/* A request, from its first line to its end. */
struct asking {
    struct str target;
    bool begun;
};

static void *on_target(void *arg, const char *target,
                       struct MHD_Connection *connection)
{
    struct asking *x = xcalloc(1, sizeof(*x));

    (void)arg;
    (void)connection;
    x->target = str_of(xstrdup(target));
    return x;
}

static void on_completed(void *arg, struct MHD_Connection *connection,
                         void **context, enum MHD_RequestTerminationCode code)
{
    struct asking *x = *context;

    (void)code;
    set_idle(arg, client_of(connection));
    if (!x)
        return;
    free((char *)x->target.p);
    free(x);
    *context = NULL;
}

static const struct {
    const char *name, *value;
} headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

/* Sends the body `r` with the head that `a` describes. */
static enum MHD_Result send_response(struct MHD_Connection *connection,
                                     const struct web_answer *a,
                                     struct MHD_Response *r)
{
    enum MHD_Result rc;

    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
        MHD_add_response_header(r, headers[i].name, headers[i].value);
    MHD_add_response_header(r, "Content-Security-Policy",
                            a->policy ? a->policy : WEB_NOTHING);
    MHD_add_response_header(r, "Content-Type", a->type);
    MHD_add_response_header(r, "Cache-Control",
                            a->fixed.p ? "no-cache" : "no-store");
    if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(r, "Allow", "GET, HEAD");
        MHD_add_response_header(r, "Connection", "close");
    }
    if (a->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(r, "Retry-After", "5");
    rc = MHD_queue_response(connection, a->status, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result send_text(struct MHD_Connection *connection,
                                 unsigned status, const char *text)
{
    struct web_answer a = {.status = status,
                           .type = "text/plain; charset=utf-8"};

    return send_response(
        connection, &a,
        MHD_create_response_from_buffer(strlen(text), (void *)text,
                                        MHD_RESPMEM_PERSISTENT));
}

static void drop_shared(void *text)
{
    web_text_drop(text);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection,
                                   struct web_answer *a)
{
    struct MHD_Response *r;
    size_t n = a->fixed.n;
    char *text;

    if (a->fixed.p) {
        r = MHD_create_response_from_buffer(n, (void *)a->fixed.p,
                                            MHD_RESPMEM_PERSISTENT);
    } else if (a->shared) {
        r = MHD_create_response_from_buffer_with_free_callback_cls(
            a->shared->n, a->shared->data, drop_shared, a->shared);
    } else {
        text = buf_take(&a->body, &n);
        r = MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE);
    }
    return send_response(connection, a, r);
}

static enum MHD_Result send_stream(struct web_server *s,
                                   struct MHD_Connection *connection)
{
    struct web_answer a = {.status = MHD_HTTP_OK, .type = "text/event-stream"};

    if (s->streams == WEB_STREAMS)
        return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                         "too many pages are open\n");
    return send_response(connection, &a, new_stream(s, connection));
}

static enum MHD_Result answer(struct web_server *s,
                              struct MHD_Connection *connection,
                              struct str target)
{
    struct web_answer a = {0};
    struct web_request q;
    struct arena memory;
    enum MHD_Result rc;
    int refused;

    arena_init(&memory);
    refused = web_request_parse(target, &memory, &q);
    if (refused) {
        rc = send_text(connection, (unsigned)refused, "bad request\n");
    } else if (strcmp(q.path, "/api/events") == 0) {
        rc = send_stream(s, connection);
    } else {
        web_live_look(s->live, false);
        buf_init(&a.body, BUF_UNLIMITED);
        web_routes_answer(&s->routes, &q, &a);
        rc = send_answer(connection, &a);
        buf_release(&a.body);
    }
    arena_release(&memory);
    return rc;
}

/* The parameters are libmicrohttpd's.
 * NOLINTBEGIN(readability-function-size,readability-non-const-parameter) */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    struct web_server *s = arg;
    struct asking *x = *context;
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_HOST);

    (void)url;
    (void)version;
    (void)upload;
    (void)upload_size;
    unlink_client(client_of(connection));
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                         "only GET and HEAD are answered\n");
    if (!web_request_host_ok(&s->where->hosts, host))
        return send_text(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                         "this name is not served here; start the server with "
                         "--host NAME to allow it\n");
    /* libmicrohttpd calls a second time; only then may a request without a
     * body be answered and its connection kept. */
    if (!x->begun) {
        x->begun = true;
        return MHD_YES;
    }
    return answer(s, connection, x->target);
}
/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

/* ---- the loop ---- */

static void on_epoll(int fd, unsigned events, void *arg)
{
    struct web_server *s = arg;

    (void)fd;
    (void)events;
    MHD_run(s->daemon);
}

static void on_tick(void *arg)
{
    struct web_server *s = arg;
    struct err ignored;

    if (s->deaf) {
        s->deaf = false;
        loop_set_interest(s->loop, s->listen_id, LOOP_READ, &ignored);
    }
    if (s->streams)
        web_live_look(s->live, false);
    wake_streams(s); /* and lets connections time out */
    s->timer_id = loop_add_timer(s->loop, tick_now_ns() + TICK_NS, on_tick, s);
}

/* ---- start and end ---- */

static size_t most_clients(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
        files.rlim_cur / 4 < WEB_CONNECTIONS)
        return files.rlim_cur / 4 > 8 ? (size_t)(files.rlim_cur / 4) : 8;
    return WEB_CONNECTIONS;
}

static int start_daemon(struct web_server *s, struct err *e)
{
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0,
        NULL, NULL, on_request, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->most + ACCEPT_AT_ONCE, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)WEB_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_END);
    if (!s->daemon)
        return err_sys(e, "libmicrohttpd cannot start");
    return 0;
}

struct web_server *web_server_new(struct loop *l,
                                  const struct web_listen *where,
                                  struct web_live *live, struct err *e)
{
    struct web_server *s = xcalloc(1, sizeof(*s));
    int fd;

    *s = (struct web_server){
        .loop = l, .where = where, .live = live, .most = most_clients()};
    s->idle.before = s->idle.after = &s->idle;
    web_routes_init(&s->routes, live);
    if (start_daemon(s, e) < 0) {
        web_routes_release(&s->routes);
        free(s);
        return NULL;
    }
    fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    s->epoll_id = loop_add_fd(l, fd, LOOP_READ, on_epoll, s, e);
    s->listen_id = loop_add_fd(l, where->fd, LOOP_READ, on_accept, s, e);
    if (!s->epoll_id || !s->listen_id) {
        web_server_free(s);
        return NULL;
    }
    s->timer_id = loop_add_timer(l, tick_now_ns() + TICK_NS, on_tick, s);
    return s;
}

void web_server_end(struct web_server *s)
{
    int64_t until_ns = tick_now_ns() + END_NS;

    loop_remove(s->loop, s->listen_id);
    web_live_look(s->live, true);
    s->ending = true;
    wake_streams(s);
    while (s->streams && tick_now_ns() < until_ns) {
        loop_run_for(s->loop, 10 * TICK_MS);
        wake_streams(s);
    }
}

void web_server_free(struct web_server *s)
{
    loop_remove(s->loop, s->listen_id);
    loop_remove(s->loop, s->epoll_id);
    loop_remove(s->loop, s->timer_id);
    for (struct stream *t = s->stream; t; t = t->next)
        if (t->suspended)
            MHD_resume_connection(t->connection);
    MHD_stop_daemon(s->daemon);
    web_routes_release(&s->routes);
    free(s);
}
