/* pack.c: finds packs and loads them. A pack is foreign data that decides which
 * programs are accepted, so loading is strict: every file is read against a
 * schema, every problem is reported at once, and the hash that a run stores
 * covers each file that can change a verdict, including those of other folders
 * that the pack extends. */
#include "pack/pack.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/term.h"
#include "pack/schema.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file named by `extends`, read once for all sets of a pack. */
struct pack_shared {
    struct pack_shared *next;
    const char *name, *path; /* as in `extends`; path of the file found */
    struct rules rules;
    const char **imports; /* NULL-terminated */
};

/* Reads a file and keeps its JSON with the pack. Returns a borrowed reference,
 * or NULL. */
static const json_t *pack_keep(struct pack *p, enum pack_file kind,
                               const char *path, struct problems *out)
{
    json_t *v = pack_file_read(kind, path, out);

    if (v)
        json_array_append_new(p->files, v);
    return v;
}

/* Copies a list of strings to the pack's memory, NULL-terminated. */
static const char **pack_strings(struct pack *p, const json_t *list)
{
    size_t n = json_array_size(list);
    const char **s = arena_alloc(&p->memory, (n + 1) * sizeof(*s));

    for (size_t i = 0; i < n; i++)
        s[i] = json_string_value(json_array_get(list, i));
    return s;
}

static bool pack_find_is_listed(const struct pack_list *l, const char *id)
{
    for (size_t i = 0; i < l->len; i++)
        if (strcmp(l->item[i].id, id) == 0)
            return true;
    return false;
}

static bool is_pack(const char *dir)
{
    char *file = fs_join(dir, "pack.json");
    bool yes = fs_is_file(file);

    free(file);
    return yes;
}

static int pack_find_add(const char *root, struct pack_list *out, struct err *e)
{
    struct fs_names names;

    if (fs_list(root, false, &names, e) < 0)
        return -1;
    for (size_t i = 0; i < names.len; i++) {
        char *dir = fs_join(root, names.name[i]);

        if (pack_find_is_listed(out, names.name[i]) || !is_pack(dir)) {
            free(dir);
            continue;
        }
        out->item = xgrow(out->item, &out->cap, out->len, sizeof(*out->item));
        out->item[out->len].id = xstrdup(names.name[i]);
        out->item[out->len++].dir = dir;
    }
    fs_names_release(&names);
    return 0;
}

static int pack_find_by_id(const void *a, const void *b)
{
    /* The id is the first member. */
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int pack_list(const struct pack_path *path, struct pack_list *out,
              struct err *e)
{
    *out = (struct pack_list){0};
    for (size_t i = 0; i < path->len; i++) {
        if (pack_find_add(path->dir[i], out, e) < 0) {
            pack_list_release(out);
            return -1;
        }
    }
    if (out->len)
        qsort(out->item, out->len, sizeof(*out->item), pack_find_by_id);
    return 0;
}

void pack_list_release(struct pack_list *l)
{
    for (size_t i = 0; i < l->len; i++) {
        free(l->item[i].id);
        free(l->item[i].dir);
    }
    free(l->item);
    *l = (struct pack_list){0};
}

static void pack_find_unknown(const struct pack_list *l, const char *id,
                              struct err *e)
{
    const char **names = xcalloc(l->len, sizeof(*names));
    const char *near;
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < l->len; i++) {
        names[i] = l->item[i].id;
        buf_printf(&b, "%s%s", i ? ", " : "", names[i]);
    }
    near = str_nearest(id, names, l->len);
    if (near)
        err_set(e, ERR_USAGE, "unknown pack \"%s\"; did you mean \"%s\"?", id,
                near);
    else
        err_set(e, ERR_USAGE, "unknown pack \"%s\"; the packs are: %s", id,
                l->len ? buf_str(&b) : "none");
    buf_release(&b);
    free(names);
}

/* The folder of a pack, which the caller frees. If it is not found, NULL and an error
 * with the nearest name. */
static char *pack_find(const struct pack_path *path, const char *id,
                       struct err *e)
{
    struct pack_list l;
    char *dir = NULL;

