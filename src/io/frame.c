/* frame.c: frames in and out of a non-blocking socket, and in files.
 *
 * What is at the other end may be hostile or broken: a judge that a candidate has
 * damaged, another host, a file cut short. So lengths are read before room is made
 * for them and have a limit, nothing blocks, and there is no resynchronising: after
 * bytes that are not a frame nobody can know where the next one begins, so the
 * connection ends. Descriptors are kept until their frame is read; if they were
 * closed or matched by guessing, a child's socket would go to another job. */
#include "io/frame.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_MAX 300

struct frame_out {
    struct frame_out *next;
    int fds[FRAME_FDS];
    size_t fd_count, len, sent;
    char data[];
};

void peer_init(struct peer *p, int fd)
{
    *p = (struct peer){.fd = fd};
    buf_init(&p->in, FRAME_PAYLOAD + ((size_t)1 << 21));
    p->last = &p->first;
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void frame_drop_output(struct frame_out *o)
{
    for (size_t i = 0; i < o->fd_count; i++)
        close(o->fds[i]);
    free(o);
}

void peer_close(struct peer *p)
{
    struct frame_out *next;

    for (struct frame_out *o = p->first; o; o = next) {
        next = o->next;
        frame_drop_output(o);
    }
    for (size_t i = 0; i < p->fd_count; i++)
        close(p->fds[i]);
    if (p->fd >= 0)
        close(p->fd);
    buf_release(&p->in);
    *p = (struct peer){.fd = -1};
    p->last = &p->first;
}

/* ---- in ---- */

static void keep_fds(struct peer *p, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (p->fd_count < sizeof(p->fds) / sizeof(p->fds[0]))
                p->fds[p->fd_count++] = fd;
            else
                close(fd);
        }
    }
}

