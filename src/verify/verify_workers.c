/* verify_workers.c: workers that we talk to: the one that is started here, over a
 * socketpair, or those that connect to us, on this host or others. verify/fleet.h
 * decides who gets what, io/link.h who is let in. A worker here is a fleet of one,
 * whose slots are as many as there are jobs: it has a queue of its own.
 *
 * Whether a worker still works on what it was given cannot be known; it may be
 * frozen, and wake up. So a job is leased under an id that is never used again, and
 * an answer counts under a lease that still holds. Both ends of a connection say
 * something every few seconds. A worker that is silent for longer than the heartbeat
 * is given up: its connection is closed, so nothing that it may still send is
 * accepted, and its jobs go to others. Without that a job would be lost with its
 * worker, or counted twice.
 *
 * A job may be what ends workers. One that was with too many when they ended is
 * answered without a record, so that it cannot end all of them in turn. */
#include "verify/backend.h"

#include "base/device_name.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/link.h"
#include "io/server.h"
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

/* Of the worker that is started here. */
#define OWN_LEAVE_MS 5000 /* for it to clean up */
#define OWN_DEATHS   2    /* ends of it that a job may be part of */
#define OWN_BARREN   3    /* ends in a row without an answer in between */

struct member {
    struct workers *w;
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

/* The worker that is started here. */
struct own {
    struct server server;
    struct worker *worker; /* NULL: it does not run */
    bool started, greeted, ended;
    uint64_t restart; /* deferred; 0: none */
    int barren;
    char *why; /* it ended, where it said so */
};

struct workers {
    struct verifier *v;
    struct loop *loop;
    const struct verifier_opts *o;
    struct fleet *fleet;
    bool pumping;
    struct own own;
    /* The rest is for workers that connect. */
    int listening; /* -1: they do not */
    uint64_t listen_id, tick_id;
    char address[TCP_ADDRESS], secret[KEY_TEXT];
    char *key;
    bool own_key; /* made for this one command */
    struct roster *roster;
    struct member *members;
    struct launch *launch;
    int64_t lonely_ns; /* since when there is no worker; 0: there is one */
    int64_t told_ns;
    int strangers; /* lines of the log so far */
};

static void workers_pump(struct workers *w);

/* ---- jobs ---- */

static void workers_settle_lost(struct workers *w, const char *why)
{
    void *work;

    while (fleet_next_lost(w->fleet, &work))
        asked_settle(work, NULL, why);
}

/* A worker said what became of the work that it has under a lease. */
static void worker_answers(struct workers *w, struct worker *worker,
                           const struct frame *f, struct roster_line *line)
{
    struct err e = ERR_INIT;
    json_t *answer = jsn_parse("answer", f->payload, f->len, &e);
    json_int_t peak = json_integer_value(json_object_get(answer, "peak_bytes"));
    struct asked *a =
        fleet_answer(w->fleet, worker, f->id, peak > 0 ? (uint64_t)peak : 0);

    if (a) {
        asked_settle(a, answer, answer ? NULL : e.text);
    } else if (line) {
        line->refused++;
        log_warn("worker %s: rejected an answer for %s, a lease that it does "
                 "not hold",
                 line->name, f->id);
    }
    json_decref(answer);
}

/* It could not judge it: another one may. */
static void worker_fails(struct workers *w, struct worker *worker,
                         const struct frame *f)
{
    struct asked *a;
    char *why;

    if (fleet_refuse(w->fleet, worker, f->id))
        return;
    a = fleet_answer(w->fleet, worker, f->id, 0);
    why = xstrndup(f->payload, f->len);
    if (a)
        asked_settle(a, NULL, why);
    free(why);
}

/* ---- members ---- */

static void member_set_interest(struct member *m)
{
    unsigned want =
        LOOP_READ | (peer_has_output(&m->link.peer) ? LOOP_WRITE : 0);
    struct err e = ERR_INIT;

    if (want != m->interest)
        loop_set_interest(m->w->loop, m->fd_id, want, &e);
    m->interest = want;
}

static void member_free(struct member *m)
{
    loop_remove(m->w->loop, m->fd_id);
    link_close(&m->link);
    *(m->prev ? &m->prev->next : &m->w->members) = m->next;
    if (m->next)
        m->next->prev = m->prev;
    free(m);
}

/* Brings its line up to date. */
static void member_note(struct member *m)
{
    struct roster_line *l = m->line;
    struct worker_counts counts = worker_counts(m->worker);
    void *work[TASKS_MAX];
    size_t n = worker_works(m->worker, work, TASKS_MAX);

    roster_set(l, n ? ROSTER_BUSY : ROSTER_IDLE);
    l->heard_us = date_now_us() - (tick_now_ns() - m->heard_ns) / 1000;
    l->verdicts = counts.answered;
    l->truths = counts.truths;
    l->taken_bytes = counts.memory_taken;
    json_decref(l->tasks);
    l->tasks = json_array();
    for (size_t i = 0; i < n; i++) {
        const char *task = ((struct asked *)work[i])->task;

        json_array_append_new(l->tasks, jsn_text(task, strlen(task)));
    }
}

/* Frees it. Its jobs wait again. */
static void member_drop(struct member *m, const char *why)
{
    struct workers *w = m->w;

    if (m->worker) {
        log_warn("worker %s: %s; %zu of its jobs go to others", m->line->name,
                 why, worker_counts(m->worker).leased);
        member_note(m);
        roster_set(m->line, m->silent ? ROSTER_FENCED : ROSTER_LOST);
        fleet_leave(w->fleet, m->worker);
    } else if (w->strangers < LINES_MAX) {
        w->strangers++;
        log_warn("connection from %s closed: %s%s", m->from, why,
                 w->strangers == LINES_MAX ? " (no more such messages)" : "");
    }
    member_free(m);
    workers_settle_lost(w, "three workers ended while they had this job; it "
                           "may be the cause");
    workers_pump(w);
}

/* False: it was dropped. */
static bool member_flush(struct member *m)
{
    struct err e = ERR_INIT;

    if (peer_flush(&m->link.peer, &e) < 0) {
        member_drop(m, e.text);
        return false;
    }
    member_set_interest(m);
    return true;
}

/* Gives out what can be given out. A member that cannot be written to is found
 * when the loop next looks at it. */
static void workers_pump(struct workers *w)
{
    struct err e = ERR_INIT;
    struct frame f = {.type = "job"};
    void *work, *member;

    if (w->pumping)
        return;
    w->pumping = true;
    while (fleet_lease(w->fleet, &work, &member, f.id)) {
        const struct asked *a = work;
        struct member *m = member;

        f.deadline_ms = a->deadline_ms;
        f.payload = a->text;
        f.len = strlen(a->text);
        if (m) {
            link_send(&m->link, &f);
            peer_flush(&m->link.peer, &e);
            member_set_interest(m);
        } else {
            server_send(&w->own.server, &f, NULL, 0);
        }
    }
    w->pumping = false;
}

/* The value of `key` in lines "KEY VALUE". */
static bool member_line(const struct frame *f, const char *key, struct str *out)
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
static bool member_same_kind(struct str a, const char *b)
{
    return str_eq(a, "cpu") == (strcmp(b, "cpu") == 0);
}

static bool member_is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 0;
}

