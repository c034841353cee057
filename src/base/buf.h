/* buf.h: a growing buffer with a limit, so that a hostile peer costs at most
 * `limit` bytes. An add that does not fit changes nothing. The bytes may include
 * NULs: use `len`. `data` is NULL until something is added, and NUL-terminated
 * afterwards. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stddef.h>

#define BUF_UNLIMITED ((size_t)1 << 40)
#define BUF_INIT               \
    {                          \
        .limit = BUF_UNLIMITED \
    }

struct buf {
    char *data;
    size_t len, cap, limit;
};

/* A local one: `= BUF_INIT`, or `= {.limit = N}`. Neither can fail or allocates. */
void buf_init(struct buf *b, size_t limit);
void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* empties, keeps the memory */
int buf_add(struct buf *b, const void *p, size_t n, struct err *e);
/* For our own text: reaching the limit is a BUG. */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The text so far; "" while empty. Borrowed until the next add. */
const char *buf_str(const struct buf *b);
struct str buf_view(const struct buf *b);
/* The text as a copy in an arena; releases the buffer. */
struct str buf_keep(struct buf *b, struct arena *a);
char *buf_take(struct buf *b, size_t *len); /* the caller frees the result */

#endif
