/* fnv.h: FNV-1a, a fast hash for tables in memory and for embeddings. */
#ifndef BASE_FNV_H
#define BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t fnv1a(const void *p, size_t n)
{
    const unsigned char *u = p;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ u[i]) * 1099511628211u;
    return h ^ (h >> 32);
}

#endif
