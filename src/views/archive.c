/* archive.c: the members of an archive: where each was shown, which solves
 * followed, and the lineage from the seeds outward. */
#include "views/views_int.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PLACES 40 /* attempts that an entry lists; more are only counted */

struct member {
    int64_t shown, solved, depth;
    json_t *places; /* [[task, attempt, solved], …] */
};

/* The attempt that an entry came from; NULL: from outside the run. */
static const struct run_attempt *origin_of(const struct run_view *v,
                                           const struct row_entry *x)
{
    if (x->task < 0 || (size_t)x->task >= v->all)
        return NULL;
    return run_view_attempt(&v->task[x->task], x->attempt);
}

static void add_places(const struct run_view *v, const struct run_attempt *a,
                       struct member *member)
{
    for (size_t k = 0; k < a->shown_len; k++) {
        const struct row_entry *x = run_view_entry(v, a->shown[k].entry);
        struct member *m = x ? &member[x->entry - 1] : NULL;

        if (!m)
            continue;
        m->solved += a->row.solved;
        if (m->shown++ < PLACES && (size_t)a->row.task < v->tasks)
            json_array_append_new(
                m->places,
                json_pack("[I, I, b]", (json_int_t)a->row.task,
                          (json_int_t)a->row.attempt, a->row.solved));
    }
}

/* Entries join after the examples they were shown, so those come first. */
static json_t *parents_of(const struct run_view *v, size_t i,
                          struct member *member)
{
    const struct run_attempt *a = origin_of(v, &v->entry[i]);
    json_t *list = json_array();

    for (size_t k = 0; a && k < a->shown_len; k++) {
        const struct row_entry *x = run_view_entry(v, a->shown[k].entry);

        if (!x || x->entry > (int64_t)i)
            continue;
        json_array_append_new(list, json_integer(x->entry));
        if (member[x->entry - 1].depth >= member[i].depth)
            member[i].depth = member[x->entry - 1].depth + 1;
    }
    return list;
}

static json_t *one_run(struct run_view *v, struct err *e)
{
    struct member *member = xcalloc(v->entries + 1, sizeof(*member));
    json_t *list = json_array();

    (void)e;
    for (size_t i = 0; i < v->entries; i++)
        member[i].places = json_array();
    for (size_t i = 0; i < v->all; i++)
        for (size_t k = 0; k < v->task[i].attempts; k++)
            add_places(v, &v->task[i].attempt[k], member);
    for (size_t i = 0; i < v->entries; i++) {
        const struct row_entry *x = &v->entry[i];
        json_t *parents = parents_of(v, i, member);

        json_array_append_new(
            list,
            json_pack("{s:I, s:o, s:s?, s:o, s:I, s:I, s:I, s:o, s:I, s:I, "
                      "s:I, s:o}",
                      "entry", (json_int_t)x->entry, "name",
                      views_text(x->name), "origin", x->origin, "task",
                      x->task < 0 || (size_t)x->task >= v->tasks
                          ? json_null()
                          : json_integer(x->task),
                      "attempt", (json_int_t)x->attempt, "version",
                      (json_int_t)x->version, "left", (json_int_t)x->withdrawn,
                      "parents", parents, "depth", (json_int_t)member[i].depth,
                      "shown", (json_int_t)member[i].shown, "solved",
                      (json_int_t)member[i].solved, "places",
                      member[i].places));
    }
    free(member);
    return json_pack("{s:o}", "entries", list);
}

json_t *views_archive(struct run_view *const *runs, size_t n, struct err *e)
{
    return views_each(runs, n, one_run, e);
}