static struct roster_line *member_enlist(struct workers *w, struct str name,
                                         struct str device)
{
    struct roster_line *l;
    char text[sizeof(l->name)];

    snprintf(text, sizeof(text), "%.*s",
             (int)(name.n < sizeof(text) ? name.n : sizeof(text) - 1), name.p);
    l = roster_join(w->roster, text);
    snprintf(
        l->device, sizeof(l->device), "%.*s",
        (int)(device.n < sizeof(l->device) ? device.n : sizeof(l->device) - 1),
        device.p);
    return l;
}

/* NULL, or why it cannot work for us. */
static const char *member_join(struct member *m, const struct frame *f)
{
    struct workers *w = m->w;
    struct str name, device, text;
    int64_t slots, memory;

    if (m->worker)
        return "it joined twice";
    if (!member_line(f, "name", &name) || !member_is_plain(name) ||
        !member_line(f, "device", &device) || !member_is_plain(device) ||
        !member_line(f, "slots", &text) || !str_to_i64(text, 1, 4096, &slots) ||
        !member_line(f, "memory", &text) ||
        !str_to_i64(text, 0, INT64_MAX, &memory))
        return "it does not say who it is";
    if (!member_same_kind(device, w->o->device))
        return "it has another kind of device than this run needs";
    m->worker = fleet_join(w->fleet, (size_t)slots, (uint64_t)memory, m);
    m->line = member_enlist(w, name, device);
    m->line->slots = (size_t)slots;
    m->line->memory_bytes = (uint64_t)memory;
    w->lonely_ns = 0;
    log_info("worker %s joined: %s, %lld jobs at a time", m->line->name,
             m->line->device, (long long)slots);
    return NULL;
}

