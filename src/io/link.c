/* link.c: sockets, the secret, the handshake, and a MAC on every frame.
 *
 * A worker may be on another host, and whoever reaches the port could otherwise
 * hand out verdicts, or be handed candidates to run. TLS would need certificates
 * on both sides and a library that the worker, which has libc alone, lacks; what
 * is sent is no secret. So both ends prove that they know the run's secret, and
 * each frame has a MAC under a key that this connection alone has: one that was
 * recorded elsewhere, or comes out of order, is refused. */
#include "io/link.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/* ---- a secret in a file ---- */

int key_read(const char *path, char out[KEY_TEXT], struct err *e)
{
    struct stat st;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return err_sys(e, "%s", path);
    if (fstat(fd, &st) < 0 || st.st_mode & 077 || st.st_uid != geteuid())
        err_set(e, ERR_INPUT,
                "%s: other users can read this secret, or you do not own it; "
                "run 'chmod 600' if nobody has read it yet",
                path);
    else
        n = read(fd, out, KEY_TEXT - 1);
    close(fd);
    if (n < 0)
        return e->kind ? -1 : err_sys(e, "%s", path);
    out[n] = '\0';
    if (strspn(out, "0123456789abcdef") != KEY_TEXT - 1)
        return err_set(e, ERR_INPUT,
                       "%s: not a secret of 64 hexadecimal digits", path);
    return 0;
}

int key_make(const char *path, char out[KEY_TEXT], struct err *e)
{
    unsigned char raw[(KEY_TEXT - 1) / 2];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = -1;

    if (fd < 0 && errno == EEXIST)
        return key_read(path, out, e);
    if (fd < 0)
        return err_sys(e, "%s", path);
    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw)) {
        err_sys(e, "getrandom");
    } else {
        for (size_t i = 0; i < sizeof(raw); i++)
            snprintf(out + 2 * i, 3, "%02x", raw[i]);
        rc = fs_write_all(fd, out, KEY_TEXT - 1, e);
        if (rc == 0 && fsync(fd) < 0)
            rc = err_sys(e, "%s", path);
    }
    close(fd);
    if (rc < 0)
        unlink(path);
    return rc;
}

#define NUMBER    64  /* hexadecimal digits of a number or a proof */
#define EARLY_MAX 512 /* bytes of one frame before the proof */

/* What each end says must not serve as what the other says. */
static const char server_proof[] = "monkeys proof of the server\n";
static const char worker_proof[] = "monkeys proof of the worker\n";
static const char server_key[] = "monkeys frames of the server\n";
static const char worker_key[] = "monkeys frames of the worker\n";

