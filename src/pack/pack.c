/* pack.c: loads a pack from its folder. */
#include "pack/pack.h"

#include "base/fs.h"
#include "base/mem.h"
#include "pack/pack_int.h"
#include "pack/schema.h"

#include <stdlib.h>
#include <string.h>

static const char *path_in(struct pack *p, const char *name)
{
    return arena_printf(&p->memory, "%s/%s", p->dir, name);
}

const json_t *pack_keep(struct pack *p, enum pack_file kind, const char *path,
                        struct problems *out)
{
    json_t *v = pack_file_read(kind, path, out);

    if (v)
        json_array_append_new(p->files, v);
    return v;
}

const char **pack_strings(struct pack *p, const json_t *list)
{
    size_t n = json_array_size(list);
    const char **s = arena_alloc(&p->memory, (n + 1) * sizeof(*s));

    for (size_t i = 0; i < n; i++)
        s[i] = json_string_value(json_array_get(list, i));
    return s;
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
    return (int)json_integer_value(json_object_get(object, field));
}

static bool is_true(const json_t *object, const char *field)
{
    return json_is_true(json_object_get(object, field));
}

static void fill_run(struct pack *p, const json_t *run)
{
    p->run.helper = schema_text(run, "helper");
    p->run.family = schema_text(run, "family");
    p->run.devices = mask_of(json_object_get(run, "devices"), pack_devices, 2);
    p->run.dtypes = mask_of(json_object_get(run, "dtypes"), precision_names,
                            PRECISION_STORED);
    p->run.default_dtype =
        CHOICE(enum precision, run, "default_dtype", precision_names);
    p->run.hang_timeout_s = int_of(run, "hang_timeout_s");
}

static void fill_prompt(struct pack *p, const json_t *prompt)
{
    p->prompt.answer_fence = schema_text(prompt, "answer_fence");
    p->prompt.must_define = schema_text(prompt, "must_define");
    p->prompt.plan_hint = schema_text(prompt, "plan_hint");
    p->prompt.code_hint = schema_text(prompt, "code_hint");
    p->prompt.max_guide_tokens =
        json_integer_value(json_object_get(prompt, "max_guide_tokens"));
}

static void fill_identity(struct pack *p, const json_t *v)
{
    p->id = schema_text(v, "id");
    p->display_name = schema_text(v, "display_name");
    p->prompt_name = schema_text(v, "prompt_name");
    p->version = schema_text(v, "pack_version");
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
    seed->origin = schema_text(meta, "origin");
    seed->licence = schema_text(meta, "licence");
    seed->shapes = pack_strings(p, json_object_get(meta, "shapes"));
    seed->dtype = CHOICE(enum precision, meta, "dtype", precision_names);
    seed->verified = is_true(meta, "verified");
    seed->verified_on = schema_text(meta, "verified_on");
    seed->why_not = schema_text(meta, "why_not");
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

        p->source[i].repo = schema_text(item, "repo");
        p->source[i].commit = schema_text(item, "commit");
        p->source[i].licence = schema_text(item, "licence");
        p->source[i].note = schema_text(item, "note");
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
    arena_init(&p->memory);
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
