/* frame.h: frames on a socket, both ways, never blocking.
 *
 * A frame is `monkeys/1 TYPE ID DEADLINE_MS BYTES\n` and BYTES of payload
 * (docs/PROTOCOL.md). File descriptors travel with a frame's first byte and are
 * kept in order of arrival until the reader of the frame takes them. Anything that
 * is not a frame ends the connection. */
#ifndef IO_FRAME_H
#define IO_FRAME_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_ID_MAX  200
#define FRAME_PAYLOAD ((size_t)64 << 20)
#define FRAME_FDS     2

struct frame {
    char type[16];
    char id[FRAME_ID_MAX + 1];
    int64_t deadline_ms;
    const char *payload; /* borrowed until the next read; not terminated */
    size_t len;
};

struct frame_out; /* a frame on its way out */

struct peer {
    int fd; /* -1: closed */
    struct buf in;
    size_t used; /* bytes of `in` that earlier frames took */
    int fds[16]; /* arrived, not yet taken */
    size_t fd_count;
    struct frame_out *first, **last;
};

void peer_init(struct peer *p, int fd); /* takes the descriptor */
void peer_close(struct peer *p);

/* Reads what has arrived. Returns -1 at the end of the stream or on an error. */
int peer_fill(struct peer *p, struct err *e);
/* The next complete frame: 1, 0 when more bytes are needed, -1 when the bytes are
 * not a frame. */
int peer_next(struct peer *p, struct frame *f, struct err *e);
int peer_take_fd(struct peer *p); /* -1 when none has arrived */

/* Queues a frame; `fds` (at most FRAME_FDS) are taken and closed once sent. */
void peer_send(struct peer *p, const struct frame *f, const int *fds,
               size_t fd_count);
bool peer_has_output(const struct peer *p);
/* Writes what the socket takes. 0, or -1 when the peer is gone. */
int peer_flush(struct peer *p, struct err *e);

/* One frame at the start of `p[0..n)`: its length, 0 when more bytes are needed,
 * -1 when the bytes are not a frame. */
long frame_parse(const char *p, size_t n, struct frame *f, struct err *e);
/* The header line of a frame, as text; returns its length. */
size_t frame_header(const struct frame *f, char *out, size_t size);
/* Writes one to a file, or to a socket that may block. */
int frame_write(int fd, const struct frame *f, struct err *e);

/* ---- a file of frames, as jobs and answers travel between hosts.
 *
 * One process appends to it; any number may read it at the same time. */

/* 0, or -1 to stop with an error. */
typedef int frame_file_fn(const struct frame *f, void *arg, struct err *e);

/* Calls `fn` for every complete frame. A missing file has none. */
int frame_file_read(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e);
/* Opens the file for appending, locked, and calls `fn` for each frame in it. An
 * incomplete last frame (a full disk, a crash) is removed. Returns a descriptor
 * for frame_write(), or -1. */
int frame_file_open(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e);

#endif