static void to_hex(const unsigned char *p, char out[NUMBER + 1])
{
    for (size_t i = 0; i < MAC_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", p[i]);
}

static int new_number(char out[NUMBER + 1], struct err *e)
{
    unsigned char raw[MAC_BYTES];

    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        return err_sys(e, "getrandom");
    to_hex(raw, out);
    return 0;
}

/* HMAC(secret, label and both numbers). */
static void derive(const struct link *k, const char *label,
                   unsigned char out[MAC_BYTES])
{
    const struct mac_part parts[] = {{label, strlen(label)},
                                     {k->numbers, strlen(k->numbers)}};

    struct mac_key *key = mac_key_new(k->secret, strlen(k->secret));

    mac_of(key, parts, 2, out);
    mac_key_free(key);
}

static struct mac_key *link_key_of(const struct link *k, const char *label)
{
    unsigned char raw[MAC_BYTES];
    struct mac_key *key;

    derive(k, label, raw);
    key = mac_key_new(raw, sizeof(raw));
    explicit_bzero(raw, sizeof(raw));
    return key;
}

static void set_keys(struct link *k)
{
    k->in = link_key_of(k, k->accepting ? worker_key : server_key);
    k->out = link_key_of(k, k->accepting ? server_key : worker_key);
    k->state = LINK_OPEN;
}

static void link_start(struct link *k, int fd, const char *secret)
{
    *k = (struct link){.secured = true};
    peer_init(&k->peer, fd);
    snprintf(k->secret, sizeof(k->secret), "%s", secret);
}

void link_plain(struct link *k, int fd)
{
    *k = (struct link){.state = LINK_OPEN};
    peer_init(&k->peer, fd);
}

void link_accept(struct link *k, int fd, const char *secret)
{
    link_start(k, fd, secret);
    k->accepting = true;
}

static void say_early(struct link *k, const char *type, const char *text)
{
    struct frame f = {.id = "-", .payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    peer_send(&k->peer, &f, NULL, 0);
}

int link_connect(struct link *k, int fd, const char *secret, struct err *e)
{
    link_start(k, fd, secret);
    if (new_number(k->numbers, e) < 0)
        return -1;
    say_early(k, "hello", k->numbers);
    return 0;
}

void link_close(struct link *k)
{
    peer_close(&k->peer);
    explicit_bzero(k->secret, sizeof(k->secret));
    mac_key_free(k->in);
    mac_key_free(k->out);
    k->in = k->out = NULL;
}

/* ---- the handshake ---- */

static bool link_is_number(const char *p, size_t n)
{
    return n == NUMBER && strspn(p, "0123456789abcdef") >= n;
}

static bool is_proof(const struct link *k, const char *label, const char *p,
                     size_t n)
{
    unsigned char want[MAC_BYTES], got[MAC_BYTES] = {0};
    char text[NUMBER + 1];

    if (!link_is_number(p, n))
        return false;
    derive(k, label, want);
    snprintf(text, sizeof(text), "%.*s", NUMBER, p);
    for (size_t i = 0; i < MAC_BYTES; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};

        got[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return mac_equal(want, got);
}

static int not_it(struct err *e)
{
    return err_set(e, ERR_INPUT, "the other end does not know the secret");
}

/* The worker's number has come: ours, and the proof. */
static int greet(struct link *k, const struct frame *f, struct err *e)
{
    char text[2 * NUMBER + 1];
    unsigned char proof[MAC_BYTES];

    if (strcmp(f->type, "hello") != 0 || !link_is_number(f->payload, f->len))
        return err_set(e, ERR_INPUT, "it does not begin with a hello");
    memcpy(k->numbers, f->payload, NUMBER);
    if (new_number(k->numbers + NUMBER, e) < 0)
        return -1;
    derive(k, server_proof, proof);
    memcpy(text, k->numbers + NUMBER, NUMBER);
    to_hex(proof, text + NUMBER);
    say_early(k, "challenge", text);
    k->state = LINK_PROOF;
    return 0;
}

/* The server has proved that it knows the secret, and asks for ours. */
static int link_answer(struct link *k, const struct frame *f, struct err *e)
{
    unsigned char proof[MAC_BYTES];
    char text[NUMBER + 1];

    if (strcmp(f->type, "challenge") != 0 || f->len != (size_t)2 * NUMBER ||
        !link_is_number(f->payload, NUMBER))
        return err_set(e, ERR_INPUT, "the other end is not 'monkeys'");
    memcpy(k->numbers + NUMBER, f->payload, NUMBER);
    if (!is_proof(k, server_proof, f->payload + NUMBER, NUMBER))
        return not_it(e);
    derive(k, worker_proof, proof);
    to_hex(proof, text);
    say_early(k, "proof", text);
    set_keys(k);
    return 0;
}

static int take_proof(struct link *k, const struct frame *f, struct err *e)
{
    if (strcmp(f->type, "proof") != 0 ||
        !is_proof(k, worker_proof, f->payload, f->len))
        return not_it(e);
    set_keys(k);
    return 0;
}

static int shake(struct link *k, const struct frame *f, struct err *e)
{
    if (!k->accepting)
        return link_answer(k, f, e);
    return k->state == LINK_HELLO ? greet(k, f, e) : take_proof(k, f, e);
}

/* ---- frames ---- */

static void seal(struct mac_key *key, uint64_t place, const struct frame *f,
                 unsigned char out[MAC_BYTES])
{
    unsigned char number[8];
    char head[300];
    const struct mac_part parts[] = {
        {number, sizeof(number)},
        {head, frame_header(f, head, sizeof(head))},
        {f->payload, f->len}};

    for (size_t i = 0; i < sizeof(number); i++)
        number[i] = (unsigned char)(place >> 8 * i);
    mac_of(key, parts, 3, out);
}

/* Cuts the MAC off the payload, if it is right. */
static int link_check(struct link *k, struct frame *f, struct err *e)
{
    unsigned char want[MAC_BYTES];

    if (f->len < MAC_BYTES)
        return err_set(e, ERR_INPUT, "a frame without a MAC");
    f->len -= MAC_BYTES;
    seal(k->in, k->got, f, want);
    if (!mac_equal(want, (const unsigned char *)f->payload + f->len))
        return err_set(e, ERR_INPUT, "a frame with a wrong MAC");
    k->got++;
    return 1;
}

int link_next(struct link *k, struct frame *f, struct err *e)
{
    int got;

    for (;;) {
        bool open = k->state == LINK_OPEN;

        if (!open && k->peer.in.len - k->peer.used > EARLY_MAX)
            return err_set(e, ERR_INPUT, "too much before the handshake");
        got = peer_next(&k->peer, f, e);
        if (got <= 0)
            return got;
        if (open)
            return k->secured ? link_check(k, f, e) : 1;
        if (shake(k, f, e) < 0)
            return -1;
    }
}

void link_send(struct link *k, const struct frame *f)
{
    struct frame sealed = *f;
    char *payload;

    if (k->state != LINK_OPEN)
        BUG("a frame before the handshake");
    if (!k->secured) {
        peer_send(&k->peer, f, NULL, 0);
        return;
    }
    payload = xmalloc(f->len + MAC_BYTES);
    if (f->len)
        memcpy(payload, f->payload, f->len);
    seal(k->out, k->sent++, f, (unsigned char *)payload + f->len);
    sealed.payload = payload;
    sealed.len = f->len + MAC_BYTES;
    peer_send(&k->peer, &sealed, NULL, 0);
    free(payload);
}

void link_say(struct link *k, const char *type, const char *id,
              const char *text)
{
    struct frame f = {.payload = text, .len = strlen(text)};

    snprintf(f.type, sizeof(f.type), "%s", type);
    snprintf(f.id, sizeof(f.id), "%s", id);
    link_send(k, &f);
}
