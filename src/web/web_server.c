/* web_server.c: libmicrohttpd on our loop. We accept connections ourselves, so that one
 * that is idle can make room. */
#include "web/web_server.h"

#include "analyze/views.h"
#include "base/mem.h"
#include "base/tick.h"
#include "web/page.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the runs that are shown ---- */

/* A run at work, and one that is not. */
#define WORKING_NS TICK_S
#define RESTING_NS (2 * TICK_S)
/* Looking takes at most this share of the time. */
#define SHARE 20

static bool web_live_open_run(struct web_live_run *r)
{
    r->why = (struct err)ERR_INIT;
    r->open = run_view_open(r->dir, &r->view, &r->why) == 0;
    if (!r->open)
        return false;
    /* Whoever has seen an earlier version has seen none of this one. */
    if (r->version)
        run_view_renumber(&r->view, r->version + 1);
    r->version = r->view.version;
    return true;
}

int web_live_open(const char *const *dirs, size_t n, struct web_live *l,
                  struct err *e)
{
    *l = (struct web_live){.run = xcalloc(n, sizeof(*l->run)), .version = 1};
    for (; l->runs < n; l->runs++) {
        struct web_live_run *r = &l->run[l->runs];

        r->dir = xstrdup(dirs[l->runs]);
        if (web_live_open_run(r))
            continue;
        *e = r->why;
        free(r->dir);
        web_live_close(l);
        return -1;
    }
    return 0;
}

void web_live_close(struct web_live *l)
{
    for (size_t i = 0; i < l->runs; i++) {
        if (l->run[i].open)
            run_view_close(&l->run[i].view);
        free(l->run[i].dir);
    }
    free(l->run);
    *l = (struct web_live){0};
}

static bool web_live_look_at(struct web_live_run *r)
{
    int64_t start_ns = tick_now_ns(), rest_ns = RESTING_NS, took_ns;
    bool news;
    int rc;

    if (!r->open) {
        news = web_live_open_run(r);
    } else {
        rc = run_view_refresh(&r->view, &r->why);
        r->open = rc >= 0;
        news = rc != 0;
        r->version = r->open ? r->view.version : r->version + 1;
    }
    if (r->open && r->view.state == RUN_RUNNING)
        rest_ns = WORKING_NS;
    took_ns = tick_now_ns() - start_ns;
    if (rest_ns < SHARE * took_ns)
        rest_ns = SHARE * took_ns;
    r->next_ns = start_ns + rest_ns;
    return news;
}

/* Looks at the runs whose time has come; `now`: at all of them. True when there
 * was news. A run that cannot be read any more is closed, and tried again at each
 * look. */
static bool web_live_look(struct web_live *l, bool now)
{
    bool news = false;

    for (size_t i = 0; i < l->runs; i++)
        if (now || tick_now_ns() >= l->run[i].next_ns)
            news |= web_live_look_at(&l->run[i]);
    l->version += news;
    return news;
}

/* ---- the server ---- */

/* ---- what is there at which path: docs/PAGE.md ---- */

/* A text that several answers share, however slowly they are read. */
struct web_text {
    size_t refs, n;
    char data[];
};

struct web_routes {
    struct web_live *live;
    struct buf page, policy; /* its Content-Security-Policy */
    /* The views as they were asked for last. */
    struct {
        int64_t version;
        struct web_text *text;
    } kept[VIEWS];
};

/* The Content-Security-Policy of what is no page. */
#define WEB_NOTHING "default-src 'none'; frame-ancestors 'none'"

struct web_answer {
    unsigned status;
    const char *type;
    const char *policy; /* NULL: WEB_NOTHING */
    struct str fixed; /* p not NULL: it stays as it is while the server runs */
    struct web_text *shared; /* not NULL: it is this, which the caller drops */
    struct buf body;         /* otherwise */
};

/* ---- answers ---- */

static void web_put_json(struct buf *out, json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);

    if (!text)
        BUG("a view that is no JSON");
    buf_puts(out, text);
    free(text);
    json_decref(j);
}

static void web_fail(struct web_answer *a, unsigned status, const char *why)
{
    a->status = status;
    buf_reset(&a->body);
    web_put_json(&a->body, json_pack("{s:o}", "error", jsn_of(why)));
}

