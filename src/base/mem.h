/* mem.h: allocation that cannot fail: running out of memory ends the program,
 * since no caller could do better. BUG() is for broken invariants. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t n);
/* Room for `count` elements of `size` bytes; a product that overflows is a BUG. */
void *xreallocarray(void *p, size_t count, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Grows the array `p` (capacity `*cap`) so that index `len` exists. */
void *xgrow(void *p, size_t *cap, size_t len, size_t size);

_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

#endif
