/* talk.c: requests and answers on a socket. */
#include "runner/talk.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "requests and answers are little-endian, as they lie in memory"
#endif
_Static_assert(sizeof(struct answer) == 2088, "the answer's layout is fixed");

static void take_fds(struct request *r, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (r->fds < TALK_FDS)
                r->fd[r->fds++] = fd;
            else
                close(fd);
        }
    }
}

/* Returns 1 when complete, 0 at the end of input before the first byte,
 * otherwise -1. */
static int receive(int sock, void *out, size_t bytes, struct request *r)
{
    size_t got = 0;

    while (got < bytes) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(r->fd))];
        struct iovec v = {(char *)out + got, bytes - got};
        struct msghdr m = {.msg_iov = &v,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 && got == 0 ? 0 : -1;
        take_fds(r, &m);
        got += (size_t)n;
    }
    return 1;
}

int talk_receive(int sock, struct request *r)
{
    uint32_t bytes;
    int rc;

    memset(r, 0, sizeof(*r));
    rc = receive(sock, &bytes, sizeof(bytes), r);
    if (rc <= 0)
        return rc;
    if (!bytes || bytes % 8 || bytes > sizeof(r->word))
        return -1;
    r->words = bytes / 8;
    return receive(sock, r->word, bytes, r) == 1 ? 1 : -1;
}

void talk_close_fds(struct request *r)
{
    while (r->fds)
        close(r->fd[--r->fds]);
}

int talk_send(int sock, const struct answer *a)
{
    char bytes[sizeof(uint32_t) + sizeof(*a)];
    uint32_t n = sizeof(*a);
    size_t sent = 0;

    memcpy(bytes, &n, sizeof(n));
    memcpy(bytes + sizeof(n), a, sizeof(*a));
    while (sent < sizeof(bytes)) {
        ssize_t k =
            send(sock, bytes + sent, sizeof(bytes) - sent, MSG_NOSIGNAL);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        sent += (size_t)k;
    }
    return 0;
}
