/* tcp.c: sockets for io/link.h. */
#include "io/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 512

int tcp_split(const char *address, char host[TCP_ADDRESS], const char **port,
              struct err *e)
{
    const char *colon = strrchr(address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;

    if (n == 0 || n >= TCP_ADDRESS || !colon[1] ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return err_set(e, ERR_USAGE,
                       "'%s' is not HOST:PORT, such as 127.0.0.1:9000",
                       address);
    if (address[0] == '[' && address[n - 1] == ']')
        snprintf(host, TCP_ADDRESS, "%.*s", (int)n - 2, address + 1);
    else
        snprintf(host, TCP_ADDRESS, "%.*s", (int)n, address);
    *port = colon + 1;
    return 0;
}

static struct addrinfo *resolve(const char *address, int flags, struct err *e)
{
    struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *found = NULL;
    char host[TCP_ADDRESS];
    const char *port = NULL;
    int rc;

    if (tcp_split(address, host, &port, e) < 0)
        return NULL;
    rc = getaddrinfo(host, port, &want, &found);
    if (rc == 0)
        return found;
    err_set(e, ERR_USAGE, "%s: %s", address, gai_strerror(rc));
    return NULL;
}

static void send_at_once(int fd)
{
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int bound_port(int fd)
{
    struct sockaddr_in6 at = {0}; /* the port of IPv4 has the same place */
    socklen_t n = sizeof(at);

    if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return 0;
    return ntohs(at.sin6_port);
}

/* What others can connect to: all addresses of this host are known by its name. */
static void name_it(const char *address, int port, char out[TCP_ADDRESS])
{
    size_t n = (size_t)(strrchr(address, ':') - address);
    char host[256] = "";
    bool every = strncmp(address, "0.0.0.0:", 8) == 0 ||
                 strncmp(address, "[::]:", 5) == 0;

    if (every && gethostname(host, sizeof(host) - 1) == 0)
        snprintf(out, TCP_ADDRESS, "%s:%d", host, port);
    else
        snprintf(out, TCP_ADDRESS, "%.*s:%d", (int)n, address, port);
}

int tcp_listen(const char *address, char bound[TCP_ADDRESS], struct err *e)
{
    struct addrinfo *a = resolve(address, AI_PASSIVE, e);
    const int on = 1;
    int fd = -1;

    if (!a)
        return -1;
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        err_sys(e, "listen on %s", address);
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(a);
    if (fd >= 0)
        name_it(address, bound_port(fd), bound);
    return fd;
}

int tcp_accept(int listening, char from[TCP_ADDRESS])
{
    struct sockaddr_storage at;
    socklen_t n = sizeof(at);
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    int fd = accept4(listening, (struct sockaddr *)&at, &n,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return -1;
    send_at_once(fd);
    getnameinfo((struct sockaddr *)&at, n, host, sizeof(host), port,
                sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(from, TCP_ADDRESS, "%.200s:%.20s", host, port);
    return fd;
}

/* 0, or -1 and errno. */
static int connect_within(int fd, const struct addrinfo *a, int timeout_ms)
{
    struct pollfd p = {fd, POLLOUT, 0};
    int wrong = 0;
    socklen_t n = sizeof(wrong);

    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return -1;
    if (poll(&p, 1, timeout_ms) == 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &wrong, &n) < 0)
        return -1;
    errno = wrong;
    return wrong ? -1 : 0;
}

int tcp_connect(const char *address, int timeout_ms, struct err *e)
{
    struct addrinfo *all = resolve(address, 0, e);
    int fd = -1;

    if (!all)
        return -1;
    for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd =
            socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect_within(fd, a, timeout_ms) == 0)
            break;
        err_sys(e, "connect to %s", address);
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(all);
    if (fd >= 0)
        send_at_once(fd);
    return fd;
}
