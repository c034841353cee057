/* tcp.h: listening and connecting. Addresses are HOST:PORT; an IPv6 address is in
 * brackets. Connections send at once (TCP_NODELAY). */
#ifndef IO_TCP_H
#define IO_TCP_H

#include "base/err.h"

#include <stddef.h>

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

#endif
