/* link.h: frames on a connection that anybody may have opened. Both ends know a
 * secret. Each first proves this to the other, with random numbers that are new
 * for every connection. After that every frame carries a MAC over its contents
 * and its place in the stream. So nobody without the secret can send, change,
 * drop or repeat a frame, here or on another connection. Nothing is encrypted
 * (docs/SCALE.md).
 *
 * Without a secret a link is a plain peer (io/frame.h): for a socketpair, which
 * nobody else can reach. */
#ifndef IO_LINK_H
#define IO_LINK_H

#include "base/err.h"
#include "base/mac.h"
#include "io/frame.h"

#include <stddef.h>

/* ---- listening and connecting. Addresses are HOST:PORT; an IPv6 address is in
 * brackets. Connections send at once (TCP_NODELAY). */

#define TCP_ADDRESS 300 /* bytes of an address as text */

/* Splits HOST:PORT. Brackets are not part of the host; the port has only digits. */
int tcp_split(const char *address, char host[TCP_ADDRESS], const char **port,
              struct err *e);
/* Port 0: any free one. `bound` is what others can connect to: the host as it was
 * given (this host's name for 0.0.0.0 and [::]), and the port. Returns the descriptor, which does not block. */
int tcp_listen(const char *address, char bound[TCP_ADDRESS], struct err *e);
/* The next connection, or -1: none now. `from` is the address of the other end. */
int tcp_accept(int listening, char from[TCP_ADDRESS]);
/* Waits until it is connected, at most `timeout_ms` for each address of the host. */
int tcp_connect(const char *address, int timeout_ms, struct err *e);

/* ---- the file with the secret that a run shares with its workers. Only its
 * owner may read it; it is never on a command line. */

#define KEY_TEXT 65 /* 64 hexadecimal digits and the NUL */

/* Reads it. A file that others may read or write is refused. */
int key_read(const char *path, char out[KEY_TEXT], struct err *e);
/* Reads it, or makes a new one if there is none. */
int key_make(const char *path, char out[KEY_TEXT], struct err *e);

enum link_state {
    LINK_HELLO, /* waits for the other's number */
    LINK_PROOF, /* waits for the other's proof */
    LINK_OPEN
};

struct link {
    struct peer peer;
    enum link_state state;
    bool secured, accepting;
    char secret[65], numbers[129]; /* the caller's number, then the other's */
    struct mac_key *in, *out;      /* once it is open and secured */
    uint64_t got, sent;            /* frames so far */
};

/* Takes the descriptor. */
void link_plain(struct link *k, int fd);
/* The one that was connected to says nothing until the other has begun. `secret`:
 * 64 hexadecimal digits. */
void link_accept(struct link *k, int fd, const char *secret);
int link_connect(struct link *k, int fd, const char *secret, struct err *e);
void link_close(struct link *k);

/* As peer_next(), but only frames that the other end has really sent; the
 * handshake is done on the way. After -1 the link is of no more use. */
int link_next(struct link *k, struct frame *f, struct err *e);
/* Only on a link that is open. */
void link_send(struct link *k, const struct frame *f);
void link_say(struct link *k, const char *type, const char *id,
              const char *text);

#endif
