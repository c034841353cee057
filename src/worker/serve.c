/* serve.c: one connection to the owner of the jobs.
 *
 * A job belongs to a connection: its id is a lease, which ends with it. A worker
 * that loses the connection therefore drops all its jobs; others have them by then,
 * and the owner accepts no answer under an expired lease, so going on would be work
 * for nothing, and would keep the devices from the jobs that come next. Beats tell
 * both ends of silence, because a host that is gone sends no end of stream. */
#include "worker/serve.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/tick.h"
#include "io/frame.h"
#include "io/link.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEAT_NS    1000000000LL
#define SILENCE_NS 20000000000LL /* of an owner who has not said otherwise */
#define CONNECT_MS 10000
#define AGAIN_NS   1000000000LL /* between tries to connect */
#define AHEAD      1            /* jobs to hold besides those that run */

struct session {
    struct loop *loop;
    struct host *host;
    struct link link;
    uint64_t fd_id, beat_id;
    unsigned interest;
    uint64_t memory;
    const struct host_opts *opts;
    int64_t heard_ns, silence_ns;
    bool ready;   /* the judge is */
    bool joined;  /* this owner knows it */
    bool leaving; /* bye was said, on either side */
    enum serve_end end;
    struct err why; /* it was lost or refused */
};

static void update(struct session *s)
{
    unsigned want =
        LOOP_READ | (peer_has_output(&s->link.peer) ? LOOP_WRITE : 0);
    struct err e = ERR_INIT;

    if (want != s->interest)
        loop_set_interest(s->loop, s->fd_id, want, &e);
    s->interest = want;
    if (s->leaving && (!s->host || host_pending(s->host) == 0) &&
        !peer_has_output(&s->link.peer))
        loop_stop(s->loop);
}

static void serve_give_up(struct session *s)
{
    s->end = s->link.state == LINK_OPEN || s->why.kind == ERR_SYSTEM
                 ? SERVE_LOST
                 : SERVE_REFUSED;
    loop_stop(s->loop);
}

static void serve_flush(struct session *s)
{
    if (peer_flush(&s->link.peer, &s->why) < 0)
        serve_give_up(s);
    else
        update(s);
}

/* ---- to the owner ---- */

/* What an owner elsewhere must know before it sends jobs. */
static void introduce(struct session *s)
{
    char host[200] = "host", text[600];
    const char *task = secure_getenv("SLURM_ARRAY_TASK_ID");

    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text),
             "name %s/%ld%s%.20s\ndevice %s\nslots %lld\nmemory %llu\n", host,
             (long)getpid(), task ? "/" : "", task ? task : "", s->opts->device,
             (long long)s->opts->children + AHEAD,
             (unsigned long long)s->memory);
    link_say(&s->link, "join", "-", text);
}

/* Once to each owner, when the judge is ready and the owner is known. */
static void serve_join(struct session *s)
{
    if (!s->link.secured || !s->ready || s->joined ||
        s->link.state != LINK_OPEN)
        return;
    s->joined = true;
    introduce(s);
}

static void serve_on_out(const struct frame *f, void *arg)
{
    struct session *s = arg;

    s->ready = s->ready || strcmp(f->type, "ready") == 0;
    if (!s->fd_id || s->link.state != LINK_OPEN)
        return;
    serve_join(s);
    if (!s->link.secured || strcmp(f->type, "ready") != 0)
        link_send(&s->link, f);
    if (strcmp(f->type, "unfit") == 0) {
        s->leaving = true;
        s->end = SERVE_UNFIT;
    }
    serve_flush(s);
}

static void on_beat(void *arg)
{
    struct session *s = arg;
    int64_t now = tick_now_ns();

    s->beat_id = loop_add_timer(s->loop, now + BEAT_NS, on_beat, s);
    if (now - s->heard_ns > s->silence_ns) {
        err_set(&s->why, ERR_SYSTEM, "no sign of life");
        serve_give_up(s);
    } else if (s->link.state == LINK_OPEN) {
        link_say(&s->link, "beat", "-", "");
        serve_flush(s);
    }
}

/* ---- from the owner ---- */

static void serve_on_frame(struct session *s, const struct frame *f)
{
    if (strcmp(f->type, "job") == 0)
        host_job(s->host, f);
    else if (strcmp(f->type, "cancel") == 0)
        host_cancel(s->host, f->id);
    else if (strcmp(f->type, "beat") == 0 && f->deadline_ms > 0)
        s->silence_ns = f->deadline_ms * 1000000;
    else if (strcmp(f->type, "bye") == 0)
        s->leaving = true;
}

/* The judge takes seconds to start, so it is started once the owner has shown who
 * it is. */
static int open_host(struct session *s)
{
    if (s->host || s->link.state != LINK_OPEN)
        return 0;
    s->host = host_new(s->loop, s->opts, serve_on_out, s, &s->why);
    return s->host ? 0 : -1;
}

