/* tcp.c: workers that connect to us, on this host or others. They come and go; with
 * none the jobs wait. verify/fleet.h decides who gets what, io/link.h who is let in.
 *
 * Both ends say something every few seconds. A worker that is silent for longer
 * than the heartbeat is given up: its connection is closed, so nothing that it may
 * still send is accepted, and its jobs go to others. */
#include "verify/backend.h"

#include "base/date.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/key.h"
#include "io/link.h"
#include "io/tcp.h"
#include "verify/fleet.h"
#include "verify/launch.h"
#include "verify/roster.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_NS     1000000000LL
#define HANDSHAKE_S 10  /* to prove that it knows the secret */
#define STRANGERS   64  /* at once; the oldest has to go */
#define LINES_MAX   100 /* of the log, about strangers */
#define LONELY_S    15  /* until the user hears that there is no worker */
#define TASKS_MAX   16  /* of a worker, that the roster names */

struct member {
    struct tcp *t;
    struct link link;
    struct worker *worker; /* NULL: it has not joined */
    struct roster_line *line;
    uint64_t fd_id;
    unsigned interest;
    int64_t since_ns, heard_ns;
    char from[TCP_ADDRESS];
    bool silent; /* for too long */
    struct member *prev, *next;
};

struct asked {
    void *job;  /* the caller's */
    char *task; /* its id */
    char *text;
    int64_t deadline_ms;
};

struct tcp {
    struct backend b; /* first */
    int listening;
    uint64_t listen_id, tick_id;
    char address[TCP_ADDRESS], secret[KEY_TEXT];
    char *key;
    bool own_key; /* made for this one command */
    struct fleet *fleet;
    struct roster *roster;
    struct member *members;
    struct launch *launch;
    int64_t lonely_ns; /* since when there is no worker; 0: there is one */
    int64_t told_ns;
    int strangers; /* lines of the log so far */
    bool pumping;
};

static void pump(struct tcp *t);

/* ---- answers ---- */

static void asked_free(struct asked *a)
{
    free(a->task);
    free(a->text);
    free(a);
}

static void settle(struct tcp *t, struct asked *a, const json_t *answer,
                   const char *why)
{
    void *job = a->job;

    asked_free(a);
    backend_answer(&t->b, job, answer, why);
}

static void settle_lost(struct tcp *t)
{
    void *work;

    while (fleet_next_lost(t->fleet, &work))
        settle(t, work, NULL,
               "three workers ended while they had this job; it may be the "
               "cause");
}

/* ---- members ---- */

static void set_interest(struct member *m)
{
    unsigned want =
        LOOP_READ | (peer_has_output(&m->link.peer) ? LOOP_WRITE : 0);
    struct err e = ERR_INIT;

    if (want != m->interest)
        loop_set_interest(m->t->b.loop, m->fd_id, want, &e);
    m->interest = want;
}

static void member_free(struct member *m)
{
    loop_remove(m->t->b.loop, m->fd_id);
    link_close(&m->link);
    *(m->prev ? &m->prev->next : &m->t->members) = m->next;
    if (m->next)
        m->next->prev = m->prev;
    free(m);
}

/* Brings its line up to date. */
static void note(struct member *m)
{
    struct roster_line *l = m->line;
    void *work[TASKS_MAX];
    size_t n = worker_works(m->worker, work, TASKS_MAX);

    roster_set(l, n ? ROSTER_BUSY : ROSTER_IDLE);
    l->heard_us = date_now_us() - (tick_now_ns() - m->heard_ns) / 1000;
    l->verdicts = worker_answered(m->worker);
    l->truths = worker_truths(m->worker);
    l->taken_bytes = worker_memory_taken(m->worker);
    json_decref(l->tasks);
    l->tasks = json_array();
    for (size_t i = 0; i < n; i++) {
        const char *task = ((struct asked *)work[i])->task;

        json_array_append_new(l->tasks, jsn_text(task, strlen(task)));
    }
}

/* Frees it. Its jobs wait again. */
static void drop(struct member *m, const char *why)
{
    struct tcp *t = m->t;

    if (m->worker) {
        log_warn("worker %s: %s; %zu of its jobs go to others", m->line->name,
                 why, worker_leased(m->worker));
        note(m);
        roster_set(m->line, m->silent ? ROSTER_FENCED : ROSTER_LOST);
        fleet_leave(t->fleet, m->worker);
    } else if (t->strangers < LINES_MAX) {
        t->strangers++;
        log_warn("connection from %s closed: %s%s", m->from, why,
                 t->strangers == LINES_MAX ? " (no more such messages)" : "");
    }
    member_free(m);
    settle_lost(t);
    pump(t);
}