/* ---- views of all runs ---- */

/* The run that cannot be read now, or NULL. */
static const struct web_live_run *web_closed_run(const struct web_live *l)
{
    for (size_t i = 0; i < l->runs; i++)
        if (!l->run[i].open)
            return &l->run[i];
    return NULL;
}

/* The caller frees the list. */
static struct run_view **list_runs(struct web_live *l)
{
    struct run_view **runs = xcalloc(l->runs, sizeof(struct run_view *));

    for (size_t i = 0; i < l->runs; i++)
        runs[i] = &l->run[i].view;
    return runs;
}

static json_t *web_make_view(struct web_live *l, size_t which, struct err *e)
{
    struct run_view **runs = list_runs(l);
    json_t *j = views_all[which].make(runs, l->runs, e);

    free(runs);
    if (j)
        json_object_set_new(j, "live", json_integer(l->version));
    return j;
}

/* Takes the reference. */
static struct web_text *web_new_text(json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);
    size_t n = text ? strlen(text) : 0;
    struct web_text *t = xmalloc(sizeof(*t) + n);

    if (!text)
        BUG("a view that is no JSON");
    *t = (struct web_text){.refs = 1, .n = n};
    memcpy(t->data, text, n);
    free(text);
    json_decref(j);
    return t;
}

static void web_text_drop(struct web_text *t)
{
    if (t && --t->refs == 0)
        free(t);
}

/* Made once for all who ask, until there is news. */
static void web_answer_view(struct web_routes *r, size_t which,
                            struct web_answer *a)
{
    struct err e = ERR_INIT;
    json_t *j;

    if (r->kept[which].version != r->live->version) {
        j = web_make_view(r->live, which, &e);
        if (!j) {
            web_fail(a, 500, e.text);
            return;
        }
        web_text_drop(r->kept[which].text);
        r->kept[which].text = web_new_text(j);
        r->kept[which].version = r->live->version;
    }
    a->status = 200;
    a->shared = r->kept[which].text;
    a->shared->refs++;
}

/* ---- what is new in the grid ---- */

/* A version for each run: "12,3". */
static bool web_read_since(struct str text, int64_t *out, size_t n)
{
    struct str word;

    for (size_t i = 0; i < n; i++) {
        bool more = str_cut(&text, ',', &word);

        if (more == (i + 1 == n) ||
            !str_to_i64(more ? word : text, 0, INT64_MAX, &out[i]))
            return false;
    }
    return true;
}

static void web_answer_news(struct web_live *l, const char *text,
                            struct web_answer *a)
{
    int64_t *since = xcalloc(l->runs, sizeof(*since));
    struct run_view **runs = list_runs(l);

    if (web_read_since(str_of(text), since, l->runs)) {
        a->status = 200;
        web_put_json(&a->body, views_grid_since(runs, l->runs, since));
    } else {
        web_fail(a, 400, "since: not a version for each run");
    }
    free(since);
    free(runs);
}

/* ---- a task ---- */

static bool web_number_arg(const struct web_request *q, const char *name,
                           int64_t most, int64_t *out)
{
    const char *text = web_request_arg(q, name);

    *out = 0;
    return !text || str_to_i64(str_of(text), 0, most, out);
}

static void web_answer_task(struct web_live *l, const struct web_request *q,
                            struct web_answer *a)
{
    const char *id = web_request_arg(q, "id");
    struct err e = ERR_INIT;
    int64_t run, attempt;
    struct run_task *t;
    json_t *j;

    if (!id || !web_number_arg(q, "run", (int64_t)l->runs - 1, &run) ||
        !web_number_arg(q, "attempt", INT64_MAX, &attempt)) {
        web_fail(a, 404, "no such task");
        return;
    }
    t = run_view_task(&l->run[run].view, id);
    j = t ? views_task(&l->run[run].view, t, attempt, &e) : NULL;
    if (!j && e.kind != ERR_NONE) {
        web_fail(a, 500, e.text);
    } else if (!j) {
        web_fail(a, 404, "no such task or attempt");
    } else {
        a->status = 200;
        web_put_json(&a->body, j);
    }
}

/* ---- all of them ---- */

