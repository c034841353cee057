/* archive.c: entries and the index over them. */
#include "search/archive.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct prompt_example text;
    const char *task_hash;
    int64_t version; /* of the archive, when it joined */
    bool seed, retired;
};

struct archive {
    struct arena memory;
    struct find *index;
    struct entry *entry; /* entry n is entry[n - 1] */
    size_t len, cap;
    int64_t version;
    /* Sets: any value but NULL says that the key is in it. */
    struct map retired; /* "problem/solution" */
    struct map tasks;   /* hashes of the tasks that there are entries for */
};

struct archive *archive_new(size_t dim)
{
    struct archive *a = xcalloc(1, sizeof(*a));

    a->index = find_new(dim);
    return a;
}

void archive_free(struct archive *a)
{
    find_free(a->index);
    free(a->entry);
    map_release(&a->retired);
    map_release(&a->tasks);
    arena_release(&a->memory);
    free(a);
}

static struct str archive_keep(struct archive *a, struct str s)
{
    return s.p ? arena_str(&a->memory, s) : s;
}

/* ---- kernels that were verified again ---- */

#define KEY_BYTES ((size_t)2 * HASH_HEX)

static struct str archive_key(const char *problem, const char *solution,
                              char *out)
{
    snprintf(out, KEY_BYTES, "%s/%s", problem, solution);
    return str_of(out);
}

static void hide_if_retired(struct archive *a, size_t i)
{
    struct entry *m = &a->entry[i];
    char problem[HASH_HEX], solution[HASH_HEX], key[KEY_BYTES];

    if (a->retired.len == 0 || m->retired)
        return;
    hash_hex(m->text.problem.p, m->text.problem.n, problem);
    hash_hex(m->text.solution.p, m->text.solution.n, solution);
    if (!map_get(&a->retired, archive_key(problem, solution, key)))
        return;
    m->retired = true;
    find_remove(a->index, (int64_t)i + 1);
}

void archive_rechecked(struct archive *a, const char *problem,
                       const char *solution, bool retired)
{
    char key[KEY_BYTES];

    map_set(&a->retired, archive_key(problem, solution, key),
            retired ? a : NULL);
}

void archive_hide_retired(struct archive *a)
{
    for (size_t i = 0; i < a->len; i++)
        hide_if_retired(a, i);
}

/* ---- entries ---- */

int64_t archive_join(struct archive *a, const struct search_example *x,
                     int64_t version)
{
    struct find_entry f = {.entry = (int64_t)a->len + 1,
                           .task = x->name,
                           .task_hash = x->task_hash,
                           .vector = x->vector,
                           .ops = x->ops};
    struct entry *m;

    a->entry = xgrow(a->entry, &a->cap, a->len, sizeof(*a->entry));
    m = &a->entry[a->len++];
    m->text = (struct prompt_example){
        .name = arena_strdup(&a->memory, x->name),
        .problem = archive_keep(a, x->problem),
        .plan = archive_keep(a, x->plan),
        .solution = archive_keep(a, x->solution),
        .seen = arena_alloc(&a->memory, 2 * sizeof(*m->text.seen))};
    m->task_hash = arena_strdup(&a->memory, x->task_hash);
    m->seed = strcmp(x->origin, "seed") == 0;
    m->retired = false;
    m->version = version;
    map_set(&a->tasks, str_of(x->task_hash), a);
    find_add(a->index, &f);
    hide_if_retired(a, a->len - 1);
    a->version = version;
    return f.entry;
}

void archive_withdraw(struct archive *a, int64_t entry, int64_t version)
{
    find_remove(a->index, entry);
    a->version = version;
}

int64_t archive_version_at(const struct archive *a, size_t size)
{
    return size ? a->entry[size - 1].version : 0;
}

int64_t archive_version(const struct archive *a)
{
    return a->version;
}

size_t archive_size(const struct archive *a)
{
    return find_count(a->index);
}

const struct find *archive_index(const struct archive *a)
{
    return a->index;
}

static const struct entry *entry_of(const struct archive *a, int64_t entry)
{
    if (entry < 1 || (size_t)entry > a->len)
        BUG("the archive has no entry %lld", (long long)entry);
    return &a->entry[entry - 1];
}

bool archive_has(const struct archive *a, const char *task_hash)
{
    return map_get(&a->tasks, str_of(task_hash)) != NULL;
}

bool archive_is_retired(const struct archive *a, int64_t entry)
{
    return entry_of(a, entry)->retired;
}

bool archive_are_twins(const struct archive *a, int64_t x, int64_t y)
{
    return strcmp(entry_of(a, x)->task_hash, entry_of(a, y)->task_hash) == 0;
}

struct prompt_example archive_example(const struct archive *a, int64_t entry)
{
    return entry_of(a, entry)->text;
}

size_t archive_seeds(const struct archive *a, const struct task *t,
                     struct find_hit *hit, size_t k)
{
    size_t n = 0;

    for (size_t i = 0; i < a->len && n < k; i++)
        if (a->entry[i].seed && !a->entry[i].retired &&
            strcmp(a->entry[i].task_hash, t->hash) != 0)
            hit[n++] = (struct find_hit){(int64_t)i + 1, FIND_NO_COSINE};
    return n;
}

int archive_ported(struct store *s, const char *record, struct arena *a,
                   struct archive_ported *out, struct err *e)
{
    json_t *v = store_record(s, record, NULL, e);

    if (!v)
        return -1;
    out->text = str_of(arena_strdup(a, jsn_str(v, "ported")));
    out->why = arena_strdup(a, jsn_str(v, "ported_why"));
    json_decref(v);
    return 0;
}
