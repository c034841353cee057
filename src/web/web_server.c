/* web_server.c: which path has which view, and what open pages are told. */
#include "web/web_server.h"

#include "analyze/views.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/httpd.h"
#include "web/page.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
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

static void web_fail(struct httpd_answer *a, unsigned status, const char *why)
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

static void web_text_drop(void *text)
{
    struct web_text *t = text;

    if (t && --t->refs == 0)
        free(t);
}

/* Made once for all who ask, until there is news. */
static void web_answer_view(struct web_routes *r, size_t which,
                            struct httpd_answer *a)
{
    struct err e = ERR_INIT;
    struct web_text *t;
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
    t = r->kept[which].text;
    t->refs++;
    a->shared = (struct str){t->data, t->n};
    a->release = web_text_drop;
    a->owner = t;
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
                            struct httpd_answer *a)
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

static bool web_number_arg(const struct httpd_target *q, const char *name,
                           int64_t most, int64_t *out)
{
    const char *text = httpd_target_arg(q, name);

    *out = 0;
    return !text || str_to_i64(str_of(text), 0, most, out);
}

static void web_answer_task(struct web_live *l, const struct httpd_target *q,
                            struct httpd_answer *a)
{
    const char *id = httpd_target_arg(q, "id");
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

static bool web_answer_api(struct web_routes *r, const struct httpd_target *q,
                           struct httpd_answer *a)
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
    else if (strcmp(name, "grid") == 0 && httpd_target_arg(q, "since"))
        web_answer_news(r->live, httpd_target_arg(q, "since"), a);
    else if (which < VIEWS)
        web_answer_view(r, which, a);
    else if (strcmp(name, "task") == 0)
        web_answer_task(r->live, q, a);
    else
        return false;
    return true;
}

static void web_routes_answer(struct web_routes *r,
                              const struct httpd_target *q,
                              struct httpd_answer *a)
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

/* A page that is open: it hears what is new when it can take it. */
struct page_stream {
    struct web_server *server;
    struct httpd_stream *out;
    bool ended;
    int64_t version; /* of web_live: what it was told */
    int64_t told_ns;
    struct page_stream *next;
};

struct web_server {
    struct loop *loop;
    struct web_live *live;
    struct web_routes routes;
    struct httpd *http;
    uint64_t timer_id;
    struct page_stream *stream;
    size_t streams;
    bool ending;
};

static bool page_stream_fill(struct buf *out, void *arg)
{
    struct page_stream *t = arg;

    if (t->version < t->server->live->version) {
        web_routes_event(t->server->live, out);
        t->version = t->server->live->version;
    } else if (t->server->ending && !t->ended) {
        buf_puts(out, "event: end\ndata: {}\n\n");
        t->ended = true;
    } else if (tick_now_ns() - t->told_ns >= ALIVE_NS) {
        buf_puts(out, ":\n\n");
    }
    if (out->len)
        t->told_ns = tick_now_ns();
    return true;
}

static void page_stream_done(void *arg)
{
    struct page_stream *t = arg, **at = &t->server->stream;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->server->streams--;
    free(t);
}

static void web_answer_events(struct web_server *s, struct httpd_call *c,
                              struct httpd_answer *a)
{
    struct page_stream *t;

    if (s->streams == WEB_STREAMS) {
        a->status = 503;
        a->type = "text/plain; charset=utf-8";
        a->fixed = STR_LIT("too many pages are open\n");
        httpd_answer(c, a);
        return;
    }
    t = xcalloc(1, sizeof(*t));
    *t = (struct page_stream){
        .server = s, .told_ns = tick_now_ns(), .next = s->stream};
    s->stream = t;
    s->streams++;
    a->status = 200;
    a->type = "text/event-stream";
    t->out = httpd_answer_stream(c, a, page_stream_fill, page_stream_done, t);
}

static void web_on_call(struct httpd_call *c, void *arg)
{
    struct web_server *s = arg;
    struct httpd_answer a = {0};

    if (strcmp(c->target.path, "/api/events") == 0) {
        web_answer_events(s, c, &a);
        return;
    }
    web_live_look(s->live, false);
    buf_init(&a.body, BUF_UNLIMITED);
    web_routes_answer(&s->routes, &c->target, &a);
    httpd_answer(c, &a);
    buf_release(&a.body);
}

/* ---- the loop ---- */

/* Wakes the streams that have something to say. */
static void web_wake_streams(struct web_server *s)
{
    int64_t now_ns = tick_now_ns();

    for (struct page_stream *t = s->stream; t; t = t->next)
        if (t->version != s->live->version || s->ending ||
            now_ns - t->told_ns >= ALIVE_NS)
            httpd_wake(t->out);
}

static void web_on_tick(void *arg)
{
    struct web_server *s = arg;

    if (s->streams)
        web_live_look(s->live, false);
    web_wake_streams(s);
    s->timer_id =
        loop_add_timer(s->loop, tick_now_ns() + TICK_NS, web_on_tick, s);
}

/* ---- start and end ---- */

struct web_server *web_server_new(struct loop *l,
                                  const struct httpd_listen *where,
                                  struct web_live *live, struct err *e)
{
    struct web_server *s = xcalloc(1, sizeof(*s));
    struct httpd_opts o = {.where = where,
                           .allow = "GET, HEAD",
                           .connections = WEB_CONNECTIONS,
                           .on_call = web_on_call,
                           .arg = s};

    *s = (struct web_server){.loop = l, .live = live};
    web_routes_init(&s->routes, live);
    s->http = httpd_new(l, &o, e);
    if (!s->http) {
        web_server_free(s);
        return NULL;
    }
    s->timer_id = loop_add_timer(l, tick_now_ns() + TICK_NS, web_on_tick, s);
    return s;
}

void web_server_end(struct web_server *s)
{
    int64_t until_ns = tick_now_ns() + END_NS;

    httpd_deafen(s->http);
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
    loop_remove(s->loop, s->timer_id);
    if (s->http)
        httpd_free(s->http);
    web_routes_release(&s->routes);
    free(s);
}

/* ---- beside a run: signals are for its own thread ---- */

struct web_beside {
    struct httpd_listen *where;
    struct loop *loop;
    struct web_live live;
    struct web_server *server;
    int stop_fd;
    pthread_t thread;
};

static void web_beside_on_stop(int fd, unsigned events, void *arg)
{
    struct web_beside *b = arg;
    eventfd_t count;

    (void)events;
    if (eventfd_read(fd, &count) < 0) /* else it would stop every later turn */
        BUG("eventfd: errno %d", errno);
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
    httpd_listen_close(b->where);
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

struct web_beside *web_beside_start(const char *dir, struct httpd_listen *where,
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