static bool web_answer_api(struct web_routes *r, const struct web_request *q,
                           struct web_answer *a)
{
    const struct web_live_run *closed = web_closed_run(r->live);
    const size_t prefix = strlen("/api/");
    const char *name;
    size_t which = 0;

    a->type = "application/json";
    if (strncmp(q->path, "/api/", prefix) != 0)
        return false;
    name = q->path + prefix;
    while (which < VIEWS && strcmp(name, views_all[which].name) != 0)
        which++;
    if (closed)
        web_fail(a, 503, closed->why.text);
    else if (strcmp(name, "grid") == 0 && web_request_arg(q, "since"))
        web_answer_news(r->live, web_request_arg(q, "since"), a);
    else if (which < VIEWS)
        web_answer_view(r, which, a);
    else if (strcmp(name, "task") == 0)
        web_answer_task(r->live, q, a);
    else
        return false;
    return true;
}

static void web_routes_answer(struct web_routes *r, const struct web_request *q,
                              struct web_answer *a)
{
    if (strcmp(q->path, "/") == 0) {
        a->status = 200;
        a->type = "text/html; charset=utf-8";
        a->policy = buf_str(&r->policy);
        a->fixed = buf_view(&r->page);
    } else if (strcmp(q->path, "/favicon.ico") == 0) {
        a->status = 204; /* a browser asks by itself */
        a->type = "image/x-icon";
    } else if (!web_answer_api(r, q, a)) {
        web_fail(a, 404, "not found");
    }
}

static void web_routes_event(const struct web_live *l, struct buf *out)
{
    json_t *runs = json_array();

    for (size_t i = 0; i < l->runs; i++)
        json_array_append_new(
            runs, json_pack("{s:I, s:s}", "version",
                            (json_int_t)l->run[i].version, "state",
                            l->run[i].open ? run_states[l->run[i].view.state]
                                           : "unreadable"));
    buf_puts(out, "event: change\ndata: ");
    web_put_json(out, json_pack("{s:I, s:o}", "version", (json_int_t)l->version,
                                "runs", runs));
    buf_puts(out, "\n\n");
}

static void web_routes_init(struct web_routes *r, struct web_live *live)
{
    *r = (struct web_routes){.live = live};
    buf_init(&r->page, BUF_UNLIMITED);
    buf_init(&r->policy, BUF_UNLIMITED);
    page_put(NULL, &r->page);
    page_policy(true, &r->policy);
    buf_puts(&r->policy, "; frame-ancestors 'none'");
}

static void web_routes_release(struct web_routes *r)
{
    buf_release(&r->page);
    buf_release(&r->policy);
    for (size_t i = 0; i < VIEWS; i++)
        web_text_drop(r->kept[i].text);
}

/* ---- connections ---- */

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

static void web_unlink_client(struct client *c)
{
    if (!c->idle)
        return;
    c->before->after = c->after;
    c->after->before = c->before;
    c->idle = false;
}

static void web_set_idle(struct web_server *s, struct client *c)
{
    web_unlink_client(c);
    c->before = s->idle.before;
    c->after = &s->idle;
    c->before->after = c->after->before = c;
    c->idle = true;
}

static void web_on_connection(void *arg, struct MHD_Connection *connection,
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
        web_set_idle(s, c);
        *context = c;
    } else {
        s->clients--;
        web_unlink_client(c);
        free(c);
    }
}

static struct client *web_client_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

/* Closes the connection that has been idle longest. */
static bool web_make_room(struct web_server *s)
{
    struct client *c = s->idle.after;

    if (c == &s->idle)
        return false;
    web_unlink_client(c);
    shutdown(c->fd, SHUT_RDWR);
    MHD_run(s->daemon);
    return true;
}

static void web_refuse(int fd)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\n"
                               "Connection: close\r\nRetry-After: 5\r\n"
                               "Content-Length: 0\r\n\r\n";

    if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0) {
        /* It is closed in any case. */
    }
    close(fd);
}

static void web_on_accept(int fd, unsigned events, void *arg)
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
            web_make_room(s);
            loop_set_interest(s->loop, s->listen_id, 0, &ignored);
            s->deaf = true;
        }
        if (client < 0)
            break;
        if (s->clients >= s->most && !web_make_room(s))
            web_refuse(client);
        else
            MHD_add_connection(s->daemon, client, (struct sockaddr *)&from,
                               size);
    }
    MHD_run(s->daemon);
}

