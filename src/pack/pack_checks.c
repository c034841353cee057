/* pack_checks.c: the rule sets of a pack: its own rules and those of the files
 * it extends, except the ones it drops. */
#include "base/fs.h"
#include "base/mem.h"
#include "pack/pack_int.h"
#include "pack/schema.h"

#include <stdlib.h>
#include <string.h>

const char *const pack_set_names[PACK_SETS] = {
    [PACK_DEFAULT] = "default",
    [PACK_PAPER] = "paper",
};

/* A set under construction. */
struct making {
    struct pack *pack;
    const struct pack_path *path;
    struct problems *out;
    const char *file, *pointer; /* checks.json, "/sets/default" */
    const json_t *json;
    struct ruleset *set;
    const struct pack_shared *from[PACK_EXTENDS_MAX];
    size_t from_count;
};

/* Looks beside the pack first, so that a folder of packs can bring its own. */
static const char *find_shared(const struct making *m, const char *name)
{
    struct pack *p = m->pack;
    size_t root = strlen(p->dir) - strlen(fs_base(p->dir));
    const char *at =
        arena_printf(&p->memory, "%.*s%s", (int)root, p->dir, name);

    for (size_t i = 0; !fs_is_file(at) && i < m->path->len; i++)
        at = arena_printf(&p->memory, "%s/%s", m->path->dir[i], name);
    return fs_is_file(at) ? at : NULL;
}

static struct pack_shared *read_shared(struct pack *p, const char *name,
                                       const char *path, bool own,
                                       struct problems *out)
{
    struct pack_shared *s = arena_alloc(&p->memory, sizeof(*s));
    const json_t *v = pack_keep(p, PACK_FILE_SHARED, path, out);
    struct rule_place at = {path, "/rules", own};

    s->name = name;
    s->path = path;
    s->imports = pack_strings(p, json_object_get(v, "imports"));
    if (v)
        rules_init(&s->rules, json_object_get(v, "rules"), &at, out);
    s->next = p->shared;
    p->shared = s;
    return s;
}

static const struct pack_shared *get_shared(const struct making *m, size_t i,
                                            const char *name)
{
    const char *path;

    for (const struct pack_shared *s = m->pack->shared; s; s = s->next)
        if (strcmp(s->name, name) == 0)
            return s;
    path = find_shared(m, name);
    if (path)
        return read_shared(m->pack, name, path, false, m->out);
    problems_add(m->out,
                 "%s: %s/extends/%zu: there is no file %s beside the pack or "
                 "in the folders of packs; correct the name",
                 m->file, m->pointer, i, name);
    return NULL;
}

static bool is_dropped(const struct making *m, const char *id)
{
    const json_t *drop = json_object_get(m->json, "drop");

    for (size_t i = 0; i < json_array_size(drop); i++)
        if (strcmp(json_string_value(json_array_get(drop, i)), id) == 0)
            return true;
    return false;
}

/* Every id under `drop` must name an inherited rule. */
static void check_drops(const struct making *m)
{
    const json_t *drop = json_object_get(m->json, "drop");

    for (size_t i = 0; i < json_array_size(drop); i++) {
        const char *id = json_string_value(json_array_get(drop, i));
        bool found = false;

        for (size_t j = 0; j < m->from_count; j++)
            for (size_t k = 0; k < m->from[j]->rules.len; k++)
                found = found || strcmp(m->from[j]->rules.rule[k].id, id) == 0;
        if (!found)
            problems_add(m->out,
                         "%s: %s/drop/%zu: \"%s\" is not an inherited rule; "
                         "remove it",
                         m->file, m->pointer, i, id);
    }
}

static void pack_add_rule(const struct making *m, const struct rule *rule,
                          const char *place)
{
    if (ruleset_find(m->set, rule->id))
        problems_add(m->out,
                     "%s: %s%s: \"%s\" is already a rule of this set; drop "
                     "the other or choose another id",
                     m->file, m->pointer, place, rule->id);
    else
        m->set->rule[m->set->len++] = *rule;
}