static void serve_on_ready(int fd, unsigned events, void *arg)
{
    struct session *s = arg;
    struct frame f;
    int got = 1;

    (void)fd;
    if ((events & LOOP_WRITE) && peer_flush(&s->link.peer, &s->why) < 0)
        got = -1;
    if (got > 0 && (events & LOOP_READ) &&
        peer_fill(&s->link.peer, &s->why) < 0)
        got = -1;
    while (got > 0 && (got = link_next(&s->link, &f, &s->why)) > 0) {
        s->heard_ns = tick_now_ns();
        if (open_host(s) == 0)
            serve_on_frame(s, &f);
    }
    if (got < 0 || open_host(s) < 0) {
        serve_give_up(s);
    } else {
        serve_join(s);
        serve_flush(s);
    }
}

bool serve_is_owned(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int serve_refuse(int fd, const char *why)
{
    struct frame f = {.type = "unfit", .id = "-", .payload = why};
    struct err e = ERR_INIT;

    f.len = strlen(why);
    return serve_is_owned(fd) ? frame_write(fd, &f, &e) : -1;
}

/* ---- a session ---- */

/* The link is open or about to be. The host stays. */
static int serve_host(struct session *s, struct err *e)
{
    int rc = -1;

    s->interest = LOOP_READ;
    s->heard_ns = tick_now_ns();
    s->silence_ns = SILENCE_NS;
    s->joined = false;
    s->end = SERVE_BYE;
    s->why = (struct err)ERR_INIT;
    s->fd_id =
        loop_add_fd(s->loop, s->link.peer.fd, LOOP_READ, serve_on_ready, s, e);
    if (!s->fd_id)
        goto out;
    if (open_host(s) < 0) {
        *e = s->why;
        goto out;
    }
    if (s->link.secured) {
        serve_flush(s);
        s->beat_id = loop_add_timer(s->loop, s->heard_ns + BEAT_NS, on_beat, s);
    }
    loop_run(s->loop);
    rc = 0;
out:
    /* Nobody is there to listen to; what is closed would wake the loop for ever
     * while children end. */
    loop_remove(s->loop, s->fd_id);
    loop_remove(s->loop, s->beat_id);
    s->fd_id = 0;
    return rc;
}

static void serve_release(struct session *s)
{
    if (s->host)
        host_free(s->host);
    link_close(&s->link);
}

int serve_run(struct loop *l, const struct host_opts *o, int fd, struct err *e)
{
    struct session s = {.loop = l, .opts = o};
    int rc;

    /* The owner takes its end for ours: that must be the process's. */
    fd = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
    if (fd < 0)
        return err_sys(e, "descriptor 3, the owner's socket");
    link_plain(&s.link, fd);
    rc = serve_host(&s, e);
    serve_release(&s);
    return rc;
}

/* ---- an owner elsewhere ---- */

static void serve_on_again(void *arg)
{
    loop_stop(arg);
}

/* Tries until somebody listens there. What the host does goes on meanwhile. */
static int reach(struct session *s, const struct serve_opts *o, struct err *e)
{
    int64_t until = tick_now_ns() + o->retry_s * 1000000000LL;

    for (;;) {
        int fd = tcp_connect(o->address, CONNECT_MS, e);
        uint64_t timer;

        if (fd >= 0 || e->kind == ERR_USAGE || tick_now_ns() >= until)
            return fd;
        timer = loop_add_timer(s->loop, tick_now_ns() + AGAIN_NS,
                               serve_on_again, s->loop);
        loop_run(s->loop);
        loop_remove(s->loop, timer);
        if (*o->stopped)
            return err_set(e, ERR_INTERRUPT, "stopped");
    }
}

/* One connection: 0, and s->end says how it ended. */
static int serve_once(struct session *s, const struct serve_opts *o,
                      struct err *e)
{
    int fd = reach(s, o, e);
    int rc;

    if (fd < 0)
        return -1;
    rc = link_connect(&s->link, fd, o->secret, e);
    if (rc == 0)
        rc = serve_host(s, e);
    if (rc == 0 && s->end == SERVE_REFUSED)
        rc = err_set(e, ERR_INPUT, "%s: %s", o->address, s->why.text);
    if (rc == 0 && s->end == SERVE_LOST && s->host) {
        log_warn("%s: %s; %zu jobs dropped", o->address, s->why.text,
                 host_pending(s->host));
        host_cancel_all(s->host);
    }
    link_close(&s->link);
    return rc;
}

/* An owner that lets nobody in for long is not asked all the time. */
static void pause_from(struct session *s, int64_t began_ns)
{
    uint64_t timer;

    if (tick_now_ns() - began_ns >= AGAIN_NS)
        return;
    timer =
        loop_add_timer(s->loop, began_ns + AGAIN_NS, serve_on_again, s->loop);
    loop_run(s->loop);
    loop_remove(s->loop, timer);
}

int serve_connect(struct loop *l, const struct host_opts *o,
                  const struct serve_opts *opts, struct err *e)
{
    struct session s = {.loop = l, .opts = o, .memory = opts->memory};
    int64_t began_ns;
    int rc;

    do {
        began_ns = tick_now_ns();
        rc = serve_once(&s, opts, e);
        if (rc == 0 && s.end == SERVE_LOST && !*opts->stopped)
            pause_from(&s, began_ns);
    } while (rc == 0 && s.end == SERVE_LOST && !*opts->stopped);
    serve_release(&s);
    return rc < 0 ? -1 : s.end == SERVE_UNFIT ? 4 : 0;
}

/* ---- a file of jobs ---- */

#define MAX_FILE ((size_t)4 << 30)

struct run {
    struct loop *loop;
    struct host *host;
    struct buf text; /* the jobs file */
    size_t at;       /* how far it has been given */
    struct map done; /* ids that have an answer */
    size_t total, answered, infra;
    size_t window; /* jobs at the host at once */
    int out;
    const char *path; /* of that */
    struct err e;
};

static int on_old(const struct frame *f, void *arg, struct err *e)
{
    struct run *r = arg;

    (void)e;
    if (strcmp(f->type, "answer") == 0)
        map_set(&r->done, str_of(f->id), r);
    return 0;
}

/* Counts what is to do, so that a broken jobs file is refused before it runs. */
static int count_jobs(struct run *r, const char *path, struct err *e)
{
    struct frame f;
    long n = 1;

    for (size_t at = 0; at < r->text.len; at += (size_t)n) {
        n = frame_parse(r->text.data + at, r->text.len - at, &f, e);
        if (n < 0)
            return err_wrap(e, "%s: at byte %zu", path, at);
        if (n == 0)
            return err_set(e, ERR_INPUT, "%s: cut off at byte %zu", path, at);
        if (strcmp(f.type, "job") == 0 && !map_get(&r->done, str_of(f.id)))
            r->total++;
    }
    return 0;
}

static void job_lines_feed(struct run *r)
{
    struct err e = ERR_INIT;
    struct frame f;

    while (r->at < r->text.len && host_pending(r->host) < r->window) {
        r->at += (size_t)frame_parse(r->text.data + r->at, r->text.len - r->at,
                                     &f, &e);
        if (strcmp(f.type, "job") == 0 && !map_get(&r->done, str_of(f.id)))
            host_job(r->host, &f);
    }
    if (r->at == r->text.len && host_pending(r->host) == 0)
        loop_stop(r->loop);
}

static void feed_later(void *arg)
{
    job_lines_feed(arg);
}

static void job_lines_on_out(const struct frame *f, void *arg)
{
    struct run *r = arg;

    if (r->e.kind != ERR_NONE)
        return; /* behind a torn frame nothing is written */
    if (strcmp(f->type, "note") == 0) {
        log_info("%.*s", (int)f->len, f->payload);
        return;
    }
    if (strcmp(f->type, "unfit") == 0) {
        err_set(&r->e, ERR_SYSTEM, "%.*s", (int)f->len, f->payload);
        loop_stop(r->loop);
        return;
    }
    if (frame_write(r->out, f, &r->e) < 0) {
        err_wrap(&r->e, "%s", r->path);
        loop_stop(r->loop);
    }
    if (strcmp(f->type, "ready") == 0)
        return;
    r->answered++;
    if (strcmp(f->type, "infra") == 0) {
        r->infra++;
        log_warn("%.12s: no answer: %.*s", f->id, (int)f->len, f->payload);
    }
    if (r->answered % 20 == 0 || r->answered == r->total)
        log_info("%zu of %zu done", r->answered, r->total);
    loop_defer(r->loop, feed_later, r);
}

static int interrupted(const struct run *r)
{
    log_info("stopped: %zu of %zu done; run the same command to "
             "continue",
             r->answered, r->total);
    return 130;
}

int jobs_run(struct loop *l, const struct host_opts *o, const char *jobs,
             const char *out, struct err *e)
{
    struct run r = {.loop = l, .out = -1, .path = out, .e = ERR_INIT};
    int rc = -1;

    r.window = (size_t)o->children * 4;
    buf_init(&r.text, MAX_FILE);
    if (fs_read(jobs, &r.text, e) < 0)
        goto done;
    r.out = frame_file_open(out, on_old, &r, e);
    if (r.out < 0 || count_jobs(&r, jobs, e) < 0)
        goto done;
    log_info("%zu jobs, %zu already answered", r.total + r.done.len,
             r.done.len);
    rc = 0;
    if (r.total == 0)
        goto done;
    rc = -1;
    r.host = host_new(l, o, job_lines_on_out, &r, e);
    if (!r.host)
        goto done;
    job_lines_feed(&r);
    loop_run(l);
    host_free(r.host);
    if (r.e.kind != ERR_NONE)
        *e = r.e;
    else if (r.answered < r.total)
        rc = interrupted(&r);
    else
        rc = r.infra ? 4 : 0;
done:
    if (r.out >= 0)
        close(r.out);
    map_release(&r.done);
    buf_release(&r.text);
    return rc;
}
