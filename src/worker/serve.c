/* serve.c: one connection to the owner of the jobs. */
#include "worker/serve.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct session {
    struct loop *loop;
    struct host *host;
    struct peer peer;
    uint64_t fd_id;
    unsigned interest;
    bool leaving; /* bye was said, on either side */
};

static void update(struct session *s)
{
    unsigned want = LOOP_READ | (peer_has_output(&s->peer) ? LOOP_WRITE : 0);
    struct err e = ERR_INIT;

    if (want != s->interest)
        loop_set_interest(s->loop, s->fd_id, want, &e);
    s->interest = want;
    if (s->leaving && host_pending(s->host) == 0 && !peer_has_output(&s->peer))
        loop_stop(s->loop);
}

static void on_out(const struct frame *f, void *arg)
{
    struct session *s = arg;
    struct err e = ERR_INIT;

    if (!s->fd_id)
        return;
    peer_send(&s->peer, f, NULL, 0);
    if (strcmp(f->type, "unfit") == 0)
        s->leaving = true;
    if (peer_flush(&s->peer, &e) < 0)
        loop_stop(s->loop);
    else
        update(s);
}

static void on_frame(struct session *s, const struct frame *f)
{
    if (strcmp(f->type, "job") == 0)
        host_job(s->host, f);
    else if (strcmp(f->type, "cancel") == 0)
        host_cancel(s->host, f->id);
    else if (strcmp(f->type, "bye") == 0)
        s->leaving = true;
}

static void on_ready(int fd, unsigned events, void *arg)
{
    struct session *s = arg;
    struct err e = ERR_INIT;
    struct frame f;
    int got = 1;

    (void)fd;
    if ((events & LOOP_WRITE) && peer_flush(&s->peer, &e) < 0)
        got = -1;
    if (got > 0 && (events & LOOP_READ) && peer_fill(&s->peer, &e) < 0)
        got = -1;
    while (got > 0 && (got = peer_next(&s->peer, &f, &e)) > 0)
        on_frame(s, &f);
    if (got < 0)
        loop_stop(s->loop);
    else
        update(s);
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

int serve_run(struct loop *l, const struct host_opts *o, int fd, struct err *e)
{
    struct session s = {.loop = l, .interest = LOOP_READ};
    int rc = -1;

    /* The owner takes its end for ours: that must be the process's. */
    fd = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
    if (fd < 0)
        return err_sys(e, "descriptor 3, the owner's socket");
    peer_init(&s.peer, fd);
    s.fd_id = loop_add_fd(l, fd, LOOP_READ, on_ready, &s, e);
    if (!s.fd_id)
        goto out;
    s.host = host_new(l, o, on_out, &s, e);
    if (!s.host)
        goto out;
    loop_run(l);
    /* Nobody is there to listen to; what is closed would wake the loop for ever
     * while children end. */
    loop_remove(l, s.fd_id);
    s.fd_id = 0;
    host_free(s.host);
    rc = 0;
out:
    loop_remove(l, s.fd_id);
    peer_close(&s.peer);
    return rc;
}