    if (pack_list(path, &l, e) < 0)
        return NULL;
    for (size_t i = 0; i < l.len && !dir; i++)
        if (strcmp(l.item[i].id, id) == 0)
            dir = xstrdup(l.item[i].dir);
    if (!dir)
        pack_find_unknown(&l, id, e);
    pack_list_release(&l);
    return dir;
}

/* ---- for a command with --packs and --dsl ---- */

void packs_path_init(struct packs_path *p, const struct opt_list *given,
                     const struct home *home)
{
    p->own = fs_join(home->dir, "packs");
    p->dirs = xcalloc(given->len + 1, sizeof(*p->dirs));
    for (size_t i = 0; i < given->len; i++)
        p->dirs[i] = given->item[i];
    p->dirs[given->len] = p->own;
    p->path = (struct pack_path){p->dirs, given->len + 1};
}

void packs_path_release(struct packs_path *p)
{
    free(p->own);
    free(p->dirs);
    *p = (struct packs_path){0};
}

int packs_named(const struct pack_path *path, const char *const *id, size_t n,
                struct pack_list *out, struct err *e)
{
    if (n == 0)
        return pack_list(path, out, e);
    *out = (struct pack_list){.item = xcalloc(n, sizeof(*out->item))};
    for (size_t i = 0; i < n; i++) {
        char *dir = pack_find(path, id[i], e);

        if (!dir) {
            pack_list_release(out);
            return -1;
        }
        out->item[out->len].id = xstrdup(id[i]);
        out->item[out->len++].dir = dir;
    }
    return 0;
}

struct pack *packs_load(const struct packs_path *p, const char *id,
                        struct err *e)
{
    char *dir = pack_find(&p->path, id, e);
    struct pack *pack = NULL;
    struct problems problems;

    if (!dir)
        return NULL;
    problems_init(&problems);
    pack = pack_load(&p->path, dir, &problems);
    if (!pack)
        problems_to_err(&problems, e);
    problems_release(&problems);
    free(dir);
    return pack;
}

/* ---- the hash of its files, in the same order on every machine ---- */

#define DEPTH_MAX 8
#define FILES_MAX 10000
#define FILE_MAX  ((size_t)64 << 20)

struct entry {
    const char *name; /* relative to the folder that holds the packs */
    const char *path;
};

struct entries {
    struct arena *a;
    struct entry *entry;
    size_t len, cap;
};

static void pack_hash_add_entry(struct entries *all, const char *name,
                                const char *path)
{
    all->entry = xgrow(all->entry, &all->cap, all->len, sizeof(*all->entry));
    all->entry[all->len++] = (struct entry){name, path};
}

/* Hidden files and Python's caches are not part of a pack. */
static bool is_ignored(const char *name)
{
    return name[0] == '.' || strcmp(name, "__pycache__") == 0 ||
           str_ends(str_of(name), ".pyc") || str_ends(str_of(name), "~");
}

static int pack_hash_walk(struct entries *all, const char *name,
                          const char *path, int depth, struct err *e)
{
    struct fs_names names;
    int rc = 0;

    if (depth > DEPTH_MAX)
        return err_set(e, ERR_LIMIT, "%s: folders nested deeper than %d", path,
                       DEPTH_MAX);
    if (fs_list(path, false, &names, e) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        const char *n = names.name[i];
        const char *sub = arena_printf(all->a, "%s/%s", name, n);
        const char *at = arena_printf(all->a, "%s/%s", path, n);

        if (is_ignored(n))
            continue;
        if (all->len == FILES_MAX)
            rc = err_set(e, ERR_LIMIT, "%s: more than %d files", path,
                         FILES_MAX);
        else if (fs_is_dir(at))
            rc = pack_hash_walk(all, sub, at, depth + 1, e);
        else
            pack_hash_add_entry(all, sub, at);
    }
    fs_names_release(&names);
    return rc;
}

static int pack_hash_by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name,
                  ((const struct entry *)b)->name);
}

