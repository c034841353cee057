/* arena.c: a chain of blocks; the newest one is filled. */
#include "base/arena.h"

#include "base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((size_t)2048) /* most arenas hold little */
#define BLOCK_BYTES ((size_t)65536)
#define KEEP_BYTES  ((size_t)8 << 20) /* over a reset */

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(max_align_t) char data[];
};

void arena_init(struct arena *a)
{
    a->head = NULL;
}

static struct arena_block *new_block(size_t size)
{
    struct arena_block *b = xmalloc(sizeof(*b) + size);

    b->next = NULL;
    b->used = 0;
    b->size = size;
    return b;
}

void arena_release(struct arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;

        free(a->head);
        a->head = next;
    }
}

/* Work that took several blocks gets one of that size the next time. */
void arena_reset(struct arena *a)
{
    size_t total = 0;

    for (struct arena_block *b = a->head; b; b = b->next)
        total += b->size;
    if (a->head && !a->head->next && total <= KEEP_BYTES) {
        a->head->used = 0;
        return;
    }
    arena_release(a);
    if (total)
        a->head = new_block(total < KEEP_BYTES ? total : KEEP_BYTES);
}

/* A block with room for n bytes becomes the newest. */
static struct arena_block *arena_add_block(struct arena *a, size_t n)
{
    size_t size = a->head ? a->head->size * 2 : FIRST_BYTES;
    struct arena_block *b;

    if (size > BLOCK_BYTES)
        size = BLOCK_BYTES;
    b = new_block(size < n ? n : size);
    b->next = a->head;
    a->head = b;
    return b;
}

void *arena_alloc_raw(struct arena *a, size_t n)
{
    const size_t align = alignof(max_align_t);
    struct arena_block *b = a->head;
    void *p;

    if (n > SIZE_MAX / 2)
        BUG("arena_alloc of %zu bytes", n);
    n = (n + align - 1) & ~(align - 1);
    if (!b || b->size - b->used < n)
        b = arena_add_block(a, n);
    p = b->data + b->used;
    b->used += n;
    return p;
}

void *arena_alloc(struct arena *a, size_t n)
{
    return memset(arena_alloc_raw(a, n), 0, n);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc_raw(a, n + 1);

    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

struct str arena_str(struct arena *a, struct str s)
{
    return (struct str){arena_strndup(a, s.n ? s.p : "", s.n), s.n};
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
    p = arena_alloc_raw(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