/* False: it was dropped. */
static bool flush(struct member *m)
{
    struct err e = ERR_INIT;

    if (peer_flush(&m->link.peer, &e) < 0) {
        drop(m, e.text);
        return false;
    }
    set_interest(m);
    return true;
}

/* ---- work ---- */

static void hand_out(struct member *m, const struct asked *a, const char *fence)
{
    struct frame f = {.type = "job",
                      .deadline_ms = a->deadline_ms,
                      .payload = a->text,
                      .len = strlen(a->text)};

    snprintf(f.id, sizeof(f.id), "%s", fence);
    link_send(&m->link, &f);
}

/* Gives out what can be given out. A member that cannot be written to is found
 * when the loop next looks at it. */
static void pump(struct tcp *t)
{
    char fence[FLEET_FENCE];
    void *work, *member;
    struct err e = ERR_INIT;

    if (t->pumping)
        return;
    t->pumping = true;
    while (fleet_lease(t->fleet, &work, &member, fence)) {
        struct member *m = member;

        hand_out(m, work, fence);
        peer_flush(&m->link.peer, &e);
        set_interest(m);
    }
    t->pumping = false;
}

static uint64_t peak_of(const json_t *answer)
{
    json_int_t n = json_integer_value(json_object_get(answer, "peak_bytes"));

    return n > 0 ? (uint64_t)n : 0;
}

static void refuse(struct member *m, const struct frame *f)
{
    m->line->refused++;
    log_warn("worker %s: an answer under %s, which is not its lease, was not "
             "accepted",
             m->line->name, f->id);
}

static void on_answer(struct member *m, const struct frame *f)
{
    struct tcp *t = m->t;
    struct err e = ERR_INIT;
    json_t *answer = jsn_parse("answer", f->payload, f->len, &e);
    struct asked *a = fleet_answer(t->fleet, m->worker, f->id, peak_of(answer));

    if (a)
        settle(t, a, answer, answer ? NULL : e.text);
    else
        refuse(m, f);
    json_decref(answer);
}

static void on_infra(struct member *m, const struct frame *f)
{
    struct tcp *t = m->t;
    struct asked *a;
    char *why;

    if (fleet_refuse(t->fleet, m->worker, f->id))
        return;
    a = fleet_answer(t->fleet, m->worker, f->id, 0);
    why = xstrndup(f->payload, f->len);
    if (a)
        settle(t, a, NULL, why);
    free(why);
}

/* The value of `key` in lines "KEY VALUE". */
static bool line_of(const struct frame *f, const char *key, struct str *out)
{
    struct str rest = {f->payload, f->len}, line, name;

    while (rest.n) {
        if (!str_cut(&rest, '\n', &line)) {
            line = rest;
            rest.n = 0;
        }
        if (str_cut(&line, ' ', &name) && str_eq(name, key)) {
            *out = line;
            return true;
        }
    }
    return false;
}

/* "cuda:0" and "cuda:3" are alike: each worker counts its own. */
static bool same_kind(struct str a, const char *b)
{
    return str_eq(a, "cpu") == (strcmp(b, "cpu") == 0);
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 0;
}

static struct roster_line *enlist(struct tcp *t, struct str name,
                                  struct str device)
{
    struct roster_line *l;
    char text[sizeof(l->name)];

    snprintf(text, sizeof(text), "%.*s",
             (int)(name.n < sizeof(text) ? name.n : sizeof(text) - 1), name.p);
    l = roster_join(t->roster, text);
    snprintf(
        l->device, sizeof(l->device), "%.*s",
        (int)(device.n < sizeof(l->device) ? device.n : sizeof(l->device) - 1),
        device.p);
    return l;
}

/* NULL, or why it cannot work for us. */
static const char *join(struct member *m, const struct frame *f)
{
    struct tcp *t = m->t;
    struct str name, device, text;
    int64_t slots, memory;

    if (m->worker)
        return "it joined twice";
    if (!line_of(f, "name", &name) || !is_plain(name) ||
        !line_of(f, "device", &device) || !is_plain(device) ||
        !line_of(f, "slots", &text) || !str_to_i64(text, 1, 4096, &slots) ||
        !line_of(f, "memory", &text) ||
        !str_to_i64(text, 0, INT64_MAX, &memory))
        return "it does not say who it is";
    if (!same_kind(device, t->b.o->device))
        return "it has another kind of device than this run needs";
    m->worker = fleet_join(t->fleet, (size_t)slots, (uint64_t)memory, m);
    m->line = enlist(t, name, device);
    m->line->slots = (size_t)slots;
    m->line->memory_bytes = (uint64_t)memory;
    t->lonely_ns = 0;
    log_info("worker %s joined: %s, %lld jobs at a time", m->line->name,
             m->line->device, (long long)slots);
    return NULL;
}

