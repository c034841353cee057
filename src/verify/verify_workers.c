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

#include "base/buf.h"
#include "base/fs.h"
#include "base/home.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "io/link.h"
#include "io/proc.h"
#include "io/server.h"
#include "verify/fleet.h"
#include "verify/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE_S 10  /* to prove that it knows the secret */
#define STRANGERS   64  /* at once; the oldest has to go */
#define LINES_MAX   100 /* of the log, about strangers */
#define LONELY_S    15  /* until the user hears that there is no worker */
#define TASKS_MAX   16  /* of a worker, that the roster names */

/* Of workers that are started here. */
#define LEAVE_MS   5000 /* to clean up */
#define BARREN     3 /* ends in a row that got nowhere: it is not started again */
#define OWN_DEATHS 2 /* ends that a job may be part of */

/* ---- who starts the workers that connect: this program ("local"), a Slurm cluster
 * ("slurm"), or somebody by hand ("none") ----
 *
 * A launcher only starts processes. Only its connection tells whether a worker exists,
 * never what a scheduler reports. The program itself starts a worker
 * for each device from the first on, and starts one that ends again, unless several in a
 * row never got anywhere. Slurm gets an array job; it requeues a task of the array that is
 * preempted or loses its node. If work waits, no worker is connected, and Slurm does not
 * know the job any more, it is submitted again. */

/* The command line of a worker, NULL at its end. The array borrows everything. */
#define LAUNCH_WORDS 96
struct launch_worker {
    const struct verifier_opts *opts;
    const char *address, *key; /* NULL: it is given a socket */
    const char *device, *children;
};
/* Each launcher has one as its first member. */
struct launch {
    const struct launch_type *type;
    struct loop *loop;
    const struct verifier_opts *o;
    const char *address, *key;
};

struct launch_type {
    const char *name;
    size_t size; /* of its struct, which begins zeroed */
    int (*start)(struct launch *x, struct err *e);
    void (*tick)(struct launch *x, size_t connected); /* NULL: nothing */
    void (*stop)(struct launch *x);                   /* also after -1 */
};

/* ---- the command line of a worker ---- */

static int launch_argv(const struct launch_worker *x,
                       const char *argv[LAUNCH_WORDS], struct err *e)
{
    const struct verifier_opts *o = x->opts;
    const char *const words[] = {
        "--home",  o->home->dir, "--python",  o->home->python, "--device",
        x->device, "--children", x->children, "--box",         o->box};
    const char *const to[] = {"--connect", x->address, "--key", x->key};
    size_t n = 0;

    argv[n++] = o->home->worker;
    for (size_t i = 0; x->address && i < sizeof(to) / sizeof(to[0]); i++)
        argv[n++] = to[i];
    memcpy(argv + n, words, sizeof(words));
    n += sizeof(words) / sizeof(words[0]);
    if (o->unsafe)
        argv[n++] = "--unsafe";
    if (n + 2 * o->packs->len >= LAUNCH_WORDS)
        return err_set(e, ERR_USAGE, "--packs: at most %zu folders",
                       (LAUNCH_WORDS - 1 - n) / 2);
    for (size_t i = 0; i < o->packs->len; i++) {
        argv[n++] = "--packs";
        argv[n++] = o->packs->item[i];
    }
    argv[n] = NULL;
    return 0;
}

/* In single quotes where a shell would see more than a word. */
static void launch_quote(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,@%+";

    if (*word && strspn(word, plain) == strlen(word)) {
        buf_puts(b, word);
        return;
    }
    buf_puts(b, "'");
    for (; *word; word++)
        if (*word == '\'')
            buf_puts(b, "'\\''");
        else
            buf_put(b, word, 1);
    buf_puts(b, "'");
}

/* The command line for a shell; the caller frees it. */
static char *launch_line(const struct launch *x, const char *children,
                         struct err *e)
{
    const char *argv[LAUNCH_WORDS];
    struct buf b = BUF_INIT;

    if (launch_argv(&(struct launch_worker){.opts = x->o,
                                            .address = x->address,
                                            .key = x->key,
                                            .device = x->o->device,
                                            .children = children},
                    argv, e) < 0)
        return NULL;
    for (size_t i = 0; argv[i]; i++) {
        buf_puts(&b, i ? " " : "");
        launch_quote(&b, argv[i]);
    }
    return buf_take(&b, NULL);
}

