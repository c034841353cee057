/* mem.c: allocation that cannot fail. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "monkeys: BUG at %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

static void *checked(void *p, size_t n)
{
    if (!p && n) {
        fputs("monkeys: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *xmalloc(size_t n)
{
    return checked(malloc(n ? n : 1), 1);
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1), 1);
}

void *xrealloc(void *p, size_t n)
{
    return checked(realloc(p, n ? n : 1), 1);
}

void *xreallocarray(void *p, size_t count, size_t size)
{
    size_t n;

    if (__builtin_mul_overflow(count, size, &n))
        BUG("array of %zu x %zu bytes", count, size);
    return xrealloc(p, n);
}

char *xstrdup(const char *s)
{
    return checked(strdup(s), 1);
}

char *xstrndup(const char *s, size_t n)
{
    char *p = xmalloc(n + 1);

    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    char *p = NULL;

    va_start(ap, fmt);
    if (vasprintf(&p, fmt, ap) < 0)
        checked(NULL, 1);
    va_end(ap);
    return p;
}

void *xgrow(void *p, size_t *cap, size_t len, size_t size)
{
    size_t want = *cap;

    if (len < want)
        return p;
    while (want <= len)
        want = want ? want * 2 : 16;
    *cap = want;
    return xreallocarray(p, want, size);
}