/* NULL, or why it has to go. */
static const char *on_frame(struct member *m, const struct frame *f)
{
    if (strcmp(f->type, "beat") == 0)
        return NULL;
    if (strcmp(f->type, "join") == 0)
        return join(m, f);
    if (strcmp(f->type, "note") == 0 || strcmp(f->type, "unfit") == 0)
        log_warn("worker %s: %.*s", m->worker ? m->line->name : m->from,
                 (int)f->len, f->payload);
    else if (m->worker && strcmp(f->type, "answer") == 0)
        on_answer(m, f);
    else if (m->worker && strcmp(f->type, "infra") == 0)
        on_infra(m, f);
    return strcmp(f->type, "unfit") == 0 ? "it cannot work on its host" : NULL;
}

static void on_ready(int fd, unsigned events, void *arg)
{
    struct member *m = arg;
    struct tcp *t = m->t;
    struct err e = ERR_INIT;
    struct frame f;
    const char *why = NULL;
    int got = 1;

    (void)fd;
    if ((events & LOOP_READ) && peer_fill(&m->link.peer, &e) < 0)
        got = -1;
    while (got > 0 && !why && (got = link_next(&m->link, &f, &e)) > 0) {
        m->heard_ns = tick_now_ns();
        why = on_frame(m, &f);
    }
    if (why || got < 0)
        drop(m, why ? why : e.text);
    else if (flush(m))
        pump(t);
}

/* ---- strangers ---- */

/* A new connection may not push out the others by being slow. */
static void make_room(struct tcp *t)
{
    struct member *oldest = NULL;
    size_t n = 0;

    for (struct member *m = t->members; m; m = m->next) {
        if (m->worker || m->link.state == LINK_OPEN)
            continue;
        n++;
        oldest = m; /* the list has the newest first */
    }
    if (n >= STRANGERS)
        drop(oldest, "too many at once have not shown that they know the "
                     "secret");
}

static void on_connection(int fd, unsigned events, void *arg)
{
    struct tcp *t = arg;
    char from[TCP_ADDRESS];
    struct err e = ERR_INIT;
    struct member *m;
    int taken = tcp_accept(fd, from);

    (void)events;
    if (taken < 0)
        return;
    make_room(t);
    m = xcalloc(1, sizeof(*m));
    m->t = t;
    m->since_ns = m->heard_ns = tick_now_ns();
    m->interest = LOOP_READ;
    memcpy(m->from, from, sizeof(from));
    link_accept(&m->link, taken, t->secret);
    m->next = t->members;
    if (m->next)
        m->next->prev = m;
    t->members = m;
    m->fd_id = loop_add_fd(t->b.loop, taken, LOOP_READ, on_ready, m, &e);
    if (!m->fd_id)
        drop(m, e.text);
}

/* ---- heartbeat ---- */

static int64_t heartbeat_ns(const struct tcp *t)
{
    return t->b.o->heartbeat_s * 1000000000LL;
}

/* NULL, or why it has to go. */
static const char *is_late(struct member *m, int64_t now)
{
    if (m->link.state != LINK_OPEN)
        return now - m->since_ns > HANDSHAKE_S * 1000000000LL
                   ? "it did not show in time that it knows the secret"
                   : NULL;
    m->silent = now - m->heard_ns > heartbeat_ns(m->t);
    return m->silent ? "no sign of life" : NULL;
}

static void say_beat(struct member *m)
{
    struct frame f = {.type = "beat",
                      .id = "-",
                      .deadline_ms = m->t->b.o->heartbeat_s * 1000};

    if (m->link.state == LINK_OPEN)
        link_send(&m->link, &f);
}

/* A job larger than every worker, or no worker at all, is no error: one may
 * come. */
static void tell_waiting(struct tcp *t, int64_t now)
{
    struct fleet_counts n = fleet_counts(t->fleet);
    uint64_t large = fleet_too_large(t->fleet);

    if (n.workers) {
        t->lonely_ns = 0;
    } else if (t->lonely_ns == 0) {
        t->lonely_ns = t->told_ns = now;
    }
    if (now - t->told_ns < LONELY_S * 1000000000LL || n.waiting == 0)
        return;
    t->told_ns = now;
    if (t->lonely_ns)
        log_warn(n.waiting == 1 ? "%zu job waits for a worker to connect to %s"
                                : "%zu jobs wait for a worker to connect to %s",
                 n.waiting, t->address);
    else if (large)
        log_warn("a job needs %.1f GB of memory, more than any worker has",
                 (double)large / 1e9);
}