/* ---- by hand ---- */

static int by_hand_start(struct launch *x, struct err *e)
{
    char *line = launch_line(x, "0", e);

    if (line)
        log_info("start workers with: %s", line);
    free(line);
    return line ? 0 : -1;
}

static const struct launch_type launch_by_hand = {
    .name = "none", .size = sizeof(struct launch), .start = by_hand_start};

/* ---- here ---- */

#define AGAIN_NS TICK_S        /* before it is started again */
#define START_NS (60 * TICK_S) /* who ends within it never got anywhere */

/* One worker. The server's socket tells only that it has ended. */
struct place {
    struct launch_here *x;
    struct server server;
    bool running;
    uint64_t timer;
    int64_t began_ns;
    char device[32];
    int barren;
};

struct launch_here {
    struct launch x; /* first */
    struct place *places;
    size_t count;
    char children[24];
};

static int place_start(struct place *p, struct err *e);

static void place_on_again(void *arg)
{
    struct place *p = arg;
    struct err e = ERR_INIT;

    p->timer = 0;
    if (place_start(p, &e) < 0)
        log_warn("%s", e.text);
}

static void place_on_end(struct server *s, const struct frame *f, void *arg)
{
    struct place *p = arg;
    bool barren = tick_now_ns() - p->began_ns < START_NS;

    if (f)
        return;
    server_stop(s);
    p->running = false;
    p->barren = barren ? p->barren + 1 : 0;
    if (p->barren >= BARREN) {
        log_warn("the worker for %s ended %d times soon after its start; it is "
                 "not started again",
                 p->device, BARREN);
        return;
    }
    log_warn("the worker for %s ended; starting it again", p->device);
    p->timer = loop_add_timer(p->x->x.loop, tick_now_ns() + AGAIN_NS,
                              place_on_again, p);
}

static int place_start(struct place *p, struct err *e)
{
    struct launch_here *x = p->x;
    const char *argv[LAUNCH_WORDS];

    if (launch_argv(&(struct launch_worker){.opts = x->x.o,
                                            .address = x->x.address,
                                            .key = x->x.key,
                                            .device = p->device,
                                            .children = x->children},
                    argv, e) < 0)
        return -1;
    p->began_ns = tick_now_ns();
    p->server.fn = place_on_end;
    p->server.arg = p;
    p->running = true;
    return server_start(&p->server, x->x.loop, argv, NULL, e);
}

static int launch_here_start(struct launch *launch, struct err *e)
{
    struct launch_here *x = (struct launch_here *)launch;
    const struct verifier_opts *o = launch->o;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t first = 0, share = o->children;
    bool gpu = device_is_gpu(o->device, &first);

    x->count = (size_t)(o->workers > 0 ? o->workers : 1);
    x->places = xcalloc(x->count, sizeof(*x->places));
    if (share == 0 && !gpu)
        share = cores / (long)x->count > 0 ? cores / (long)x->count : 1;
    snprintf(x->children, sizeof(x->children), "%lld", (long long)share);
    for (size_t i = 0; i < x->count; i++) {
        struct place *p = &x->places[i];

        p->x = x;
        if (gpu)
            snprintf(p->device, sizeof(p->device), "cuda:%lld",
                     (long long)first + (long long)i);
        else
            snprintf(p->device, sizeof(p->device), "cpu");
        if (place_start(p, e) < 0)
            return -1;
    }
    return 0;
}

static void launch_here_stop(struct launch *launch)
{
    struct launch_here *x = (struct launch_here *)launch;

    for (size_t i = 0; i < x->count; i++) {
        loop_remove(launch->loop, x->places[i].timer);
        if (x->places[i].running)
            server_end(&x->places[i].server, LEAVE_MS);
    }
    free(x->places);
}

static const struct launch_type launch_here = {.name = "local",
                                               .size =
                                                   sizeof(struct launch_here),
                                               .start = launch_here_start,
                                               .stop = launch_here_stop};

/* ---- by Slurm ---- */

