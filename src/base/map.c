/* map.c: open addressing over an array that keeps the order of insertion. */
#include "base/map.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>

void map_init(struct map *m)
{
    *m = (struct map){0};
}

void map_release(struct map *m)
{
    for (size_t i = 0; i < m->len; i++)
        free(m->items[i].key);
    free(m->items);
    free(m->slots);
    map_init(m);
}

/* The slot of `key`, or the free one for it. */
static size_t find_slot(const struct map *m, struct str key)
{
    size_t i = (size_t)fnv1a(key.p, key.n) & (m->slot_count - 1);

    while (m->slots[i]) {
        const struct map_item *it = &m->items[m->slots[i] - 1];

        if (str_same((struct str){it->key, it->key_len}, key))
            break;
        i = (i + 1) & (m->slot_count - 1);
    }
    return i;
}

static void map_grow(struct map *m)
{
    m->slot_count = m->slot_count ? m->slot_count * 2 : 16;
    free(m->slots);
    m->slots = xcalloc(m->slot_count, sizeof(*m->slots));
    for (size_t i = 0; i < m->len; i++) {
        struct str key = {m->items[i].key, m->items[i].key_len};

        m->slots[find_slot(m, key)] = i + 1;
    }
}

void map_set(struct map *m, struct str key, void *value)
{
    size_t slot;

    if ((m->len + 1) * 2 > m->slot_count)
        map_grow(m);
    slot = find_slot(m, key);
    if (!m->slots[slot]) {
        m->items = xgrow(m->items, &m->cap, m->len, sizeof(*m->items));
        m->items[m->len].key = xstrndup(key.p, key.n);
        m->items[m->len].key_len = key.n;
        m->slots[slot] = ++m->len;
    }
    m->items[m->slots[slot] - 1].value = value;
}

void *map_get(const struct map *m, struct str key)
{
    size_t slot;

    if (!m->slot_count)
        return NULL;
    slot = find_slot(m, key);
    return m->slots[slot] ? m->items[m->slots[slot] - 1].value : NULL;
}