static void on_tick(void *arg)
{
    struct tcp *t = arg;
    int64_t now = tick_now_ns();
    struct member *next;

    for (struct member *m = t->members; m; m = next) {
        const char *why = is_late(m, now);

        next = m->next;
        if (why) {
            drop(m, why);
            continue;
        }
        if (m->worker)
            note(m);
        say_beat(m);
        flush(m);
    }
    roster_write(t->roster);
    tell_waiting(t, now);
    if (t->b.pending)
        launch_tick(t->launch, fleet_counts(t->fleet).workers);
    t->tick_id = loop_add_timer(t->b.loop, now + TICK_NS, on_tick, t);
}

/* ---- as a back end ---- */

/* Workers have other working folders, so its path must be absolute. */
static int make_key(struct tcp *t, struct err *e)
{
    const char *given = t->b.o->key;
    char *path = given ? xstrdup(given)
                       : xasprintf("monkeys-worker-%ld.key", (long)getpid());
    int rc = key_make(path, t->secret, e);

    if (rc == 0) {
        t->key = realpath(path, NULL);
        t->own_key = !given;
        rc = t->key ? 0 : err_sys(e, "%s", path);
    }
    free(path);
    return rc;
}

static int tcp_open(struct backend *b, const char *address, struct err *e)
{
    struct tcp *t = (struct tcp *)b;

    t->fleet = fleet_new();
    t->roster = roster_new(b->o->roster);
    t->listening = -1;
    if (make_key(t, e) < 0)
        return -1;
    t->listening = tcp_listen(address, t->address, e);
    if (t->listening < 0)
        return err_wrap(e, "--verifier tcp");
    t->listen_id =
        loop_add_fd(b->loop, t->listening, LOOP_READ, on_connection, t, e);
    if (!t->listen_id)
        return -1;
    t->lonely_ns = t->told_ns = tick_now_ns();
    t->tick_id = loop_add_timer(b->loop, t->told_ns + TICK_NS, on_tick, t);
    t->launch = launch_start(b->loop, b->o, t->address, t->key, e);
    return t->launch ? 0 : -1;
}

/* The workers end by themselves when they are told so. */
static void say_bye(struct tcp *t)
{
    struct err e = ERR_INIT;

    for (struct member *m = t->members; m; m = m->next) {
        if (m->link.state != LINK_OPEN)
            continue;
        link_say(&m->link, "bye", "-", "");
        peer_flush(&m->link.peer, &e);
        shutdown(m->link.peer.fd, SHUT_WR);
    }
}

static void free_asked(struct tcp *t)
{
    char fence[FLEET_FENCE];
    void *work, *member;

    for (struct member *m = t->members, *next; m; m = next) {
        next = m->next;
        if (m->worker) {
            note(m);
            fleet_leave(t->fleet, m->worker);
        }
        member_free(m);
    }
    fleet_join(t->fleet, SIZE_MAX, 0, NULL);
    while (fleet_next_lost(t->fleet, &work) ||
           fleet_lease(t->fleet, &work, &member, fence))
        asked_free(work);
}

static void tcp_close(struct backend *b)
{
    struct tcp *t = (struct tcp *)b;

    loop_remove(b->loop, t->tick_id);
    loop_remove(b->loop, t->listen_id);
    if (t->listening >= 0)
        close(t->listening);
    say_bye(t);
    launch_stop(t->launch);
    free_asked(t);
    roster_close(t->roster);
    roster_free(t->roster);
    fleet_free(t->fleet);
    if (t->own_key)
        unlink(t->key);
    free(t->key);
}

static int tcp_ask(struct backend *b, json_t *what, int64_t deadline_ms,
                   void *job, struct err *e)
{
    struct tcp *t = (struct tcp *)b;
    struct asked *a = xmalloc(sizeof(*a));
    char *topic;

    (void)e;
    *a = (struct asked){.job = job, .deadline_ms = deadline_ms};
    a->task = xstrdup(jsn_str(json_object_get(what, "task"), "id"));
    /* Jobs about one task in one precision share its truth. */
    topic = xasprintf("%s %s", a->task, jsn_str(what, "precision"));
    a->text = job_text(what, NULL);
    json_decref(what);
    fleet_add(t->fleet, topic, a);
    free(topic);
    b->pending++;
    pump(t);
    return 0;
}

static bool tcp_is_lonely(const struct backend *b)
{
    return fleet_counts(((const struct tcp *)b)->fleet).workers == 0;
}

const struct backend_type backend_tcp = {.name = "tcp",
                                         .operand = "HOST:PORT",
                                         .size = sizeof(struct tcp),
                                         .open = tcp_open,
                                         .close = tcp_close,
                                         .ask = tcp_ask,
                                         .is_lonely = tcp_is_lonely};
