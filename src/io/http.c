/* http.c: libcurl's multi interface on our loop. libcurl names the sockets and
 * the timeout it waits for, and we tell it when one is ready. Data that
 * arrives is kept until libcurl returns and is then passed on by http_settle(),
 * because libcurl forbids most of its functions inside its callbacks. */
#include "io/http.h"

#include "base/mem.h"
#include "base/tick.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONNECT_TIMEOUT_NS (30 * TICK_S)
#define DAY_S              86400

enum {
    POOL = 64,         /* handles kept for the next request */
    KEPT = 4096,       /* connections; libcurl does not reuse those beyond it */
    BUFFER_KB = 16,    /* for each request in flight */
    MAX_STREAMS = 100, /* libcurl's own default */
};

struct http_call {
    struct http *h;
    struct http_call *prev, *next; /* in h->calls */
    CURL *easy;
    struct curl_slist *headers;
    http_chunk_fn *on_chunk;
    http_done_fn *on_done;
    void *arg;
    uint64_t deadline;
    int64_t start_ns, timeout_ns;
    size_t body_limit, body_seen;
    bool too_large;
    bool sent;  /* libcurl had a connection and began to send */
    bool twice; /* and wanted to begin again */
    bool tls;
    struct buf fresh; /* for on_chunk */
    struct http_call *next_fresh;
    bool is_fresh; /* in h->fresh */
    struct http_reply reply;
    char error[CURL_ERROR_SIZE];
};

struct http {
    struct loop *loop;
    CURLM *multi;
    struct http_opts opts;
    char *ca_file;
    bool version_known; /* which HTTP the server speaks */
    uint64_t timer;
    uint64_t *source; /* by socket: what the loop knows it as, or 0 */
    size_t source_cap;
    struct http_call *calls; /* in flight */
    struct http_call *fresh, **fresh_end;
    struct http_call *calling; /* whose callback runs */
    CURL *pool[POOL];
    size_t pool_len;
};

/* ---- calls ------------------------------------------------------------------------ */

static CURL *pool_take(struct http *h)
{
    CURL *easy = h->pool_len ? h->pool[--h->pool_len] : curl_easy_init();

    if (!easy)
        BUG("libcurl: out of memory");
    return easy;
}

static void pool_put(struct http *h, CURL *easy)
{
    if (h->pool_len == POOL) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    h->pool[h->pool_len++] = easy;
}

static void fresh_add(struct http_call *c)
{
    if (c->is_fresh)
        return;
    c->is_fresh = true;
    c->next_fresh = NULL;
    *c->h->fresh_end = c;
    c->h->fresh_end = &c->next_fresh;
}

static struct http_call *fresh_pop(struct http *h)
{
    struct http_call *c = h->fresh;

    if (!c)
        return NULL;
    h->fresh = c->next_fresh;
    if (!h->fresh)
        h->fresh_end = &h->fresh;
    c->is_fresh = false;
    return c;
}

static void fresh_remove(struct http_call *c)
{
    struct http_call **at = &c->h->fresh;

    if (!c->is_fresh)
        return;
    while (*at != c)
        at = &(*at)->next_fresh;
    *at = c->next_fresh;
    if (!*at)
        c->h->fresh_end = at;
    c->is_fresh = false;
}

