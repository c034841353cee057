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
    a->head = a->spare = NULL;
}

static void free_chain(struct arena_block *b)
{
    while (b) {
        struct arena_block *next = b->next;

        free(b);
        b = next;
    }
}

void arena_release(struct arena *a)
{
    free_chain(a->head);
    free_chain(a->spare);
    arena_init(a);
}

void arena_reset(struct arena *a)
{
    struct arena_block *kept = a->spare, *next;
    size_t total = 0;

    for (struct arena_block *b = a->spare; b; b = b->next)
        total += b->size;
    for (struct arena_block *b = a->head; b; b = next) {
        next = b->next;
        total += b->size;
        if (total > KEEP_BYTES) {
            free(b);
            continue;
        }
        b->used = 0;
        b->next = kept;
        kept = b;
    }
    a->head = NULL;
    a->spare = kept;
}

/* A block with room for n bytes: a spare one, or a new one. */
static struct arena_block *new_block(struct arena *a, size_t n)
{
    size_t size = a->head ? a->head->size * 2 : FIRST_BYTES;
    struct arena_block *b;

    for (struct arena_block **at = &a->spare; *at; at = &(*at)->next)
        if ((*at)->size >= n) {
            b = *at;
            *at = b->next;
            return b;
        }
    if (size > BLOCK_BYTES)
        size = BLOCK_BYTES;
    if (size < n)
        size = n;
    b = xmalloc(sizeof(*b) + size);
    b->used = 0;
    b->size = size;
    return b;
}

/* Not zeroed. */
static void *take(struct arena *a, size_t n)
{
    const size_t align = alignof(max_align_t);
    struct arena_block *b = a->head;
    void *p;

    if (n > SIZE_MAX / 2)
        BUG("arena_alloc of %zu bytes", n);
    n = (n + align - 1) & ~(align - 1);
    if (!b || b->size - b->used < n) {
        b = new_block(a, n);
        b->next = a->head;
        a->head = b;
    }
    p = b->data + b->used;
    b->used += n;
    return p;
}

void *arena_alloc(struct arena *a, size_t n)
{
    return memset(take(a, n), 0, n);
}

void *arena_copy(struct arena *a, const void *p, size_t n)
{
    return memcpy(take(a, n), p, n);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = take(a, n + 1);

    memcpy(p, s, n);
    p[n] = '\0';
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
    p = take(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