/* Includes the length, so that different folders never hash the same bytes. */
static int pack_hash_add_file(struct hash *h, const struct entry *f,
                              struct err *e)
{
    struct buf b = {.limit = FILE_MAX};
    char size[32];
    int rc;

    rc = fs_read(f->path, &b, e);
    if (rc == 0) {
        hash_add(h, f->name, strlen(f->name) + 1);
        snprintf(size, sizeof(size), "%zu", b.len);
        hash_add(h, size, strlen(size) + 1);
        hash_add(h, buf_str(&b), b.len);
    }
    buf_release(&b);
    return rc;
}

static int hash_entries(struct entries *all, char out[HASH_HEX], struct err *e)
{
    struct hash h;
    int rc = 0;

    if (all->len)
        qsort(all->entry, all->len, sizeof(*all->entry), pack_hash_by_name);
    hash_init(&h);
    for (size_t i = 0; i < all->len && rc == 0; i++) {
        /* A folder of shared rules lists its own files twice. */
        if (i && strcmp(all->entry[i].name, all->entry[i - 1].name) == 0)
            continue;
        rc = pack_hash_add_file(&h, &all->entry[i], e);
    }
    hash_finish_hex(&h, out);
    return rc;
}

static void pack_load_hash(struct pack *p, struct problems *out)
{
    struct entries all = {.a = &p->memory};
    struct err e = ERR_INIT;

    for (const struct pack_shared *s = p->shared; s; s = s->next)
        pack_hash_add_entry(&all, s->name, s->path);
    if (pack_hash_walk(&all, fs_base(p->dir), p->dir, 0, &e) < 0 ||
        hash_entries(&all, p->hash, &e) < 0)
        problems_add(out, "%s", e.text);
    free(all.entry);
}

/* ---- rule sets: a pack's own rules, and those it extends and keeps ---- */

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