static void add_rules(const struct making *m, const struct rules *own)
{
    char place[64];

    for (size_t i = 0; i < m->from_count; i++) {
        const struct rules *r = &m->from[i]->rules;

        snprintf(place, sizeof(place), "/extends/%zu", i);
        for (size_t k = 0; k < r->len; k++)
            if (!is_dropped(m, r->rule[k].id))
                pack_add_rule(m, &r->rule[k], place);
    }
    for (size_t k = 0; k < own->len; k++) {
        snprintf(place, sizeof(place), "/rules/%zu/id", k);
        pack_add_rule(m, &own->rule[k], place);
    }
}

static size_t count_strings(const char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

/* The pack's modules, then those of the extended files. */
static void add_imports(const struct making *m, const char **own)
{
    size_t room = count_strings(own), n = 0;
    const char **all;

    for (size_t i = 0; i < m->from_count; i++)
        room += count_strings(m->from[i]->imports);
    all = arena_alloc(&m->pack->memory, (room + 1) * sizeof(*all));
    while (*own)
        all[n++] = *own++;
    for (size_t i = 0; i < m->from_count; i++)
        for (const char **s = m->from[i]->imports; *s; s++)
            all[n++] = *s;
    m->pack->imports = all;
}

static void make_set(struct making *m, const struct rules *own)
{
    const json_t *extends = json_object_get(m->json, "extends");
    size_t room = own->len;

    for (size_t i = 0; i < json_array_size(extends); i++) {
        const char *name = json_string_value(json_array_get(extends, i));
        const struct pack_shared *s = get_shared(m, i, name);

        if (!s)
            continue;
        m->from[m->from_count++] = s;
        room += s->rules.len;
    }
    m->set->rule =
        arena_alloc(&m->pack->memory, (room + 1) * sizeof(*m->set->rule));
    check_drops(m);
    add_rules(m, own);
}

void pack_load_checks(struct pack *p, const struct pack_path *path,
                      struct problems *out)
{
    const char *file = arena_printf(&p->memory, "%s/checks.json", p->dir);
    const json_t *v = pack_keep(p, PACK_FILE_CHECKS, file, out);

    for (int i = 0; i < PACK_SETS; i++) {
        const char *name = pack_set_names[i];
        struct making m = {.pack = p, .path = path, .out = out, .file = file};
        struct rule_place at = {file, NULL, true};

        m.json = json_object_get(json_object_get(v, "sets"), name);
        if (!m.json)
            continue;
        m.pointer = arena_printf(&p->memory, "/sets/%s", name);
        at.pointer = arena_printf(&p->memory, "%s/rules", m.pointer);
        m.set = &p->set[i];
        m.set->name = name;
        rules_init(&p->own[i], json_object_get(m.json, "rules"), &at, out);
        make_set(&m, &p->own[i]);
        if (i == PACK_DEFAULT)
            add_imports(&m, pack_strings(p, json_object_get(v, "imports")));
    }
}

void pack_load_shared_set(struct pack *p, enum pack_set set,
                          struct problems *out)
{
    const char *name = arena_printf(&p->memory, "%s/%s.json", fs_base(p->dir),
                                    pack_set_names[set]);
    const char *path =
        arena_printf(&p->memory, "%s/%s.json", p->dir, pack_set_names[set]);
    struct ruleset *s = &p->set[set];
    const struct pack_shared *file;

    if (!fs_is_file(path))
        return;
    file = read_shared(p, name, path, true, out);
    s->name = pack_set_names[set];
    s->rule = arena_alloc(&p->memory, (file->rules.len + 1) * sizeof(*s->rule));
    for (size_t i = 0; i < file->rules.len; i++)
        s->rule[s->len++] = file->rules.rule[i];
}

void pack_shared_release(struct pack *p)
{
    for (struct pack_shared *s = p->shared; s; s = s->next)
        rules_release(&s->rules);
    p->shared = NULL;
}