/* ---- streams of events ---- */

static ssize_t web_read_stream(void *arg, uint64_t pos, char *into, size_t most)
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

static void web_free_stream(void *arg)
{
    struct stream *t = arg, **at = &t->server->stream;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->server->streams--;
    buf_release(&t->out);
    free(t);
}

static struct MHD_Response *web_new_stream(struct web_server *s,
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
    r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096,
                                          web_read_stream, t, web_free_stream);
    if (!r)
        BUG("no memory for a response");
    return r;
}

/* Wakes the streams that have something to say. */
static void web_wake_streams(struct web_server *s)
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

static void *web_on_target(void *arg, const char *target,
                           struct MHD_Connection *connection)
{
    struct asking *x = xcalloc(1, sizeof(*x));

    (void)arg;
    (void)connection;
    x->target = str_of(xstrdup(target));
    return x;
}

static void web_on_completed(void *arg, struct MHD_Connection *connection,
                             void **context,
                             enum MHD_RequestTerminationCode code)
{
    struct asking *x = *context;

    (void)code;
    web_set_idle(arg, web_client_of(connection));
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
static enum MHD_Result web_send_response(struct MHD_Connection *connection,
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

static enum MHD_Result web_send_text(struct MHD_Connection *connection,
                                     unsigned status, const char *text)
{
    struct web_answer a = {.status = status,
                           .type = "text/plain; charset=utf-8"};

    return web_send_response(
        connection, &a,
        MHD_create_response_from_buffer(strlen(text), (void *)text,
                                        MHD_RESPMEM_PERSISTENT));
}

static void web_drop_shared(void *text)
{
    web_text_drop(text);
}

static enum MHD_Result web_send_answer(struct MHD_Connection *connection,
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
            a->shared->n, a->shared->data, web_drop_shared, a->shared);
    } else {
        text = buf_take(&a->body, &n);
        r = MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE);
    }
    return web_send_response(connection, a, r);
}

static enum MHD_Result web_send_stream(struct web_server *s,
                                       struct MHD_Connection *connection)
{
    struct web_answer a = {.status = MHD_HTTP_OK, .type = "text/event-stream"};

    if (s->streams == WEB_STREAMS)
        return web_send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                             "too many pages are open\n");
    return web_send_response(connection, &a, web_new_stream(s, connection));
}

static enum MHD_Result web_answer(struct web_server *s,
                                  struct MHD_Connection *connection,
                                  struct str target)
{
    struct web_answer a = {0};
    struct web_request q;
    struct arena memory = {0};
    enum MHD_Result rc;
    int refused;

    refused = web_request_parse(target, &memory, &q);
    if (refused) {
        rc = web_send_text(connection, (unsigned)refused, "bad request\n");
    } else if (strcmp(q.path, "/api/events") == 0) {
        rc = web_send_stream(s, connection);
    } else {
        web_live_look(s->live, false);
        buf_init(&a.body, BUF_UNLIMITED);
        web_routes_answer(&s->routes, &q, &a);
        rc = web_send_answer(connection, &a);
        buf_release(&a.body);
    }
    arena_release(&memory);
    return rc;
}

/* The parameters are libmicrohttpd's.
 * NOLINTBEGIN(readability-function-size,readability-non-const-parameter) */
static enum MHD_Result web_on_request(void *arg,
                                      struct MHD_Connection *connection,
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
    web_unlink_client(web_client_of(connection));
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return web_send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                             "only GET and HEAD are answered\n");
    if (!web_request_host_ok(&s->where->hosts, host))
        return web_send_text(
            connection, MHD_HTTP_MISDIRECTED_REQUEST,
            "this name is not served here; start the server with "
            "--host NAME to allow it\n");
    /* libmicrohttpd calls a second time; only then may a request without a
     * body be answered and its connection kept. */
    if (!x->begun) {
        x->begun = true;
        return MHD_YES;
    }
    return web_answer(s, connection, x->target);
}
/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

/* ---- the loop ---- */

static void web_on_epoll(int fd, unsigned events, void *arg)
{
    struct web_server *s = arg;

    (void)fd;
    (void)events;
    MHD_run(s->daemon);
}