/* Out of libcurl, the loop and our lists, so that nothing more happens to it. */
static void call_detach(struct http_call *c)
{
    struct http *h = c->h;

    curl_multi_remove_handle(h->multi, c->easy);
    loop_remove(h->loop, c->deadline);
    fresh_remove(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        h->calls = c->next;
    if (c->next)
        c->next->prev = c->prev;
}

static void http_call_free(struct http_call *c)
{
    pool_put(c->h, c->easy);
    curl_slist_free_all(c->headers);
    buf_release(&c->fresh);
    buf_release(&c->reply.body);
    free(c);
}

static int status_of(const struct http_call *c)
{
    long status = 0;

    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static void http_finish(struct http_call *c, enum http_outcome outcome,
                        const char *error)
{
    struct http *h = c->h;

    call_detach(c);
    c->reply.outcome = outcome;
    c->reply.error = error;
    c->reply.status = status_of(c);
    c->reply.sent = c->sent;
    c->reply.wall_ns = tick_now_ns() - c->start_ns;
    h->calling = c;
    c->on_done(c, &c->reply, c->arg);
    h->calling = NULL;
    http_call_free(c);
}

void http_cancel(struct http_call *c)
{
    struct http *h = c->h;

    if (c == h->calling && c->reply.error)
        return; /* inside its on_done */
    if (c == h->calling)
        h->calling = NULL; /* inside its on_chunk */
    call_detach(c);
    http_call_free(c);
}

const char *http_header(struct http_call *c, const char *name)
{
    struct curl_header *found;

    if (curl_easy_header(c->easy, name, 0, CURLH_HEADER, -1, &found) !=
        CURLHE_OK)
        return NULL;
    return found->value;
}

int64_t http_retry_after_ns(struct http_call *c)
{
    const char *ms = http_header(c, "retry-after-ms");
    const char *text = ms ? ms : http_header(c, "retry-after");
    double wait_s;
    char *end;

    if (!text)
        return 0;
    wait_s = strtod(text, &end) / (ms ? 1000 : 1);
    if (end == text || *end) {
        time_t at = curl_getdate(text, NULL);

        wait_s = at < 0 ? 0 : difftime(at, time(NULL));
    }
    if (!(wait_s > 0))
        return 0;
    return (int64_t)((wait_s < DAY_S ? wait_s : DAY_S) * (double)TICK_S);
}

/* ---- what goes out ----------------------------------------------------------------- */

/* libcurl has a connection and is about to send. A second call means that a
 * reused connection was lost before an answer: libcurl assumes that the server
 * has seen nothing, which is not certain. */
static int on_sending(void *arg, char *peer_ip, /* NOLINT: libcurl's type */
                      char *own_ip, int peer_port, int own_port) /* NOLINT */
{
    struct http_call *c = arg;

    (void)peer_ip;
    (void)own_ip;
    (void)peer_port;
    (void)own_port;
    c->twice = c->sent;
    c->sent = true;
    return c->twice ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* ---- what arrives ------------------------------------------------------------------ */

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct http_call *c = arg;
    size_t n = size * count, room = c->body_limit - c->body_seen;
    size_t taken = n < room ? n : room;
    int status = status_of(c);

    c->body_seen += taken;
    if (c->on_chunk && status >= 200 && status < 300) {
        buf_put(&c->fresh, data, taken);
        fresh_add(c);
    } else {
        buf_put(&c->reply.body, data, taken);
    }
    c->too_large = taken < n;
    return c->too_large ? CURL_WRITEFUNC_ERROR : n;
}

static void http_deliver(struct http_call *c)
{
    struct http *h = c->h;
    struct buf data = c->fresh;
    int stop;

    buf_init(&c->fresh, BUF_UNLIMITED);
    h->calling = c;
    stop = c->on_chunk(c, data.data, data.len, c->arg);
    buf_release(&data);
    /* If h->calling is NULL, the call was cancelled and freed. */
    if (h->calling && stop)
        http_finish(c, HTTP_STOPPED, "stopped by the receiver");
    h->calling = NULL;
}

static enum http_outcome outcome_of(CURLcode code, const struct http_call *c)
{
    switch (code) {
    case CURLE_OK:
        return HTTP_ANSWERED;
    case CURLE_OPERATION_TIMEDOUT:
        return HTTP_TIMED_OUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return HTTP_UNTRUSTED;
    default:
        return c->too_large ? HTTP_TOO_LARGE : HTTP_BROKEN;
    }
}

static void over(struct http_call *c, CURLcode code)
{
    enum http_outcome outcome = outcome_of(code, c);

    if (outcome == HTTP_ANSWERED)
        c->error[0] = '\0';
    else if (outcome == HTTP_TOO_LARGE)
        snprintf(c->error, sizeof(c->error),
                 "the reply is larger than %zu bytes", c->body_limit);
    else if (c->twice)
        snprintf(c->error, sizeof(c->error),
                 "the connection was lost before a reply");
    else if (!c->error[0])
        snprintf(c->error, sizeof(c->error), "%s", curl_easy_strerror(code));
    http_finish(c, outcome, c->error);
}

/* Requests that wait for a connection look for one again. */
static void wake_waiting(struct http *h)
{
    for (struct http_call *c = h->calls; c; c = c->next) {
        if (c->sent)
            continue;
        curl_multi_remove_handle(h->multi, c->easy);
        if (curl_multi_add_handle(h->multi, c->easy) != CURLM_OK)
            BUG("libcurl refuses a handle that it had");
    }
}

/* The first answer shows the server's HTTP version. */
static void see_version(struct http *h, struct http_call *c)
{
    long version = 0;

    if (h->version_known)
        return;
    curl_easy_getinfo(c->easy, CURLINFO_HTTP_VERSION, &version);
    h->version_known = version != 0;
    if (!c->tls || version == 0 || version >= CURL_HTTP_VERSION_2_0 ||
        !h->opts.max_http1_connections)
        return;
    curl_multi_setopt(h->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                      (long)h->opts.max_http1_connections);
    wake_waiting(h);
}

/* Hands out what libcurl left: parts first, then ends. */
static void http_settle(struct http *h)
{
    for (;;) {
        CURLMsg *m;
        struct http_call *c;
        CURLcode code;
        int left;

        c = fresh_pop(h);
        if (c) {
            see_version(h, c);
            http_deliver(c);
            continue;
        }
        m = curl_multi_info_read(h->multi, &left);
        if (!m)
            return;
        code = m->data.result; /* the message goes with its handle */
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
        see_version(h, c);
        over(c, code);
    }
}

static void http_on_deadline(void *arg)
{
    struct http_call *c = arg;

    snprintf(c->error, sizeof(c->error), "no %sreply within %.1f s",
             status_of(c) ? "complete " : "",
             (double)c->timeout_ns / (double)TICK_S);
    http_finish(c, HTTP_TIMED_OUT, c->error);
}

/* ---- libcurl and the loop ------------------------------------------------------------ */

static void act(struct http *h, curl_socket_t fd, int events)
{
    int running;
    CURLMcode code = curl_multi_socket_action(h->multi, fd, events, &running);

    if (code != CURLM_OK)
        BUG("libcurl: %s", curl_multi_strerror(code));
    http_settle(h);
}

static void on_socket(int fd, unsigned events, void *arg)
{
    int mask = 0;

    if (events & LOOP_READ)
        mask |= CURL_CSELECT_IN;
    if (events & LOOP_WRITE)
        mask |= CURL_CSELECT_OUT;
    act(arg, fd, mask);
}

static void http_on_timer(void *arg)
{
    struct http *h = arg;

    h->timer = 0;
    act(h, CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl waits for a socket, or no longer. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
                       void *unused)
{
    struct http *h = arg;
    struct err e = ERR_INIT;
    size_t i = (size_t)fd, known = h->source_cap;
    unsigned interest = 0;

    (void)easy;
    (void)unused;
    h->source = xgrow(h->source, &h->source_cap, i, sizeof(*h->source));
    memset(h->source + known, 0, (h->source_cap - known) * sizeof(*h->source));
    if (what == CURL_POLL_REMOVE) {
        loop_remove(h->loop, h->source[i]);
        h->source[i] = 0;
        return 0;
    }
    if (what & CURL_POLL_IN)
        interest |= LOOP_READ;
    if (what & CURL_POLL_OUT)
        interest |= LOOP_WRITE;
    if (h->source[i])
        return loop_set_interest(h->loop, h->source[i], interest, &e);
    h->source[i] = loop_add_fd(h->loop, fd, interest, on_socket, h, &e);
    return h->source[i] ? 0 : -1;
}

/* libcurl waits until a time, or no longer. */
static int want_timer(CURLM *multi, long ms, void *arg)
{
    struct http *h = arg;

    (void)multi;
    loop_remove(h->loop, h->timer);
    h->timer = 0;
    if (ms >= 0)
        h->timer = loop_add_timer(h->loop, tick_now_ns() + ms * TICK_MS,
                                  http_on_timer, h);
    return 0;
}

struct http *http_new(struct loop *l, const struct http_opts *o, struct err *e)
{
    struct http *h;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        err_set(e, ERR_SYSTEM, "libcurl cannot be started");
        return NULL;
    }
    h = xcalloc(1, sizeof(*h));
    h->loop = l;
    h->opts = *o;
    if (o->ca_file)
        h->ca_file = xstrdup(o->ca_file);
    h->fresh_end = &h->fresh;
    h->multi = curl_multi_init();
    if (!h->multi)
        BUG("libcurl: out of memory");
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    curl_multi_setopt(h->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)KEPT);
    curl_multi_setopt(h->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                      (long)o->max_host_connections);
    curl_multi_setopt(h->multi, CURLMOPT_MAX_CONCURRENT_STREAMS,
                      (long)(o->max_streams ? o->max_streams : MAX_STREAMS));
    return h;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    if (h->calling)
        BUG("http_free inside a callback");
    for (struct http_call *c = h->calls, *next; c; c = next) {
        next = c->next;
        http_cancel(c);
    }
    while (h->pool_len)
        curl_easy_cleanup(h->pool[--h->pool_len]);
    curl_multi_cleanup(h->multi);
    for (size_t i = 0; i < h->source_cap; i++)
        loop_remove(h->loop, h->source[i]);
    loop_remove(h->loop, h->timer);
    curl_global_cleanup();
    free(h->source);
    free(h->ca_file);
    free(h);
}

/* ---- requests ------------------------------------------------------------------------ */

int http_check_url(const char *url, bool *tls, struct err *e)
{
    CURLU *u = curl_url();
    CURLUcode code = curl_url_set(u, CURLUPART_URL, url, 0);
    char *scheme = NULL;
    int rc = -1;

    if (code == CURLUE_OK)
        code = curl_url_get(u, CURLUPART_SCHEME, &scheme, 0);
    if (code != CURLUE_OK)
        err_set(e, ERR_INPUT, "not a URL: %s", curl_url_strerror(code));
    else if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        err_set(e, ERR_INPUT, "a URL must begin with http or https, not %s",
                scheme);
    else
        rc = 0;
    *tls = rc == 0 && strcmp(scheme, "https") == 0;
    curl_free(scheme);
    curl_url_cleanup(u);
    return rc;
}

/* A line break would start another header: keys read from files have them. */
static int check_header(const char *line, struct err *e)
{
    size_t name = strcspn(line, ":;\r\n");

    if (name == 0 || !line[name])
        return err_set(e, ERR_INPUT, "a header without a name");
    if (line[strcspn(line, "\r\n")])
        return err_set(e, ERR_INPUT, "header %.*s holds a line break",
                       (int)name, line);
    return 0;
}

static void http_add_header(struct http_call *c, const char *line)
{
    struct curl_slist *list = curl_slist_append(c->headers, line);

    if (!list)
        BUG("libcurl: out of memory");
    c->headers = list;
}

static void set_method(CURL *easy, const struct http_request *r)
{
    const char *method = r->method;

    if (!method)
        method = r->body_len ? "POST" : "GET";
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (r->body_len || strcmp(method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->body_len ? r->body : "");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)r->body_len);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

static void set_connection(CURL *easy, const struct http *h, bool tls)
{
    int64_t connect_ns = h->opts.connect_timeout_ns;

    if (!connect_ns)
        connect_ns = CONNECT_TIMEOUT_NS;
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(connect_ns / TICK_MS));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Else a cancelled call waits for the name server. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    /* Waits to see whether the first connection speaks HTTP/2. With TLS that is
     * known at once; without it, libcurl would wait for the first complete
     * answer. */
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, tls ? 1L : 0L);
    /* A model may think for minutes; routers forget silent connections. */
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_KB * 1024L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, h->opts.insecure ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, h->opts.insecure ? 0L : 2L);
    if (h->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, h->ca_file);
}

