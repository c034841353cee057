/* buf.h: bytes with a ceiling, so that a hostile peer costs us at most `limit`.
 * An add that does not fit changes nothing. Inner NULs happen: trust `len`;
 * `data` is NULL while nothing was added, and NUL-terminated afterwards. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"

#include <stddef.h>

#define BUF_UNLIMITED ((size_t)1 << 40)

struct buf {
    char *data;
    size_t len, cap, limit;
};

void buf_init(struct buf *b, size_t limit); /* cannot fail, allocates nothing */
void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* empties, keeps the memory */
int buf_add(struct buf *b, const void *p, size_t n, struct err *e);
/* For text of our own making: a limit reached here is a BUG. */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The text so far; "" while empty. Borrowed until the next add. */
const char *buf_str(const struct buf *b);
char *buf_take(struct buf *b, size_t *len); /* the caller frees the result */

#endif
