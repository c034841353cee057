/* clusters.c: failed attempts, put together by what went wrong. */
#include "views/views_int.h"

#include "base/map.h"
#include "base/mem.h"
#include "run/summary.h"

#include <stdlib.h>
#include <string.h>

#define CLUSTERS 200 /* of a run; the others are only counted */

/* Attempts with the same verdict and, figures aside, the same error. */
struct cluster {
    const char *verdict, *error, *hint; /* of the first; hint may be NULL */
    const struct run_attempt *first;
    int64_t attempts, tasks, solved; /* solved: of the tasks, in the end */
    int64_t last_task;
};

struct sorting {
    struct run_view *v;
    struct cluster *cluster;
    size_t len, cap;
    struct map by_failure; /* to the place, in `memory` */
    struct arena memory;
};

const char *views_hint(const char *feedback)
{
    const char *found = NULL;

    for (const char *p = strstr(feedback, "\nHint: "); p;
         p = strstr(p + 1, "\nHint: "))
        found = p + strlen("\nHint: ");
    return found;
}

static void add_cluster(struct sorting *s, struct run_attempt *a, struct err *e)
{
    json_t *record = run_view_record(s->v, a, e);
    const char *hint = views_hint(jsn_str(record, "feedback"));

    s->cluster = xgrow(s->cluster, &s->cap, s->len, sizeof(*s->cluster));
    s->cluster[s->len++] =
        (struct cluster){.verdict = a->row.verdict,
                         .error = run_view_error(s->v, a, e),
                         .hint = hint ? arena_strdup(&s->memory, hint) : NULL,
                         .first = a,
                         .last_task = -1};
    json_decref(record);
}

static int find_place(struct sorting *s, struct run_attempt *a, size_t *place,
                      struct err *e)
{
    const char *failure = run_view_failure(s->v, a, e);
    struct str key = {(const char *)&failure, sizeof(failure)};
    size_t *at = map_get(&s->by_failure, key);

    if (!failure)
        return -1;
    if (!at) {
        at = arena_alloc(&s->memory, sizeof(*at));
        *at = s->len;
        add_cluster(s, a, e);
        map_set(&s->by_failure, key, at);
    }
    *place = *at;
    return e->kind == ERR_NONE ? 0 : -1;
}

static int add_attempt(struct sorting *s, struct run_attempt *a, bool solved,
                       struct err *e)
{
    struct cluster *c;
    size_t place;

    if (verdict_of(a->row.verdict) == VERDICT_CORRECT)
        return 0;
    if (find_place(s, a, &place, e) < 0)
        return -1;
    c = &s->cluster[place];
    c->attempts++;
    if (c->last_task != a->row.task) {
        c->tasks++;
        c->solved += solved;
    }
    c->last_task = a->row.task;
    return 0;
}

static int sort_all(struct sorting *s, struct err *e)
{
    for (size_t i = 0; i < s->v->tasks; i++) {
        const struct run_task *t = &s->v->task[i];
        bool solved = summary_solved_at(t) > 0;

        for (size_t k = 0; k < t->attempts; k++)
            if (add_attempt(s, &t->attempt[k], solved, e) < 0)
                return -1;
    }
    return 0;
}

static int more_attempts(const void *a, const void *b)
{
    const struct cluster *x = a, *y = b;

    if (x->attempts != y->attempts)
        return x->attempts < y->attempts ? 1 : -1;
    if (x->first->row.task != y->first->row.task)
        return x->first->row.task < y->first->row.task ? -1 : 1;
    return x->first->row.attempt < y->first->row.attempt ? -1 : 1;
}

static json_t *cluster_json(const struct run_view *v, const struct cluster *c)
{
    const struct row_attempt *r = &c->first->row;

    return json_pack(
        "{s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:I}", "verdict", c->verdict,
        "error", views_text(c->error), "hint", views_text(c->hint), "attempts",
        (json_int_t)c->attempts, "tasks", (json_int_t)c->tasks, "solved",
        (json_int_t)c->solved, "task", views_text(v->task[r->task].row.id),
        "attempt", (json_int_t)r->attempt);
}

static json_t *one_run(struct run_view *v, struct err *e)
{
    struct sorting s = {.v = v};
    json_t *list = NULL;
    int64_t failed = 0;

    map_init(&s.by_failure);
    arena_init(&s.memory);
    if (sort_all(&s, e) == 0) {
        list = json_array();
        if (s.len)
            qsort(s.cluster, s.len, sizeof(*s.cluster), more_attempts);
        for (size_t i = 0; i < s.len; i++) {
            failed += s.cluster[i].attempts;
            if (i < CLUSTERS)
                json_array_append_new(list, cluster_json(v, &s.cluster[i]));
        }
    }
    map_release(&s.by_failure);
    arena_release(&s.memory);
    free(s.cluster);
    return list ? json_pack("{s:I, s:I, s:o}", "failed", (json_int_t)failed,
                            "kinds", (json_int_t)s.len, "clusters", list)
                : NULL;
}

json_t *views_clusters(struct run_view *const *runs, size_t n, struct err *e)
{
    return views_each(runs, n, one_run, e);
}
