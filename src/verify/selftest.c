/* selftest.c: runs a pack's selftest folder. */
#include "verify/selftest.h"

#include "base/fs.h"
#include "source/py_lex.h"
#include "verify/check.h"

#include <string.h>

#define MESSAGE_BYTES_MAX ((size_t)1 << 20)

struct run {
    const struct pack *pack;
    struct problems *out;
    struct check *check;
    struct arena memory;
    const char *file; /* expect.json */
    json_t *expect;
};

/* The part of the folder that belongs to one rule set. */
struct part {
    const struct ruleset *set;
    const json_t *expect; /* with "good" and "bad" */
    const char *dir;      /* packs/x/selftest, packs/x/selftest/paper */
    const char *pointer;  /* "" or "/paper": its place in expect.json */
};

static bool run_init(struct run *r, const struct pack *p, struct problems *out)
{
    *r = (struct run){.pack = p, .out = out};
    r->check = check_new(NULL);
    r->file = arena_printf(&r->memory, "%s/selftest/expect.json", p->dir);
    r->expect = pack_file_read(PACK_FILE_EXPECT, r->file, out);
    return r->expect != NULL;
}

static void run_release(struct run *r)
{
    json_decref(r->expect);
    check_free(r->check);
    arena_release(&r->memory);
}

static struct part part_of(struct run *r, enum pack_set which)
{
    struct part t = {.set = &r->pack->set[which]};
    const char *dir = arena_printf(&r->memory, "%s/selftest", r->pack->dir);

    if (which == PACK_DEFAULT) {
        t.expect = r->expect;
        t.dir = dir;
        t.pointer = "";
        return t;
    }
    t.expect = json_object_get(r->expect, pack_set_names[which]);
    t.dir = arena_printf(&r->memory, "%s/%s", dir, pack_set_names[which]);
    t.pointer = arena_printf(&r->memory, "/%s", pack_set_names[which]);
    return t;
}

static bool read_source(struct run *r, const char *path, struct buf *b)
{
    struct err e = ERR_INIT;

    buf_init(b, 2 * PY_MAX_BYTES);
    if (fs_read(path, b, &e) == 0)
        return true;
    problems_add(r->out, "%s", e.text);
    buf_release(b);
    return false;
}

static bool lists(const json_t *ids, const char *prefix, const char *id)
{
    size_t n = strlen(prefix);

    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *s = json_string_value(json_array_get(ids, i));

        if (strncmp(s, prefix, n) == 0 && strcmp(s + n, id) == 0)
            return true;
    }
    return false;
}

static bool hits(const struct check_result *found, const char *id)
{
    for (size_t i = 0; i < found->len; i++)
        if (strcmp(found->finding[i].rule, id) == 0)
            return true;
    return false;
}

static void report_finding(struct run *r, const char *path, const char *what,
                           const struct finding *f)
{
    const char *place = f->line ? arena_printf(&r->memory, ":%u", f->line) : "";

    problems_add(r->out, "%s%s: %s %s: %s", path, place, what, f->rule,
                 f->message);
}

static void must_be_accepted(struct run *r, const struct ruleset *set,
                             const char *path, const json_t *ids)
{
    struct check_result found;
    struct buf b;

    if (!read_source(r, path, &b))
        return;
    found = check_source(r->check, set, buf_view(&b));
    for (size_t i = 0; i < found.len; i++) {
        const struct finding *f = &found.finding[i];

        if (f->severity == CHECK_ERROR)
            report_finding(r, path, "must be accepted, but hits", f);
        else if (ids && !lists(ids, "warn:", f->rule))
            report_finding(r, path, "must not have the warning", f);
    }
    buf_release(&b);
}

/* The ids it hits must be those of the list, no more and no less. */
static void must_hit(struct run *r, const struct ruleset *set, const char *path,
                     const json_t *ids)
{
    struct check_result found;
    struct buf b;

    if (!read_source(r, path, &b))
        return;
    found = check_source(r->check, set, buf_view(&b));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));

        if (!hits(&found, id))
            problems_add(r->out, "%s: must hit %s, but does not", path, id);
    }
    for (size_t i = 0; i < found.len; i++)
        if (!lists(ids, "", found.finding[i].rule))
            report_finding(r, path, "is not expected to hit",
                           &found.finding[i]);
    buf_release(&b);
}