static void web_on_tick(void *arg)
{
    struct web_server *s = arg;
    struct err ignored;

    if (s->deaf) {
        s->deaf = false;
        loop_set_interest(s->loop, s->listen_id, LOOP_READ, &ignored);
    }
    if (s->streams)
        web_live_look(s->live, false);
    web_wake_streams(s); /* and lets connections time out */
    s->timer_id =
        loop_add_timer(s->loop, tick_now_ns() + TICK_NS, web_on_tick, s);
}

/* ---- start and end ---- */

static size_t web_most_clients(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
        files.rlim_cur / 4 < WEB_CONNECTIONS)
        return files.rlim_cur / 4 > 8 ? (size_t)(files.rlim_cur / 4) : 8;
    return WEB_CONNECTIONS;
}

static int web_start_daemon(struct web_server *s, struct err *e)
{
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0,
        NULL, NULL, web_on_request, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->most + ACCEPT_AT_ONCE, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)WEB_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, web_on_target, s,
        MHD_OPTION_NOTIFY_COMPLETED, web_on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, web_on_connection, s, MHD_OPTION_END);
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
        .loop = l, .where = where, .live = live, .most = web_most_clients()};
    s->idle.before = s->idle.after = &s->idle;
    web_routes_init(&s->routes, live);
    if (web_start_daemon(s, e) < 0) {
        web_routes_release(&s->routes);
        free(s);
        return NULL;
    }
    fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    s->epoll_id = loop_add_fd(l, fd, LOOP_READ, web_on_epoll, s, e);
    s->listen_id = loop_add_fd(l, where->fd, LOOP_READ, web_on_accept, s, e);
    if (!s->epoll_id || !s->listen_id) {
        web_server_free(s);
        return NULL;
    }
    s->timer_id = loop_add_timer(l, tick_now_ns() + TICK_NS, web_on_tick, s);
    return s;
}

void web_server_end(struct web_server *s)
{
    int64_t until_ns = tick_now_ns() + END_NS;

    loop_remove(s->loop, s->listen_id);
    web_live_look(s->live, true);
    s->ending = true;
    web_wake_streams(s);
    while (s->streams && tick_now_ns() < until_ns) {
        loop_run_for(s->loop, 10 * TICK_MS);
        web_wake_streams(s);
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

/* ---- beside a run: signals are for its own thread ---- */

struct web_beside {
    struct web_listen *where;
    struct loop *loop;
    struct web_live live;
    struct web_server *server;
    int stop_fd;
    pthread_t thread;
};

static void web_beside_on_stop(int fd, unsigned events, void *arg)
{
    struct web_beside *b = arg;

    (void)fd;
    (void)events;
    loop_stop(b->loop);
}

static void *web_beside_serve(void *arg)
{
    struct web_beside *b = arg;

    loop_run(b->loop);
    web_server_end(b->server);
    return NULL;
}

static void web_beside_release(struct web_beside *b)
{
    if (b->server)
        web_server_free(b->server);
    web_live_close(&b->live);
    if (b->loop)
        loop_free(b->loop);
    if (b->stop_fd >= 0)
        close(b->stop_fd);
    web_listen_close(b->where);
    free(b);
}

/* Signals are for the run's thread. */
static int web_beside_start_thread(struct web_beside *b, struct err *e)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&b->thread, NULL, web_beside_serve, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc)
        return 0;
    errno = rc;
    return err_sys(e, "a thread");
}

struct web_beside *web_beside_start(const char *dir, struct web_listen *where,
                                    struct err *e)
{
    struct web_beside *b = xcalloc(1, sizeof(*b));

    b->where = where;
    b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->loop = loop_new(e);
    if (b->loop && web_live_open(&dir, 1, &b->live, e) == 0 &&
        (b->server = web_server_new(b->loop, where, &b->live, e)) &&
        loop_add_fd(b->loop, b->stop_fd, LOOP_READ, web_beside_on_stop, b, e) &&
        web_beside_start_thread(b, e) == 0)
        return b;
    web_beside_release(b);
    return NULL;
}

void web_beside_end(struct web_beside *b)
{
    if (eventfd_write(b->stop_fd, 1) < 0)
        BUG("eventfd: errno %d", errno);
    pthread_join(b->thread, NULL);
    web_beside_release(b);
}