/* Fills p->set from checks.json and p->hash from all files. */
static void pack_load_checks(struct pack *p, const struct pack_path *path,
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

/* Fills one set from a folder of shared rules. If the file does not exist, the
 * pack does not have the set. */
static void pack_load_shared_set(struct pack *p, enum pack_set set,
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

static void pack_shared_release(struct pack *p)
{
    for (struct pack_shared *s = p->shared; s; s = s->next)
        rules_release(&s->rules);
    p->shared = NULL;
}

/* ---- loading ---- */

static const char *path_in(struct pack *p, const char *name)
{
    return arena_printf(&p->memory, "%s/%s", p->dir, name);
}

#define CHOICE(type, object, field, names)           \
    ((type)schema_choice((object), (field), (names), \
                         sizeof(names) / sizeof((names)[0])))

static unsigned mask_of(const json_t *list, const char *const *names,
                        size_t count)
{
    unsigned mask = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        for (size_t j = 0; j < count; j++)
            if (strcmp(json_string_value(json_array_get(list, i)), names[j]) ==
                0)
                mask |= 1u << j;
    return mask;
}

static int int_of(const json_t *object, const char *field)
{
    return (int)jsn_int(object, field);
}

static void fill_run(struct pack *p, const json_t *run)
{
    p->run.helper = jsn_maybe(run, "helper");
    p->run.family = jsn_maybe(run, "family");
    p->run.devices = mask_of(json_object_get(run, "devices"), pack_devices, 2);
    p->run.dtypes = mask_of(json_object_get(run, "dtypes"), precision_names,
                            PRECISION_STORED);
    p->run.default_dtype =
        CHOICE(enum precision, run, "default_dtype", precision_names);
    p->run.hang_timeout_s = int_of(run, "hang_timeout_s");
}

static void fill_prompt(struct pack *p, const json_t *prompt)
{
    p->prompt.answer_fence = jsn_maybe(prompt, "answer_fence");
    p->prompt.must_define = jsn_maybe(prompt, "must_define");
    p->prompt.plan_hint = jsn_maybe(prompt, "plan_hint");
    p->prompt.code_hint = jsn_maybe(prompt, "code_hint");
    p->prompt.max_guide_tokens = jsn_int(prompt, "max_guide_tokens");
}

static void fill_identity(struct pack *p, const json_t *v)
{
    p->id = jsn_maybe(v, "id");
    p->display_name = jsn_maybe(v, "display_name");
    p->prompt_name = jsn_maybe(v, "prompt_name");
    p->version = jsn_maybe(v, "pack_version");
    p->language = CHOICE(enum pack_language, v, "language", pack_languages);
    p->build.timeout_s = int_of(json_object_get(v, "build"), "timeout_s");
}

static void need_file(struct pack *p, const char *name, const char *why,
                      struct problems *out)
{
    const char *path = path_in(p, name);

    if (!fs_is_file(path))
        problems_add(out, "%s: /: missing; %s", path, why);
}

static void load_seed(struct pack *p, struct pack_seed *seed,
                      struct problems *out)
{
    static const char *const files[] = {"task.py", "plan.md", "solution.py"};
    const json_t *meta;

    for (size_t i = 0; i < 3; i++)
        need_file(
            p, arena_printf(&p->memory, "seeds/%s/%s", seed->name, files[i]),
            "a seed has task.py, plan.md, solution.py and meta.json", out);
    meta = pack_keep(p, PACK_FILE_META,
                     arena_printf(&p->memory, "%s/meta.json", seed->dir), out);
    if (!meta)
        return;
    seed->origin = jsn_maybe(meta, "origin");
    seed->licence = jsn_maybe(meta, "licence");
    seed->shapes = pack_strings(p, json_object_get(meta, "shapes"));
    seed->dtype = CHOICE(enum precision, meta, "dtype", precision_names);
    seed->verified = jsn_true(meta, "verified");
    seed->verified_on = jsn_maybe(meta, "verified_on");
    seed->why_not = jsn_maybe(meta, "why_not");
}

static bool list_has(const char *const *list, const char *word)
{
    for (; *list; list++)
        if (strcmp(*list, word) == 0)
            return true;
    return false;
}

/* Every folder under seeds/ must be listed in the order. */
static void find_stray_seeds(struct pack *p, const char *const *order,
                             struct problems *out)
{
    struct fs_names names;
    struct err e = ERR_INIT;

    if (fs_list(path_in(p, "seeds"), true, &names, &e) < 0)
        problems_add(out, "%s", e.text);
    for (size_t i = 0; i < names.len; i++)
        if (names.name[i][0] != '.' && !list_has(order, names.name[i]))
            problems_add(out,
                         "%s/pack.json: /prompt/seed_order: seeds/%s is not "
                         "in it; add it, or remove the folder",
                         p->dir, names.name[i]);
    fs_names_release(&names);
}

static void load_seeds(struct pack *p, const json_t *prompt,
                       struct problems *out)
{
    const char **order = pack_strings(p, json_object_get(prompt, "seed_order"));
    size_t n = json_array_size(json_object_get(prompt, "seed_order"));

    find_stray_seeds(p, order, out);
    p->seed = arena_alloc(&p->memory, (n + 1) * sizeof(*p->seed));
    for (size_t i = 0; i < n; i++) {
        struct pack_seed *seed = &p->seed[p->seed_count];

        seed->name = order[i];
        seed->dir = arena_printf(&p->memory, "%s/seeds/%s", p->dir, order[i]);
        if (!fs_is_dir(seed->dir)) {
            problems_add(out,
                         "%s/pack.json: /prompt/seed_order/%zu: there is no "
                         "folder seeds/%s; add it, or remove the name",
                         p->dir, i, order[i]);
            continue;
        }
        load_seed(p, seed, out);
        p->seed_count++;
    }
}

static void load_sources(struct pack *p, struct problems *out)
{
    const json_t *v =
        pack_keep(p, PACK_FILE_SOURCES, path_in(p, "sources.json"), out);
    const json_t *list = json_object_get(v, "sources");

    p->source_count = json_array_size(list);
    p->source =
        arena_alloc(&p->memory, (p->source_count + 1) * sizeof(*p->source));
    for (size_t i = 0; i < p->source_count; i++) {
        const json_t *item = json_array_get(list, i);

        p->source[i].repo = jsn_maybe(item, "repo");
        p->source[i].commit = jsn_maybe(item, "commit");
        p->source[i].licence = jsn_maybe(item, "licence");
        p->source[i].note = jsn_maybe(item, "note");
        p->source[i].paths = pack_strings(p, json_object_get(item, "paths"));
    }
}

static void load_errors(struct pack *p, struct problems *out)
{
    const char *path = path_in(p, "errors.json");
    const json_t *v = pack_keep(p, PACK_FILE_ERRORS, path, out);

    if (v)
        hints_init(&p->hints, json_object_get(v, "hints"), path, out);
}

static void load_identity(struct pack *p, struct problems *out)
{
    const char *path = path_in(p, "pack.json");
    const json_t *v = pack_keep(p, PACK_FILE_PACK, path, out);

    if (!v)
        return;
    fill_identity(p, v);
    fill_run(p, json_object_get(v, "run"));
    fill_prompt(p, json_object_get(v, "prompt"));
    load_seeds(p, json_object_get(v, "prompt"), out);
    if (strcmp(p->id, fs_base(p->dir)) != 0)
        problems_add(out,
                     "%s: /id: \"%s\" is not the folder's name \"%s\"; make "
                     "them equal",
                     path, p->id, fs_base(p->dir));
    if (p->run.helper)
        need_file(p, arena_printf(&p->memory, "%s.py", p->run.helper),
                  "pack.json names it as /run/helper", out);
}

static struct pack *new_pack(const char *dir)
{
    struct pack *p = xcalloc(1, sizeof(*p));
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    p->dir = xstrndup(dir, n);
    p->files = json_array();
    return p;
}

static struct pack *if_good(struct pack *p, size_t before,
                            const struct problems *out)
{
    if (out->len + out->more == before)
        return p;
    pack_free(p);
    return NULL;
}

struct pack *pack_load(const struct pack_path *path, const char *dir,
                       struct problems *out)
{
    struct pack *p = new_pack(dir);
    size_t before = out->len + out->more;

    load_identity(p, out);
    pack_load_checks(p, path, out);
    load_errors(p, out);
    load_sources(p, out);
    need_file(p, "probe.py", "it says what this machine can do", out);
    need_file(p, "selftest/expect.json", "a pack brings its own tests", out);
    p->has_guide = fs_is_file(path_in(p, "guide.md"));
    p->has_card = fs_is_file(path_in(p, "card.md"));
    pack_load_hash(p, out);
    return if_good(p, before, out);
}

struct pack *pack_load_shared(const char *dir, struct problems *out)
{
    struct pack *p = new_pack(dir);
    size_t before = out->len + out->more;

    p->id = fs_base(p->dir);
    for (int i = 0; i < PACK_SETS; i++)
        pack_load_shared_set(p, (enum pack_set)i, out);
    if (!p->set[PACK_DEFAULT].name)
        problems_add(out, "%s: /: has no default.json; it holds the rules",
                     p->dir);
    pack_load_hash(p, out);
    return if_good(p, before, out);
}

void pack_free(struct pack *p)
{
    if (!p)
        return;
    for (int i = 0; i < PACK_SETS; i++)
        rules_release(&p->own[i]);
    pack_shared_release(p);
    hints_release(&p->hints);
    json_decref(p->files);
    arena_release(&p->memory);
    free(p->dir);
    free(p);
}

const struct ruleset *pack_ruleset(const struct pack *p, const char *name,
                                   struct err *e)
{
    for (int i = 0; i < PACK_SETS; i++)
        if (p->set[i].name && strcmp(p->set[i].name, name) == 0)
            return &p->set[i];
    err_set(e, ERR_USAGE, "pack %s has no rule set \"%s\"; use \"%s\"", p->id,
            name, pack_set_names[PACK_DEFAULT]);
    return NULL;
}

int pack_can_search(const struct pack *p, struct err *e)
{
    const char *missing = !p->has_guide    ? "guide.md"
                          : !p->has_card   ? "card.md"
                          : !p->seed_count ? "a seed under seeds/"
                                           : NULL;

    if (!missing)
        return 0;
    return err_set(e, ERR_INPUT, "%s: 'monkeys run' needs %s, which is missing",
                   p->dir, missing);
}

const char *pack_below_e3(const struct pack *p)
{
    return p->run.family ? NULL : "has no recorder (pack.json: /run/family)";
}

/* ---- what packs can do on this machine ---- */

const char *const pack_probe_levels[PACK_PROBE_LEVELS] = {"broken", "checks",
                                                          "compile", "run"};

#define PROBE_ARGV 6

/* The probe finds the modules of the home's worker/, wherever the pack is. */
static void pack_probe_command(struct proc_opts *o, const char **argv,
                               const struct home *home, const char *dir)
{
    argv[0] = home->python;
    argv[1] = "-B";
    argv[2] = "-c";
    argv[3] = "import runpy, sys; sys.path.append(sys.argv[1] + '/worker'); "
              "runpy.run_path('probe.py', run_name='__main__')";
    argv[4] = home->dir;
    argv[5] = NULL;
    *o = (struct proc_opts){.argv = argv,
                            .cwd = dir,
                            .out_limit = 4096,
                            .err_limit = 65536,
                            .timeout_ns = PACK_PROBE_NS};
}

/* The last line that is not blank. */
static struct str last_line(const struct buf *b)
{
    struct str rest = str_trim(buf_view(b)), line;

    while (str_cut(&rest, '\n', &line))
        continue;
    return str_trim(rest);
}

static void broken(struct pack_probe *p, const char *what, struct str detail)
{
    p->level = PACK_PROBE_BROKEN;
    p->why = xasprintf("probe.py %s%s%.*s", what, detail.n ? ": " : "",
                       (int)(detail.n < 200 ? detail.n : 200), detail.p);
}

static void pack_probe_read(struct pack_probe *p, const struct procs_item *ran)
{
    const struct proc_result *r = &ran->result;
    struct str line = last_line(&r->out), word;

    if (ran->failed.kind != ERR_NONE) {
        p->level = PACK_PROBE_BROKEN;
        p->why = xstrdup(ran->failed.text);
        return;
    }
    if (r->timed_out) {
        broken(p, "timed out", STR_LIT(""));
        return;
    }
    if (r->exit_code != 0) {
        broken(p, "failed", last_line(&r->err));
        return;
    }
    if (str_cut(&line, ':', &word))
        for (int i = PACK_PROBE_CHECKS; i < PACK_PROBE_LEVELS; i++)
            if (str_eq(word, pack_probe_levels[i])) {
                line = str_trim(line);
                p->level = (enum pack_probe_level)i;
                p->why = xstrndup(line.p, line.n);
                return;
            }
    broken(p, "printed no 'checks:', 'compile:' or 'run:' line",
           last_line(&r->out));
}

static void pack_probe_step(size_t done, void *arg)
{
    if (arg)
        term_set(arg, done, NULL);
}

int packs_probe(const struct pack_probes *p, struct pack_probe *out,
                struct err *e)
{
    size_t packs = p->packs->len, n = packs + p->besides;
    struct procs_item *item = xcalloc(n + 1, sizeof(*item));
    const char *(*argv)[PROBE_ARGV] = xcalloc(packs + 1, sizeof(*argv));
    struct term *bar =
        p->label ? term_open(STDERR_FILENO, n, 0, p->label) : NULL;
    int rc;

    for (size_t i = 0; i < packs; i++)
        pack_probe_command(&item[i].opts, argv[i], p->home,
                           p->packs->item[i].dir);
    for (size_t i = packs; i < n; i++)
        item[i] = p->beside[i - packs];
    rc = procs_run(item, n, (size_t)sysconf(_SC_NPROCESSORS_ONLN),
                   pack_probe_step, bar, e);
    term_close(bar);
    for (size_t i = 0; i < packs; i++) {
        if (rc == 0)
            pack_probe_read(&out[i], &item[i]);
        proc_result_release(&item[i].result);
    }
    for (size_t i = packs; i < n; i++)
        p->beside[i - packs] = item[i];
    free(item);
    free(argv);
    return rc;
}
