/* merge.c: equal pieces found, names given, needs joined. */
#include "curriculum/merge.h"

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "source/py_normal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEM_BYTES 60

/* A piece while the problems are gone through. */
struct draft {
    char *name;
    const json_t *sub; /* the first that is this piece; the answer's */
    const char *level;
    json_t *parents;
    struct draft **needs;
    size_t nneeds, needs_cap;
    size_t seen; /* the last search that came here */
};

struct merging {
    const struct merge_part *part;
    size_t n;
    char **stem; /* of each problem */
    struct draft **draft;
    size_t len, cap;
    struct map by_key, by_name; /* drafts */
    size_t searches;
};

/* ---- names ---- */

/* The name of the task's file, as [a-z0-9_-]. */
static char *stem_of(const struct task *t)
{
    struct str s = str_of(fs_base(t->path));
    char *out;

    if (str_ends(s, ".py"))
        s.n -= 3;
    if (s.n > STEM_BYTES)
        s.n = STEM_BYTES;
    out = xstrndup(s.p, s.n);
    for (char *p = out; *p; p++)
        *p = isalnum((unsigned char)*p) && (unsigned char)*p < 128
                 ? (char)tolower((unsigned char)*p)
                 : '_';
    return out;
}

/* `base`, or the first of base_2, base_3, … that `taken` does not have. */
static char *unused(const struct map *taken, const char *base)
{
    char *name = xstrdup(base);

    for (size_t i = 2; map_get(taken, str_of(name)); i++) {
        free(name);
        name = xasprintf("%s_%zu", base, i);
    }
    return name;
}

static void name_problems(struct merging *m)
{
    struct map taken;

    map_init(&taken);
    for (size_t i = 0; i < m->n; i++) {
        char *base = stem_of(m->part[i].task);

        m->stem[i] = unused(&taken, base);
        map_set(&taken, str_of(m->stem[i]), m);
        free(base);
    }
    map_release(&taken);
}

/* ---- equal pieces ---- */

/* What two subproblems have in common if they are one piece. How the inputs
 * are drawn is in the source. */
static char *key_of(const json_t *sub)
{
    const json_t *inputs = json_object_get(sub, "inputs");
    char hash[HASH_HEX];
    struct buf b;

    py_normal_hash_renamed(str_of(jsn_str(sub, "source")), hash);
    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, hash);
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *in = json_array_get(inputs, i);
        json_t *v = json_pack("[O, O]", json_object_get(in, "shape"),
                              json_object_get(in, "dtype"));
        char *text = jsn_canonical(v);

        buf_puts(&b, text);
        free(text);
        json_decref(v);
    }
    return buf_take(&b, NULL);
}

static struct draft *draft_of(struct merging *m, size_t i, const json_t *sub)
{
    char *key = key_of(sub), *base;
    struct draft *d = map_get(&m->by_key, str_of(key));

    if (!d) {
        base = xasprintf("%s_%s", m->stem[i], jsn_str(sub, "id"));
        d = xcalloc(1, sizeof(*d));
        *d = (struct draft){.name = unused(&m->by_name, base),
                            .sub = sub,
                            .level = jsn_str(m->part[i].answer, "level"),
                            .parents = json_array()};
        free(base);
        m->draft = xgrow(m->draft, &m->cap, m->len, sizeof(struct draft *));
        m->draft[m->len++] = d;
        map_set(&m->by_key, str_of(key), d);
        map_set(&m->by_name, str_of(d->name), d);
    }
    json_array_append_new(d->parents, json_pack("{s:s, s:s}", "problem",
                                                m->part[i].task->id, "sub",
                                                jsn_str(sub, "id")));
    free(key);
    return d;
}

/* ---- needs ---- */

static bool search(struct draft *from, const struct draft *to, size_t mark)
{
    if (from == to)
        return true;
    if (from->seen == mark)
        return false;
    from->seen = mark;
    for (size_t i = 0; i < from->nneeds; i++)
        if (search(from->needs[i], to, mark))
            return true;
    return false;
}

/* Left out if it is known already, or if `need` needs `d`. */
static void add_need(struct merging *m, struct draft *d, struct draft *need)
{
    for (size_t i = 0; i < d->nneeds; i++)
        if (d->needs[i] == need)
            return;
    if (search(need, d, ++m->searches))
        return;
    d->needs =
        xgrow(d->needs, &d->needs_cap, d->nneeds, sizeof(struct draft *));
    d->needs[d->nneeds++] = need;
}

/* The drafts of the subproblems whose output this one takes, or that it says it
 * depends on. */