/* ---- expect.json against the folder and the rules ---- */

/* `warn:ID` is for warnings, the rest must be rules or the engine's own. */
static void check_id(struct run *r, const struct part *t, const char *place,
                     const char *id)
{
    bool warning = strncmp(id, "warn:", 5) == 0;
    const char *name = warning ? id + 5 : id;
    const struct rule *rule = ruleset_find(t->set, name);

    if (!rule && (warning || !rule_id_is_reserved(name)))
        problems_add(r->out,
                     "%s: %s: there is no rule \"%s\" in the set %s; correct "
                     "the id",
                     r->file, place, name, t->set->name);
    else if (warning && rule->kind != RULE_WARN)
        problems_add(r->out,
                     "%s: %s: rule \"%s\" is not of the kind warn; a good file "
                     "must not hit it",
                     r->file, place, name);
}

static bool has_entry(const json_t *map, const char *name)
{
    return json_object_get(map, name) != NULL;
}

static void find_stray_files(struct run *r, const char *dir, const char *ext,
                             const json_t *map, const char *pointer)
{
    struct fs_names names;
    struct err e = ERR_INIT;

    if (fs_list(dir, true, &names, &e) < 0)
        problems_add(r->out, "%s", e.text);
    for (size_t i = 0; i < names.len; i++)
        if (str_ends(str_of(names.name[i]), ext) &&
            !has_entry(map, names.name[i]))
            problems_add(r->out, "%s: %s: %s/%s is not listed; add it", r->file,
                         pointer, dir, names.name[i]);
    fs_names_release(&names);
}

/* All files of `good` or `bad`. */
static void run_files(struct run *r, const struct part *t, const char *kind)
{
    const json_t *map = json_object_get(t->expect, kind);
    const char *dir = arena_printf(&r->memory, "%s/%s", t->dir, kind);
    const char *pointer = arena_printf(&r->memory, "%s/%s", t->pointer, kind);
    const char *name;
    json_t *ids;

    find_stray_files(r, dir, ".py", map, pointer);
    json_object_foreach((json_t *)map, name, ids)
    {
        const char *path = arena_printf(&r->memory, "%s/%s", dir, name);

        for (size_t i = 0; i < json_array_size(ids); i++)
            check_id(r, t,
                     arena_printf(&r->memory, "%s/%s/%zu", pointer, name, i),
                     json_string_value(json_array_get(ids, i)));
        if (strcmp(kind, "good") == 0)
            must_be_accepted(r, t->set, path, ids);
        else
            must_hit(r, t->set, path, ids);
    }
}

static bool is_covered(const struct part *t, const char *kind, const char *id)
{
    const json_t *map = json_object_get(t->expect, kind);
    const char *name;
    json_t *ids;

    json_object_foreach((json_t *)map, name, ids)
    {
        if (lists(ids, "", id) || lists(ids, "warn:", id))
            return true;
    }
    return false;
}

static void check_coverage(struct run *r, const struct part *t)
{
    static const char *const kinds[] = {"good", "bad"};

    for (size_t i = 0; i < t->set->len; i++)
        for (size_t k = 0; t->set->rule[i].own && k < 2; k++)
            if (!is_covered(t, kinds[k], t->set->rule[i].id))
                problems_add(r->out,
                             "%s: %s/%s: no file for the rule \"%s\"; add one",
                             r->file, t->pointer, kinds[k], t->set->rule[i].id);
}

/* ---- messages and hints ---- */

static const struct hint *hint_named(const struct hints *h, const char *id)
{
    for (size_t i = 0; i < h->len; i++)
        if (strcmp(h->hint[i].id, id) == 0)
            return &h->hint[i];
    return NULL;
}

/* A message is looked up in the stage of the hint that is expected for it. */
static void must_find(struct run *r, struct rx_ctx *rx, const char *path,
                      const struct hint *want)
{
    const struct hint *got;
    struct err e = ERR_INIT;
    struct buf text = {.limit = MESSAGE_BYTES_MAX}, hint = BUF_INIT;

    if (fs_read(path, &text, &e) < 0) {
        problems_add(r->out, "%s", e.text);
    } else {
        got =
            hint_find(&r->pack->hints, rx, want->stage, buf_view(&text), &hint);
        if (got != want)
            problems_add(r->out, "%s: must find the hint %s, but finds %s",
                         path, want->id, got ? got->id : "none");
    }
    buf_release(&hint);
    buf_release(&text);
}