#define COMMAND_NS (30 * TICK_S) /* for a command of Slurm */
#define LOOK_NS    (20 * TICK_S) /* between looks at a job without workers */
#define TEXT_MAX   16384
#define WORDS_MAX  64
#define ID_MAX     40

struct slurm {
    struct launch x;  /* first */
    char job[ID_MAX]; /* "": nothing is submitted */
    char *script;
    struct proc *look; /* squeue at work */
    int64_t looked_ns;
};

static struct proc_opts slurm_command(const char *const *argv)
{
    return (struct proc_opts){.argv = argv,
                              .out_limit = TEXT_MAX,
                              .err_limit = TEXT_MAX,
                              .timeout_ns = COMMAND_NS};
}

/* What the cluster runs; the key's own path is in it, the key is not. */
static int slurm_write_script(struct slurm *s, struct err *e)
{
    char children[24];
    char *line;

    snprintf(children, sizeof(children), "%lld", (long long)s->x.o->children);
    line = launch_line(&s->x, children, e);
    if (!line)
        return -1;
    s->script = xasprintf("#!/bin/sh\nexec %s\n", line);
    free(line);
    return 0;
}

/* Splits --slurm-args at blanks. The words live in `text`. */
static int slurm_add_args(char *text, const char **argv, size_t *n,
                          struct err *e)
{
    char *rest = NULL;

    for (char *w = strtok_r(text, " ", &rest); w;
         w = strtok_r(NULL, " ", &rest)) {
        if (*n + 1 >= WORDS_MAX)
            return err_set(e, ERR_USAGE, "--slurm-args: too many words");
        argv[(*n)++] = w;
    }
    return 0;
}

/* "ID" or "ID;CLUSTER" becomes the id. */
static int slurm_take_id(struct slurm *s, const struct proc_result *r,
                         struct err *e)
{
    const char *text = buf_str(&r->out);
    size_t n = strspn(text, "0123456789");

    if (r->exit_code != 0 || n == 0 || n >= sizeof(s->job))
        return err_set(e, ERR_INPUT, "sbatch did not accept the workers: %.*s",
                       (int)(r->err.len < 300 ? r->err.len : 300),
                       buf_str(&r->err));
    snprintf(s->job, sizeof(s->job), "%.*s", (int)n, text);
    log_info("%lld worker%s submitted to Slurm as job %s",
             (long long)(s->x.o->workers > 0 ? s->x.o->workers : 1),
             s->x.o->workers > 1 ? "s" : "", s->job);
    return 0;
}

static int slurm_submit(struct slurm *s, struct err *e)
{
    const struct verifier_opts *o = s->x.o;
    char array[40];
    char *log = xasprintf("--output=%.*s/worker-%%A_%%a.log",
                          (int)(fs_base(s->x.key) - s->x.key - 1), s->x.key);
    char *more = xstrdup(o->slurm_args ? o->slurm_args : "");
    const char *argv[WORDS_MAX] = {"sbatch",
                                   "--parsable",
                                   "--requeue",
                                   "--open-mode=append",
                                   "--job-name=monkeys-worker",
                                   array,
                                   log};
    size_t n = 7;
    struct procs_item item = {.failed = ERR_INIT};
    int rc = -1;

    snprintf(array, sizeof(array), "--array=1-%lld",
             (long long)(o->workers > 0 ? o->workers : 1));
    if (slurm_add_args(more, argv, &n, e) < 0)
        goto out;
    argv[n] = NULL;
    item.opts = slurm_command(argv);
    item.opts.in = s->script;
    item.opts.in_len = strlen(s->script);
    if (procs_run(&item, 1, 1, NULL, NULL, e) < 0)
        goto out;
    if (item.failed.kind)
        err_set(e, ERR_USAGE, "--launcher slurm: %s", item.failed.text);
    else
        rc = slurm_take_id(s, &item.result, e);
    proc_result_release(&item.result);
out:
    free(more);
    free(log);
    return rc;
}

static int slurm_start(struct launch *x, struct err *e)
{
    struct slurm *s = (struct slurm *)x;

    if (slurm_write_script(s, e) < 0)
        return -1;
    s->looked_ns = tick_now_ns();
    return slurm_submit(s, e);
}

