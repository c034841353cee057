/* arena.c: a chain of blocks; the newest one is filled. */
#include "base/arena.h"

#include "base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16384)

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(max_align_t) char data[];
};

void arena_init(struct arena *a)
{
    a->head = NULL;
}

void arena_release(struct arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;

        free(a->head);
        a->head = next;
    }
}

void arena_reset(struct arena *a)
{
    struct arena_block *keep = a->head;

    if (!keep)
        return;
    a->head = keep->next;
    arena_release(a);
    keep->next = NULL;
    keep->used = 0;
    a->head = keep;
}

void *arena_alloc(struct arena *a, size_t n)
{
    const size_t align = alignof(max_align_t);
    struct arena_block *b = a->head;
    void *p;

    if (n > SIZE_MAX / 2)
        BUG("arena_alloc of %zu bytes", n);
    n = (n + align - 1) & ~(align - 1);
    if (!b || b->size - b->used < n) {
        size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;

        b = xmalloc(sizeof(*b) + size);
        b->next = a->head;
        b->used = 0;
        b->size = size;
        a->head = b;
    }
    p = b->data + b->used;
    b->used += n;
    return memset(p, 0, n);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);

    memcpy(p, s, n);
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    char *p;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        BUG("arena_printf: bad format");
    p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