/* NULL, or why it has to go. */
static const char *member_on_frame(struct member *m, const struct frame *f)
{
    if (strcmp(f->type, "beat") == 0)
        return NULL;
    if (strcmp(f->type, "join") == 0)
        return member_join(m, f);
    if (strcmp(f->type, "note") == 0 || strcmp(f->type, "unfit") == 0)
        log_warn("worker %s: %.*s", m->worker ? m->line->name : m->from,
                 (int)f->len, f->payload);
    else if (m->worker && strcmp(f->type, "answer") == 0)
        worker_answers(m->w, m->worker, f, m->line);
    else if (m->worker && strcmp(f->type, "infra") == 0)
        worker_fails(m->w, m->worker, f);
    return strcmp(f->type, "unfit") == 0 ? "it cannot work on its host" : NULL;
}

static void member_on_ready(int fd, unsigned events, void *arg)
{
    struct member *m = arg;
    struct workers *w = m->w;
    struct err e = ERR_INIT;
    struct frame f;
    const char *why = NULL;
    int got = 1;

    (void)fd;
    if ((events & LOOP_READ) && peer_fill(&m->link.peer, &e) < 0)
        got = -1;
    while (got > 0 && !why && (got = link_next(&m->link, &f, &e)) > 0) {
        m->heard_ns = tick_now_ns();
        why = member_on_frame(m, &f);
    }
    if (why || got < 0)
        member_drop(m, why ? why : e.text);
    else if (member_flush(m))
        workers_pump(w);
}

/* ---- strangers ---- */

/* A new connection may not push out the others by being slow. */
static void workers_make_room(struct workers *w)
{
    struct member *oldest = NULL;
    size_t n = 0;

    for (struct member *m = w->members; m; m = m->next) {
        if (m->worker || m->link.state == LINK_OPEN)
            continue;
        n++;
        oldest = m; /* the list has the newest first */
    }
    if (n >= STRANGERS)
        member_drop(oldest,
                    "too many at once have not shown that they know the "
                    "secret");
}

static void workers_on_connection(int fd, unsigned events, void *arg)
{
    struct workers *w = arg;
    char from[TCP_ADDRESS];
    struct err e = ERR_INIT;
    struct member *m;
    int taken = tcp_accept(fd, from);

    (void)events;
    if (taken < 0)
        return;
    workers_make_room(w);
    m = xcalloc(1, sizeof(*m));
    m->w = w;
    m->since_ns = m->heard_ns = tick_now_ns();
    m->interest = LOOP_READ;
    memcpy(m->from, from, sizeof(from));
    link_accept(&m->link, taken, w->secret);
    m->next = w->members;
    if (m->next)
        m->next->prev = m;
    w->members = m;
    m->fd_id = loop_add_fd(w->loop, taken, LOOP_READ, member_on_ready, m, &e);
    if (!m->fd_id)
        member_drop(m, e.text);
}

/* ---- heartbeat ---- */

static int64_t workers_heartbeat_ns(const struct workers *w)
{
    return w->o->heartbeat_s * 1000000000LL;
}

/* NULL, or why it has to go. */
static const char *member_is_late(struct member *m, int64_t now)
{
    if (m->link.state != LINK_OPEN)
        return now - m->since_ns > HANDSHAKE_S * 1000000000LL
                   ? "it did not show in time that it knows the secret"
                   : NULL;
    m->silent = now - m->heard_ns > workers_heartbeat_ns(m->w);
    return m->silent ? "no sign of life" : NULL;
}

static void member_beat(struct member *m)
{
    struct frame f = {
        .type = "beat", .id = "-", .deadline_ms = m->w->o->heartbeat_s * 1000};

    if (m->link.state == LINK_OPEN)
        link_send(&m->link, &f);
}

/* A job larger than every worker, or no worker at all, is no error: one may
 * come. */
static void workers_tell(struct workers *w, int64_t now)
{
    struct fleet_counts n = fleet_counts(w->fleet);
    uint64_t large = fleet_too_large(w->fleet);

    if (n.workers) {
        w->lonely_ns = 0;
    } else if (w->lonely_ns == 0) {
        w->lonely_ns = w->told_ns = now;
    }
    if (now - w->told_ns < LONELY_S * 1000000000LL || n.waiting == 0)
        return;
    w->told_ns = now;
    if (w->lonely_ns)
        log_warn(n.waiting == 1 ? "%zu job waits for a worker to connect to %s"
                                : "%zu jobs wait for a worker to connect to %s",
                 n.waiting, w->address);
    else if (large)
        log_warn("a job needs %.1f GB of memory, more than any worker has",
                 (double)large / 1e9);
}