static void run_messages(struct run *r)
{
    const json_t *map = json_object_get(r->expect, "errors");
    const char *dir =
        arena_printf(&r->memory, "%s/selftest/errors", r->pack->dir);
    struct rx_ctx *rx = rx_ctx_new(&rx_limits_default);
    const char *name;
    json_t *id;

    find_stray_files(r, dir, ".txt", map, "/errors");
    json_object_foreach((json_t *)map, name, id)
    {
        const struct hint *want =
            hint_named(&r->pack->hints, json_string_value(id));

        if (want)
            must_find(r, rx, arena_printf(&r->memory, "%s/%s", dir, name),
                      want);
        else
            problems_add(r->out,
                         "%s: /errors/%s: there is no hint \"%s\"; correct "
                         "the id",
                         r->file, name, json_string_value(id));
    }
    rx_ctx_free(rx);
}

static void check_hint_coverage(struct run *r)
{
    const json_t *map = json_object_get(r->expect, "errors");

    for (size_t i = 0; i < r->pack->hints.len; i++) {
        const char *id = r->pack->hints.hint[i].id, *name;
        bool found = false;
        json_t *value;

        json_object_foreach((json_t *)map, name, value)
        {
            found = found || strcmp(json_string_value(value), id) == 0;
        }
        if (!found)
            problems_add(r->out,
                         "%s: /errors: no message for the hint \"%s\"; add one",
                         r->file, id);
    }
}

/* ---- the whole ---- */

static void run_seeds(struct run *r)
{
    for (size_t i = 0; i < r->pack->seed_count; i++)
        must_be_accepted(
            r, &r->pack->set[PACK_DEFAULT],
            arena_printf(&r->memory, "%s/solution.py", r->pack->seed[i].dir),
            NULL);
}

static void run_parts(struct run *r)
{
    for (int i = 0; i < PACK_SETS; i++) {
        struct part t = part_of(r, (enum pack_set)i);

        if (!t.set->name) {
            if (t.expect)
                problems_add(r->out,
                             "%s: %s: the pack has no set %s; remove it",
                             r->file, t.pointer, pack_set_names[i]);
            continue;
        }
        run_files(r, &t, "good");
        run_files(r, &t, "bad");
        check_coverage(r, &t);
    }
}

bool selftest_run(const struct pack *p, struct problems *out)
{
    size_t before = out->len + out->more;
    struct run r;

    if (run_init(&r, p, out)) {
        run_parts(&r);
        run_messages(&r);
        check_hint_coverage(&r);
        run_seeds(&r);
    }
    run_release(&r);
    return out->len + out->more == before;
}

/* The same set less one rule; borrows everything else. */
static struct ruleset without(struct arena *a, const struct ruleset *set,
                              const char *id)
{
    struct ruleset less = *set;

    less.rule = arena_alloc(a, (set->len + 1) * sizeof(*less.rule));
    less.len = 0;
    for (size_t i = 0; i < set->len; i++)
        if (strcmp(set->rule[i].id, id) != 0)
            less.rule[less.len++] = set->rule[i];
    return less;
}

size_t selftest_without(const struct pack *p, enum pack_set set,
                        const char *rule_id, struct problems *out)
{
    size_t failed = 0;
    const char *name;
    json_t *ids;
    struct run r;

    if (run_init(&r, p, out)) {
        struct part t = part_of(&r, set);
        struct ruleset less = without(&r.memory, t.set, rule_id);

        json_object_foreach(json_object_get(t.expect, "bad"), name, ids)
        {
            size_t before = out->len + out->more;

            if (lists(ids, "", rule_id))
                must_hit(&r, &less,
                         arena_printf(&r.memory, "%s/bad/%s", t.dir, name),
                         ids);
            failed += out->len + out->more > before;
        }
    }
    run_release(&r);
    return failed;
}