int peer_fill(struct peer *p, struct err *e)
{
    char data[65536];
    union {
        char bytes[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec io = {data, sizeof(data)};
    struct msghdr m = {.msg_iov = &io,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(p->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return err_sys(e, "receive");
    if (n == 0)
        return err_set(e, ERR_SYSTEM, "the connection ended");
    keep_fds(p, &m);
    if (p->used == p->in.len) {
        buf_reset(&p->in);
        p->used = 0;
    }
    return buf_add(&p->in, data, (size_t)n, e);
}

static bool frame_is_id(struct str s)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789._:/-";

    for (size_t i = 0; i < s.n; i++)
        if (!memchr(allowed, s.p[i], sizeof(allowed) - 1))
            return false;
    return s.n >= 1 && s.n <= FRAME_ID_MAX;
}

static bool is_type(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 'a' || s.p[i] > 'z')
            return false;
    return s.n >= 1 && s.n < 16;
}

long frame_parse(const char *p, size_t n, struct frame *f, struct err *e)
{
    size_t look = n < HEADER_MAX ? n : HEADER_MAX;
    const char *end = n ? memchr(p, '\n', look) : NULL;
    struct str line, mark, type, id, deadline;
    int64_t bytes;
    size_t head;

    if (!end) {
        if (n >= HEADER_MAX)
            return err_set(e, ERR_INPUT, "a header line without an end");
        return 0;
    }
    head = (size_t)(end - p) + 1;
    line = (struct str){p, head - 1};
    if (!str_cut(&line, ' ', &mark) || !str_eq(mark, "monkeys/1") ||
        !str_cut(&line, ' ', &type) || !is_type(type) ||
        !str_cut(&line, ' ', &id) || !frame_is_id(id) ||
        !str_cut(&line, ' ', &deadline) ||
        !str_to_i64(deadline, 0, INT64_MAX / 2000000, &f->deadline_ms) ||
        !str_to_i64(line, 0, (int64_t)FRAME_PAYLOAD, &bytes))
        return err_set(e, ERR_INPUT, "not a frame: %.*s",
                       (int)(head - 1 < 60 ? head - 1 : 60), p);
    if (n - head < (size_t)bytes)
        return 0;
    memcpy(f->type, type.p,
           type.n); /* is_type() and frame_is_id() checked them */
    f->type[type.n] = '\0';
    memcpy(f->id, id.p, id.n);
    f->id[id.n] = '\0';
    f->payload = p + head;
    f->len = (size_t)bytes;
    return (long)(head + f->len);
}

int peer_next(struct peer *p, struct frame *f, struct err *e)
{
    long n = frame_parse(buf_str(&p->in) + p->used, p->in.len - p->used, f, e);

    if (n <= 0)
        return (int)n;
    p->used += (size_t)n;
    return 1;
}

int peer_take_fd(struct peer *p)
{
    int fd;

    if (p->fd_count == 0)
        return -1;
    fd = p->fds[0];
    memmove(p->fds, p->fds + 1, --p->fd_count * sizeof(p->fds[0]));
    return fd;
}

/* ---- out ---- */

size_t frame_header(const struct frame *f, char *out, size_t size)
{
    int n = snprintf(out, size, "monkeys/1 %s %s %lld %zu\n", f->type,
                     f->id[0] ? f->id : "-", (long long)f->deadline_ms, f->len);

    if (n < 0 || (size_t)n >= size)
        BUG("frame header of %d bytes", n);
    return (size_t)n;
}

void peer_send(struct peer *p, const struct frame *f, const int *fds,
               size_t fd_count)
{
    char head[HEADER_MAX];
    size_t n = frame_header(f, head, sizeof(head));
    struct frame_out *o = xmalloc(sizeof(*o) + n + f->len);

    if (fd_count > FRAME_FDS)
        BUG("%zu descriptors with a frame", fd_count);
    *o = (struct frame_out){.fd_count = fd_count, .len = n + f->len};
    for (size_t i = 0; i < fd_count; i++)
        o->fds[i] = fds[i];
    memcpy(o->data, head, n);
    if (f->len)
        memcpy(o->data + n, f->payload, f->len);
    if (p->fd < 0) {
        frame_drop_output(o);
        return;
    }
    *p->last = o;
    p->last = &o->next;
}

bool peer_has_output(const struct peer *p)
{
    return p->first != NULL;
}

/* Sends a part of the frame, with its descriptors if it is the first part. */
static ssize_t send_part(int fd, struct frame_out *o)
{
    union {
        char bytes[CMSG_SPACE(FRAME_FDS * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec io = {o->data + o->sent, o->len - o->sent};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};

    if (o->sent == 0 && o->fd_count) {
        struct cmsghdr *c;

        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(o->fd_count * sizeof(int));
        c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(o->fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), o->fds, o->fd_count * sizeof(int));
    }
    return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int peer_flush(struct peer *p, struct err *e)
{
    while (p->first) {
        struct frame_out *o = p->first;
        ssize_t n = send_part(p->fd, o);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n < 0)
            return err_sys(e, "send");
        o->sent += (size_t)n;
        if (o->sent < o->len)
            return 0;
        p->first = o->next;
        if (!p->first)
            p->last = &p->first;
        frame_drop_output(o);
    }
    return 0;
}

int frame_write(int fd, const struct frame *f, struct err *e)
{
    struct buf b = BUF_INIT;
    char head[300];
    int rc;

    buf_put(&b, head, frame_header(f, head, sizeof(head)));
    buf_put(&b, f->payload, f->len);
    rc = fs_write_all(fd, buf_str(&b), b.len, e);
    buf_release(&b);
    return rc;
}

/* ---- frames in a file ---- */

#define MAX_FILE ((size_t)4 << 30)

/* *whole is where the last whole frame ends, *torn whether anything follows. */
static int frame_file_read_all(const char *path, frame_file_fn *fn, void *arg,
                               size_t *whole, bool *torn, struct err *e)
{
    struct buf b = {.limit = MAX_FILE};
    struct frame f;
    long n = 1;
    int rc;

    *whole = 0;
    rc = fs_read(path, &b, e);
    while (rc == 0 && *whole < b.len) {
        n = frame_parse(b.data + *whole, b.len - *whole, &f, e);
        if (n <= 0)
            break;
        rc = fn(&f, arg, e);
        *whole += (size_t)n;
    }
    if (n < 0)
        rc = err_wrap(e, "%s: at byte %zu", path, *whole);
    *torn = *whole < b.len;
    buf_release(&b);
    return rc;
}

int frame_file_read(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e)
{
    size_t whole;
    bool torn;

    return fs_is_file(path)
               ? frame_file_read_all(path, fn, arg, &whole, &torn, e)
               : 0;
}

int frame_file_open(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    size_t whole;
    bool torn;
    int rc = -1;

    if (fd < 0)
        return err_sys(e, "%s", path);
    /* Some file systems do not support locks. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        err_set(e, ERR_INPUT, "%s: another process is writing to it", path);
    else if (frame_file_read_all(path, fn, arg, &whole, &torn, e) == 0 &&
             (rc = torn ? ftruncate(fd, (off_t)whole) : 0) < 0)
        err_sys(e, "%s: cut the torn end", path);
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}