static void workers_on_tick(void *arg)
{
    struct workers *w = arg;
    int64_t now = tick_now_ns();
    struct member *next;

    for (struct member *m = w->members; m; m = next) {
        const char *why = member_is_late(m, now);

        next = m->next;
        if (why) {
            member_drop(m, why);
            continue;
        }
        if (m->worker)
            member_note(m);
        member_beat(m);
        member_flush(m);
    }
    roster_write(w->roster);
    workers_tell(w, now);
    if (asked_first(w->v))
        launch_tick(w->launch, fleet_counts(w->fleet).workers);
    w->tick_id = loop_add_timer(w->loop, now + TICK_NS, workers_on_tick, w);
}

/* ---- the worker that is started here ---- */

/* If it ends, it is started again and has its jobs again. */
static int own_start(struct workers *w, struct err *e);

static const char *own_why(const struct own *own)
{
    return own->why ? own->why
                    : "monkeys-worker ended unexpectedly; 'monkeys doctor' "
                      "says what is missing on this machine";
}

static void own_give_up(struct workers *w)
{
    struct asked *a;

    w->own.ended = true;
    w->own.worker = NULL;
    fleet_free(w->fleet);
    w->fleet = fleet_new(OWN_DEATHS);
    while ((a = asked_first(w->v)))
        asked_settle(a, NULL, own_why(&w->own));
}

static void own_start_again(void *arg)
{
    struct workers *w = arg;
    struct err e = ERR_INIT;

    w->own.restart = 0;
    server_stop(&w->own.server);
    if (own_start(w, &e) < 0) {
        log_warn("%s", e.text);
        own_give_up(w);
        return;
    }
    workers_pump(w);
    /* Last, since the caller may ask for more, which is sent at once. */
    workers_settle_lost(w, "monkeys-worker ended twice while it had this job");
}

/* A worker that never said that it is ready cannot work here. */
static void own_end(struct workers *w)
{
    struct own *own = &w->own;

    if (own->ended)
        return;
    if (!own->greeted || ++own->barren >= OWN_BARREN) {
        log_warn("%s", own_why(own));
        own_give_up(w);
        return;
    }
    log_warn("monkeys-worker ended unexpectedly; starting it again");
    fleet_leave(w->fleet, own->worker);
    own->worker = NULL;
    own->restart = loop_defer(w->loop, own_start_again, w);
}

static void own_on_frame(struct server *s, const struct frame *f, void *arg)
{
    struct workers *w = arg;
    struct own *own = &w->own;

    (void)s;
    if (!f) {
        own_end(w);
    } else if (strcmp(f->type, "ready") == 0) {
        own->greeted = true;
    } else if (strcmp(f->type, "unfit") == 0 && !own->greeted && !own->ended) {
        own->why = xstrndup(f->payload, f->len);
        own_give_up(w);
    } else if (strcmp(f->type, "note") == 0 || strcmp(f->type, "unfit") == 0) {
        log_warn("%.*s", (int)f->len, f->payload);
    } else if (own->worker && strcmp(f->type, "infra") == 0) {
        worker_fails(w, own->worker, f);
    } else if (own->worker && strcmp(f->type, "answer") == 0) {
        own->barren = 0;
        worker_answers(w, own->worker, f, NULL);
    }
}

static int own_start(struct workers *w, struct err *e)
{
    const char *argv[LAUNCH_WORDS];
    char children[24];

    snprintf(children, sizeof(children), "%lld", (long long)w->o->children);
    if (launch_argv(&(struct launch_worker){.opts = w->o,
                                            .device = w->o->device,
                                            .children = children},
                    argv, e) < 0)
        return -1;
    w->own.started = true;
    w->own.server.fn = own_on_frame;
    w->own.server.arg = w;
    if (server_start(&w->own.server, w->loop, argv, NULL, e) < 0)
        return -1;
    w->own.worker = fleet_join(w->fleet, SIZE_MAX, 0, NULL);
    return 0;
}