static bool slurm_is_gone(const struct proc_result *r)
{
    if (r->exit_code == 0)
        return r->out.len == 0;
    return strstr(buf_str(&r->err), "Invalid job id") != NULL;
}

static void slurm_on_look(struct proc *p, struct proc_result *r, void *arg)
{
    struct slurm *s = arg;
    struct err e = ERR_INIT;
    bool gone = slurm_is_gone(r);
    struct str states = buf_view(&r->out), first = states;

    if (!gone && r->out.len) {
        str_cut(&states, '\n', &first);
        log_info("no worker is connected; Slurm job %s: %.*s", s->job,
                 (int)first.n, first.p);
    }
    proc_free(p);
    s->look = NULL;
    s->looked_ns = tick_now_ns();
    if (!gone)
        return;
    log_warn("Slurm does not know job %s any more; submitting again", s->job);
    s->job[0] = '\0';
    if (slurm_submit(s, &e) < 0)
        log_warn("%s; trying again", e.text);
}

static void slurm_tick(struct launch *x, size_t connected)
{
    struct slurm *s = (struct slurm *)x;
    const char *argv[] = {"squeue", "-h", "-j", s->job, "-o", "%T %r", NULL};
    struct proc_opts o = slurm_command(argv);
    struct err e = ERR_INIT;

    if (connected || s->look || tick_now_ns() - s->looked_ns < LOOK_NS)
        return;
    s->looked_ns = tick_now_ns();
    if (s->job[0]) {
        s->look = proc_start(x->loop, &o, slurm_on_look, s, &e);
        if (!s->look)
            log_warn("%s", e.text);
    } else if (slurm_submit(s, &e) < 0) {
        log_warn("%s; trying again", e.text);
    }
}

static void slurm_stop(struct launch *x)
{
    struct slurm *s = (struct slurm *)x;
    const char *argv[] = {"scancel", s->job, NULL};
    struct procs_item item = {.opts = slurm_command(argv), .failed = ERR_INIT};
    struct err e = ERR_INIT;

    proc_free(s->look);
    if (s->job[0] && procs_run(&item, 1, 1, NULL, NULL, &e) == 0)
        proc_result_release(&item.result);
    free(s->script);
}

static const struct launch_type launch_slurm = {.name = "slurm",
                                                .size = sizeof(struct slurm),
                                                .start = slurm_start,
                                                .tick = slurm_tick,
                                                .stop = slurm_stop};

/* ---- any of them ---- */

static const struct launch_type *const types[] = {&launch_here, &launch_slurm,
                                                  &launch_by_hand};

static void launch_stop(struct launch *x)
{
    if (!x)
        return;
    if (x->type->stop)
        x->type->stop(x);
    free(x);
}

static struct launch *launch_start(struct loop *l,
                                   const struct verifier_opts *o,
                                   const char *address, const char *key,
                                   struct err *e)
{
    const struct launch_type *t = NULL;
    struct launch *x;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i]->name, o->launcher) == 0)
            t = types[i];
    if (!t)
        BUG("no launcher is called %s", o->launcher);
    x = xcalloc(1, t->size);
    *x = (struct launch){
        .type = t, .loop = l, .o = o, .address = address, .key = key};
    if (t->start(x, e) == 0)
        return x;
    launch_stop(x);
    return NULL;
}

static void launch_tick(struct launch *x, size_t connected)
{
    if (x->type->tick)
        x->type->tick(x, connected);
}

/* ---- workers ---- */

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
    json_int_t peak = jsn_int(answer, "peak_bytes");
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

        json_array_append_new(l->tasks, jsn_of(task));
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
    return w->o->heartbeat_s * TICK_S;
}

/* NULL, or why it has to go. */
static const char *member_is_late(struct member *m, int64_t now)
{
    if (m->link.state != LINK_OPEN)
        return now - m->since_ns > HANDSHAKE_S * TICK_S
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
    if (now - w->told_ns < LONELY_S * TICK_S || n.waiting == 0)
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
    w->tick_id = loop_add_timer(w->loop, now + TICK_S, workers_on_tick, w);
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
    if (!own->greeted || ++own->barren >= BARREN) {
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
        loop_add_timer(w->loop, w->told_ns + TICK_S, workers_on_tick, w);
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
        server_end(&w->own.server, LEAVE_MS);
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