static struct http_call *call_new(struct http *h, const struct http_request *r,
                                  bool tls)
{
    struct http_call *c = xcalloc(1, sizeof(*c));

    c->h = h;
    c->tls = tls;
    c->easy = pool_take(h);
    c->on_chunk = r->on_chunk;
    c->on_done = r->on_done;
    c->arg = r->arg;
    c->timeout_ns = r->timeout_ns;
    c->body_limit = r->body_limit;
    buf_init(&c->fresh, BUF_UNLIMITED);
    buf_init(&c->reply.body, r->body_limit);
    /* Removes two default headers; the caller's headers follow. */
    http_add_header(c, "Expect:");
    http_add_header(c, "Content-Type:");
    for (size_t i = 0; r->headers && r->headers[i]; i++)
        http_add_header(c, r->headers[i]);
    curl_easy_setopt(c->easy, CURLOPT_URL, r->url);
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
    curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
    curl_easy_setopt(c->easy, CURLOPT_PREREQFUNCTION, on_sending);
    curl_easy_setopt(c->easy, CURLOPT_PREREQDATA, c);
    set_connection(c->easy, h, tls);
    set_method(c->easy, r);
    return c;
}

struct http_call *http_send(struct http *h, const struct http_request *r,
                            struct err *e)
{
    struct http_call *c;
    CURLMcode code;
    bool tls;

    if (http_check_url(r->url, &tls, e) < 0)
        return NULL;
    for (size_t i = 0; r->headers && r->headers[i]; i++)
        if (check_header(r->headers[i], e) < 0)
            return NULL;
    c = call_new(h, r, tls);
    c->start_ns = tick_now_ns();
    code = curl_multi_add_handle(h->multi, c->easy);
    if (code != CURLM_OK)
        BUG("libcurl: %s", curl_multi_strerror(code));
    if (r->timeout_ns > 0)
        c->deadline = loop_add_timer(h->loop, c->start_ns + r->timeout_ns,
                                     http_on_deadline, c);
    c->next = h->calls;
    if (c->next)
        c->next->prev = c;
    h->calls = c;
    return c;
}