static int own_open(struct workers *w, struct err *e)
{
    int64_t n;

    /* Without this the worker would load torch first, which takes a while. */
    if (device_is_gpu(w->o->device, &n) && !device_has_gpu())
        return err_set(
            e, ERR_USAGE,
            "--device %s: this machine has no GPU that can be used; use "
            "--device cpu, or --verifier jobs=DIR and a worker on a host "
            "that has one",
            w->o->device);
    return w->o->at_once ? own_start(w, e) : 0;
}

/* ---- workers that connect ---- */

/* Workers have other working folders, so its path must be absolute. */
static int workers_make_key(struct workers *w, struct err *e)
{
    const char *given = w->o->key;
    char *path = given ? xstrdup(given)
                       : xasprintf("monkeys-worker-%ld.key", (long)getpid());
    int rc = key_make(path, w->secret, e);

    if (rc == 0) {
        w->key = realpath(path, NULL);
        w->own_key = !given;
        rc = w->key ? 0 : err_sys(e, "%s", path);
    }
    free(path);
    return rc;
}

static int workers_listen(struct workers *w, const char *address, struct err *e)
{
    w->roster = roster_new(w->o->roster);
    if (workers_make_key(w, e) < 0)
        return -1;
    w->listening = tcp_listen(address, w->address, e);
    if (w->listening < 0)
        return err_wrap(e, "--verifier tcp");
    w->listen_id = loop_add_fd(w->loop, w->listening, LOOP_READ,
                               workers_on_connection, w, e);
    if (!w->listen_id)
        return -1;
    w->lonely_ns = w->told_ns = tick_now_ns();
    w->tick_id =
        loop_add_timer(w->loop, w->told_ns + TICK_NS, workers_on_tick, w);
    w->launch = launch_start(w->loop, w->o, w->address, w->key, e);
    return w->launch ? 0 : -1;
}

/* The workers end by themselves when they are told so. */
static void workers_say_bye(struct workers *w)
{
    struct err e = ERR_INIT;

    for (struct member *m = w->members; m; m = m->next) {
        if (m->link.state != LINK_OPEN)
            continue;
        link_say(&m->link, "bye", "-", "");
        peer_flush(&m->link.peer, &e);
        shutdown(m->link.peer.fd, SHUT_WR);
    }
}

static void workers_listen_no_more(struct workers *w)
{
    loop_remove(w->loop, w->tick_id);
    loop_remove(w->loop, w->listen_id);
    if (w->listening >= 0)
        close(w->listening);
    workers_say_bye(w);
    launch_stop(w->launch);
    for (struct member *m = w->members, *next; m; m = next) {
        next = m->next;
        if (m->worker)
            member_note(m);
        member_free(m);
    }
    if (w->roster)
        roster_close(w->roster);
    roster_free(w->roster);
    if (w->own_key)
        unlink(w->key);
    free(w->key);
}

/* ---- as a back end ---- */

struct workers *workers_open(struct verifier *v, struct loop *l,
                             const struct verifier_opts *o, const char *address,
                             struct err *e)
{
    struct workers *w = xcalloc(1, sizeof(*w));

    *w = (struct workers){.v = v, .loop = l, .o = o, .listening = -1};
    w->fleet = fleet_new(address ? FLEET_DEATHS : OWN_DEATHS);
    if ((address ? workers_listen(w, address, e) : own_open(w, e)) == 0)
        return w;
    workers_close(w);
    return NULL;
}

void workers_close(struct workers *w)
{
    if (!w)
        return;
    loop_remove(w->loop, w->own.restart);
    if (w->own.started)
        server_end(&w->own.server, OWN_LEAVE_MS);
    free(w->own.why);
    workers_listen_no_more(w);
    fleet_free(w->fleet);
    free(w);
}

int workers_put(struct workers *w, struct asked *a, json_t *what, struct err *e)
{
    char *topic;

    if (w->listening < 0 && !w->own.started && own_start(w, e) < 0) {
        w->own.ended = true;
        return -1;
    }
    if (w->own.ended) {
        asked_settle(a, NULL, own_why(&w->own));
        return 0;
    }
    a->task = xstrdup(jsn_str(json_object_get(what, "task"), "id"));
    a->text = job_text(what, NULL);
    /* Jobs about one task in one precision share its truth. */
    topic = xasprintf("%s %s", a->task, jsn_str(what, "precision"));
    fleet_add(w->fleet, topic, a);
    free(topic);
    workers_pump(w);
    return 0;
}

bool workers_are_dead(const struct workers *w)
{
    return w->own.ended;
}

bool workers_are_away(const struct workers *w)
{
    return w->listening >= 0 && fleet_counts(w->fleet).workers == 0;
}
