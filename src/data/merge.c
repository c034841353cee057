/* merge.c: two ways to the same result: scanning for short pieces, a heap for
 * long ones. */
#include "data/merge.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SHORT 64

/* A part of the piece, and what it would become together with the next one. */
struct merge_part {
    uint32_t at, rank;
    uint32_t prev, next; /* for the heap; next == n: the last */
};

void merge_release(struct merge *m)
{
    free(m->part);
    free(m->heap);
    free(m->id);
    *m = (struct merge){0};
}

static void *room(void *p, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap)
        return p;
    *cap = n * 2;
    free(p);
    return xreallocarray(NULL, *cap, size);
}

/* parts[i] begins at `at` and ends where parts[i + 1] does; the last one is empty. */
static size_t merge_short(struct merge *m, const struct vocab *v, const char *p,
                          size_t n)
{
    struct merge_part *part = m->part;
    size_t len = n;

    for (uint32_t i = 0; i <= n; i++)
        part[i] = (struct merge_part){
            i, i + 1 < n ? vocab_find(v, p + i, 2) : VOCAB_NONE, 0, 0};
    for (;;) {
        size_t best = 0;

        for (size_t i = 1; i < len; i++)
            if (part[i].rank < part[best].rank)
                best = i;
        if (part[best].rank == VOCAB_NONE)
            break;
        memmove(part + best + 1, part + best + 2,
                (len - best - 1) * sizeof(*part));
        len--;
        for (size_t i = best ? best - 1 : 0; i <= best; i++)
            part[i].rank = i + 1 < len ? vocab_find(v, p + part[i].at,
                                                    part[i + 2].at - part[i].at)
                                       : VOCAB_NONE;
    }
    for (size_t i = 0; i < len; i++)
        m->id[i] = vocab_find(v, p + part[i].at, part[i + 1].at - part[i].at);
    return len;
}

/* ---- the heap: rank and place of a pair in one number ---- */

static void heap_push(struct merge *m, size_t *len, uint64_t x)
{
    size_t i = (*len)++;

    m->heap = xgrow(m->heap, &m->heap_cap, i, sizeof(*m->heap));
    for (; i > 0 && m->heap[(i - 1) / 2] > x; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = x;
}

static uint64_t heap_pop(struct merge *m, size_t *len)
{
    uint64_t top = m->heap[0], x = m->heap[--*len];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= *len)
            break;
        if (child + 1 < *len && m->heap[child + 1] < m->heap[child])
            child++;
        if (m->heap[child] >= x)
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = x;
    return top;
}

static void note_pair(struct merge *m, size_t *len, const struct vocab *v,
                      const char *p, size_t n, uint32_t i)
{
    struct merge_part *a = &m->part[i];
    size_t end;

    a->rank = VOCAB_NONE;
    if (a->next >= n)
        return;
    end = m->part[a->next].next;
    a->rank = vocab_find(v, p + i, end - i);
    if (a->rank != VOCAB_NONE)
        heap_push(m, len, (uint64_t)a->rank << 32 | i);
}

/* Parts are known by where they begin. An entry of the heap whose rank is no longer
 * that of its part is out of date. */
static size_t merge_long(struct merge *m, const struct vocab *v, const char *p,
                         size_t n)
{
    size_t heap = 0, len = 0;

    for (uint32_t i = 0; i < n; i++)
        m->part[i] = (struct merge_part){i, VOCAB_NONE, i - 1, i + 1};
    for (uint32_t i = 0; i < n; i++)
        note_pair(m, &heap, v, p, n, i);
    while (heap) {
        uint64_t x = heap_pop(m, &heap);
        uint32_t i = (uint32_t)x, gone;

        if (m->part[i].rank != x >> 32)
            continue;
        gone = m->part[i].next;
        m->part[gone].rank = VOCAB_NONE;
        m->part[i].next = m->part[gone].next;
        if (m->part[i].next < n)
            m->part[m->part[i].next].prev = i;
        note_pair(m, &heap, v, p, n, i);
        if (i > 0)
            note_pair(m, &heap, v, p, n, m->part[i].prev);
    }
    for (uint32_t i = 0; i < n; i = m->part[i].next)
        m->id[len++] = vocab_find(v, p + i, m->part[i].next - i);
    return len;
}

size_t merge_piece(struct merge *m, const struct vocab *v, const char *p,
                   size_t n)
{
    if (n >= UINT32_MAX - 1)
        BUG("a piece of %zu bytes", n);
    m->part = room(m->part, &m->part_cap, n + 2, sizeof(*m->part));
    m->id = room(m->id, &m->id_cap, n, sizeof(*m->id));
    return n <= SHORT ? merge_short(m, v, p, n) : merge_long(m, v, p, n);
}
