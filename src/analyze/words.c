/* words.c: reading programs and prompts for their words. */
#include "analyze/words.h"

#include "run/attempt_view.h"
#include "source/primitives.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int words_text(struct analyze_run *r, const char *hash, struct arena *a,
               struct str *out, struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b, BUF_UNLIMITED);
    rc = run_view_text(&r->view, hash, &b, e);
    *out = (struct str){arena_strndup(a, buf_str(&b), b.len), b.len};
    buf_release(&b);
    return rc;
}

/* One and the same pointer for equal names. */
static const char *keep_name(struct analyze_run *r, const struct map_item *x)
{
    struct str key = {x->key, x->key_len};
    const char *name = map_get(&r->names, key);

    if (!name) {
        name = arena_strndup(&r->memory, key.p, key.n);
        map_set(&r->names, key, (void *)name);
    }
    return name;
}

/* The primitives of a program, with a NULL at the end. */
static const char **read_program(struct analyze_run *r, const char *hash,
                                 struct err *e)
{
    const char **out = NULL;
    struct arena a;
    struct map set;
    struct str code;

    arena_init(&a);
    map_init(&set);
    if (words_text(r, hash, &a, &code, e) == 0) {
        primitives_of(code, &set, NULL, &a);
        out = arena_alloc(&r->memory, (set.len + 1) * sizeof(*out));
        for (size_t i = 0; i < set.len; i++)
            out[i] = keep_name(r, &set.items[i]);
        out[set.len] = NULL;
    }
    map_release(&set);
    arena_release(&a);
    return out;
}

int words_add(struct analyze_run *r, const char *hash, struct map *set,
              struct err *e)
{
    const char **name;

    if (!hash)
        return 0;
    name = map_get(&r->words, str_of(hash));
    if (!name) {
        name = read_program(r, hash, e);
        if (!name)
            return -1;
        map_set(&r->words, str_of(hash), name);
    }
    for (; *name; name++)
        map_set(set, str_of(*name), set);
    return 0;
}

static struct str system_of(const struct attempt_view *v)
{
    for (size_t i = 0; i < v->calls; i++)
        for (size_t k = 0; k < v->call[i].messages; k++)
            if (strcmp(v->call[i].message[k].role, "system") == 0)
                return v->call[i].message[k].text;
    return (struct str){"", 0};
}

int words_guide(struct analyze_run *r, struct arena *a, struct str *out,
                struct err *e)
{
    *out = (struct str){"", 0};
    for (size_t i = 0; i < r->tasks && !out->n; i++) {
        const struct run_task *t = r->task[i].task;
        struct attempt_view v;
        struct str text;

        if (!t->attempts)
            continue;
        if (run_attempt_view_make(&r->view, &t->attempt[0], &v, e) < 0)
            return -1;
        text = system_of(&v);
        *out = (struct str){arena_strndup(a, text.p, text.n), text.n};
        run_attempt_view_release(&v);
    }
    return 0;
}

int words_taught(struct analyze_run *r, struct map *seeds, struct map *all,
                 struct arena *a, struct err *e)
{
    struct map aliases;
    struct str guide, code;
    bool inside = false;
    int rc = 0;

    map_init(&aliases);
    for (size_t i = 0; rc == 0 && i < r->view.entries; i++) {
        const struct row_entry *x = &r->view.entry[i];

        if (strcmp(x->origin, "run") == 0)
            continue;
        rc = words_text(r, x->solution, a, &code, e);
        if (rc == 0) {
            inside |= primitives_of(code, seeds, &aliases, a);
            primitives_of(code, all, NULL, a);
        }
    }
    if (rc == 0)
        rc = words_guide(r, a, &guide, e);
    if (rc == 0)
        primitives_in_text(guide, &aliases, inside, all, a);
    map_release(&aliases);
    return rc;
}

bool words_has(const char *text, const char *name)
{
    const char *last = name + strlen(name);
    size_t n;

    while (last > name && last[-1] != '.' && last[-1] != ':')
        last--;
    n = strlen(last);
    for (const char *p = strstr(text, last); p; p = strstr(p + 1, last))
        if ((p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_')) &&
            !(isalnum((unsigned char)p[n]) || p[n] == '_'))
            return true;
    return false;
}

void words_count(struct map *into, const struct map *set, struct arena *a)
{
    for (size_t i = 0; i < set->len; i++) {
        struct str key = {set->items[i].key, set->items[i].key_len};
        int64_t *n = map_get(into, key);

        if (!n) {
            n = arena_alloc(a, sizeof(*n));
            map_set(into, key, n);
        }
        ++*n;
    }
}

int64_t words_number(const struct map *m, struct str name)
{
    const int64_t *n = map_get(m, name);

    return n ? *n : 0;
}

int words_usage_read(struct analyze_run *r, struct words_usage *u,
                     struct err *e)
{
    arena_init(&u->memory);
    map_init(&u->solved);
    map_init(&u->failed);
    map_init(&u->seeds);
    map_init(&u->taught);
    for (size_t i = 0; i < r->tasks; i++) {
        const struct run_task *task = r->task[i].task;

        for (size_t k = 0; k < task->attempts; k++) {
            const struct row_attempt *row = &task->attempt[k].row;
            struct map set;
            int rc;

            map_init(&set);
            rc = words_add(r, row->code, &set, e);
            if (row->attempt == r->task[i].solved_at)
                words_count(&u->solved, &set, &u->memory);
            else if (!row->solved)
                words_count(&u->failed, &set, &u->memory);
            map_release(&set);
            if (rc < 0)
                return -1;
        }
    }
    return words_taught(r, &u->seeds, &u->taught, &u->memory, e);
}

void words_usage_release(struct words_usage *u)
{
    map_release(&u->solved);
    map_release(&u->failed);
    map_release(&u->seeds);
    map_release(&u->taught);
    arena_release(&u->memory);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **words_sorted(const struct map *set, struct arena *a)
{
    const char **name = arena_alloc(a, (set->len + 1) * sizeof(*name));

    for (size_t i = 0; i < set->len; i++)
        name[i] = arena_strdup(a, set->items[i].key);
    if (set->len)
        qsort(name, set->len, sizeof(*name), by_name);
    return name;
}

const char *words_join(const struct map *set, struct arena *a)
{
    const char **name = words_sorted(set, a);
    struct buf b;
    const char *text;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < set->len; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", name[i]);
    text = arena_strndup(a, buf_str(&b), b.len);
    buf_release(&b);
    return text;
}
