/* outcome.c: a table of counts by entry. */
#include "find/outcome.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>

#define STAGES (PROMPT_EVOLVE + 1)

struct outcome {
    struct map counts;   /* an entry's bytes -> counts, one a stage */
    struct arena memory; /* the counts */
};

struct outcome *outcome_new(void)
{
    struct outcome *o = xcalloc(1, sizeof(*o));

    map_init(&o->counts);
    arena_init(&o->memory);
    return o;
}

void outcome_free(struct outcome *o)
{
    map_release(&o->counts);
    arena_release(&o->memory);
    free(o);
}

static struct str key_of(const int64_t *entry)
{
    return (struct str){(const char *)entry, sizeof(*entry)};
}

void outcome_shown(struct outcome *o, int64_t entry, enum prompt_stage stage)
{
    struct outcome_count *c = map_get(&o->counts, key_of(&entry));

    if (!c) {
        c = arena_alloc(&o->memory, STAGES * sizeof(*c));
        map_set(&o->counts, key_of(&entry), c);
    }
    c[stage].shown++;
}

void outcome_solved(struct outcome *o, int64_t entry, enum prompt_stage stage)
{
    struct outcome_count *c = map_get(&o->counts, key_of(&entry));

    if (!c || c[stage].solved == c[stage].shown)
        BUG("entry %lld helped more often than it was shown", (long long)entry);
    c[stage].solved++;
}

struct outcome_count outcome_get(const struct outcome *o, int64_t entry,
                                 enum prompt_stage stage)
{
    const struct outcome_count *c = map_get(&o->counts, key_of(&entry));

    return c ? c[stage] : (struct outcome_count){0, 0};
}