static void join_needs(struct merging *m, const json_t *subs,
                       struct draft **mine)
{
    for (size_t i = 0; i < json_array_size(subs); i++) {
        const json_t *sub = json_array_get(subs, i),
                     *on = json_object_get(sub, "depends_on"),
                     *inputs = json_object_get(sub, "inputs");

        for (size_t j = 0; j < json_array_size(subs); j++) {
            const char *id = jsn_str(json_array_get(subs, j), "id");
            size_t n = strlen(id);
            bool needed = false;

            for (size_t k = 0; k < json_array_size(on); k++)
                needed |=
                    strcmp(json_string_value(json_array_get(on, k)), id) == 0;
            for (size_t k = 0; k < json_array_size(inputs); k++) {
                const char *from = jsn_str(json_array_get(inputs, k), "from");

                needed |= strncmp(from, id, n) == 0 && from[n] == ':';
            }
            if (needed)
                add_need(m, mine[i], mine[j]);
        }
    }
}

/* ---- from drafts to a curriculum ---- */

/* What a folder keeps of an answer: nothing that differs between two runs. */
static json_t *outline_of(const json_t *answer)
{
    static const char *const keep[] = {"problem_id",  "level",    "subproblems",
                                       "composition", "findings", "model"};
    json_t *out = json_object();

    for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
        const json_t *v = json_object_get(answer, keep[i]);

        if (v)
            json_object_set_new(out, keep[i], json_deep_copy(v));
    }
    return out;
}

static int add_problem(struct merging *m, size_t i, struct curriculum *out,
                       struct err *e)
{
    json_t *outline = outline_of(m->part[i].answer), *sub;
    json_t *subs = json_object_get(outline, "subproblems");
    const json_t *old = json_object_get(m->part[i].answer, "subproblems");
    size_t n = json_array_size(subs), k;
    struct draft **mine = xcalloc(n + 1, sizeof(*mine));
    char *path = xasprintf("problems/%s.json", m->stem[i]);
    int rc;

    json_array_foreach(subs, k, sub)
    {
        mine[k] = draft_of(m, i, json_array_get(old, k));
        json_object_del(sub, "source");
        json_object_del(sub, "sidecar");
        json_object_set_new(sub, "piece", json_string(mine[k]->name));
    }
    join_needs(m, old, mine);
    json_object_set_new(outline, "problem_id",
                        json_string(m->part[i].task->id));
    rc = curriculum_add_problem(out, path, outline, e);
    free(mine);
    free(path);
    return rc;
}

static int add_piece(const struct draft *d, struct curriculum *out,
                     struct err *e)
{
    const json_t *source = json_object_get(d->sub, "source");
    json_t *sidecar = json_copy(json_object_get(d->sub, "sidecar")),
           *needs = json_array();
    char *path = xasprintf("pieces/%s.py", d->name);
    struct task *t = task_from(
        path,
        (struct str){json_string_value(source), json_string_length(source)}, e);
    int rc = -1;

    if (!json_is_object(sidecar)) {
        json_decref(sidecar);
        sidecar = json_object();
    }
    for (size_t i = 0; i < d->nneeds; i++)
        json_array_append_new(needs, json_string(d->needs[i]->name));
    json_object_set_new(sidecar, "piece",
                        json_pack("{s:s, s:s, s:s, s:o, s:O}", "title",
                                  jsn_str(d->sub, "title"), "kind",
                                  jsn_str(d->sub, "kind"), "level", d->level,
                                  "needs", needs, "parents", d->parents));
    if (t) {
        t->sidecar = json_incref(sidecar);
        rc = curriculum_add_piece(out, path, t, e);
    }
    json_decref(sidecar);
    free(path);
    return rc;
}

static void merging_release(struct merging *m)
{
    for (size_t i = 0; i < m->len; i++) {
        free(m->draft[i]->name);
        free(m->draft[i]->needs);
        json_decref(m->draft[i]->parents);
        free(m->draft[i]);
    }
    for (size_t i = 0; i < m->n; i++)
        free(m->stem[i]);
    free(m->stem);
    free(m->draft);
    map_release(&m->by_key);
    map_release(&m->by_name);
}

int curriculum_merge(struct curriculum *out, const struct merge_part *part,
                     size_t n, struct err *e)
{
    struct merging m = {
        .part = part, .n = n, .stem = xcalloc(n + 1, sizeof(char *))};
    int rc = 0;

    curriculum_init(out);
    map_init(&m.by_key);
    map_init(&m.by_name);
    name_problems(&m);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_problem(&m, i, out, e);
    for (size_t i = 0; rc == 0 && i < m.len; i++)
        rc = add_piece(m.draft[i], out, e);
    if (rc == 0)
        rc = curriculum_finish(out, "decomposition", e);
    merging_release(&m);
    return rc;
}
