/* views.c: a run as the page shows it, from the rows that are in memory: a page that
 * follows a run asks again and again, and only what is new is read. */
#include "analyze/views.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/str.h"
#include "run/query.h"
#include "run/summary.h"
#include "verify/verdict.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces of JSON ---- */

const struct views_one views_all[VIEWS] = {
    {"overview", views_overview}, {"grid", views_grid},
    {"archive", views_archive},   {"clusters", views_clusters},
    {"kernels", views_kernels},   {"workers", views_workers},
};

static void views_put_line(struct str line, struct buf *out)
{
    size_t n = str_utf8_cut(line.p, line.n, VIEWS_LONGEST_LINE);

    buf_put(out, line.p, n);
    if (n < line.n)
        buf_printf(out, " … [%zu more bytes in this line]", line.n - n);
}

/* Sized for people: the whole text is in the store. */
static json_t *views_cut_text(const char *p, size_t n)
{
    size_t most = str_utf8_cut(p, n, VIEWS_LONGEST_TEXT);
    struct str rest = {p, n}, line;
    struct buf out;
    json_t *text;
    bool more = true;

    buf_init(&out, BUF_UNLIMITED);
    while (more && out.len < most) {
        more = str_cut(&rest, '\n', &line);
        views_put_line(more ? line : rest, &out);
        if (more)
            buf_putc(&out, '\n');
    }
    if (more && rest.n)
        buf_printf(&out, "… [%zu more bytes]\n", rest.n);
    text = jsn_text(buf_str(&out), out.len);
    buf_release(&out);
    return text;
}

static bool views_is_long(const char *p, size_t n)
{
    size_t line = 0;

    if (n > VIEWS_LONGEST_TEXT)
        return true;
    for (size_t i = 0; i < n && line <= VIEWS_LONGEST_LINE; i++)
        line = p[i] == '\n' ? 0 : line + 1;
    return line > VIEWS_LONGEST_LINE;
}

json_t *views_text(const char *s)
{
    size_t n = s ? strlen(s) : 0;

    if (!s)
        return json_null();
    return views_is_long(s, n) ? views_cut_text(s, n) : jsn_text(s, n);
}

json_t *views_cut(json_t *v)
{
    const char *key;
    json_t *x;
    size_t i;

    if (json_is_string(v) &&
        views_is_long(json_string_value(v), json_string_length(v))) {
        x = views_cut_text(json_string_value(v), json_string_length(v));
        json_decref(v);
        return x;
    }
    if (json_is_object(v))
        json_object_foreach(v, key, x)
            json_object_set_new(v, key, views_cut(json_incref(x)));
    if (json_is_array(v))
        json_array_foreach(v, i, x)
            json_array_set_new(v, i, views_cut(json_incref(x)));
    return v;
}

/* NaN is null. */
static json_t *views_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* {KEY: …, …} for each run, in a list: {"runs": [...]}. `make` returns NULL with an error. */
static json_t *views_each(struct run_view *const *runs, size_t n,
                          json_t *(*make)(struct run_view *v, struct err *e),
                          struct err *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *one = make(runs[i], e);

        if (!one) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, one);
    }
    return json_pack("{s:o}", "runs", list);
}

/* ---- what kind of program a task is ---- */

/* The first row with an operator that fits decides, so what a program is
 * mostly about comes first. "=mm" is the whole name, "conv" a part of it. */
static const struct family {
    const char *name;
    const char *ops[18];
} families[] = {
    {"recurrence", {"=rnn", "=lstm", "=gru", "rnncell", "lstmcell", "grucell"}},
    {"attention", {"attention"}},
    {"convolution", {"conv"}},
    {"loss", {"loss", "cross_entropy", "kl_div"}},
    {"matrix product",
     {"matmul", "linear", "einsum", "addmm", "bmm", "=mm", "=dot", "outer",
      "=mv"}},
    {"pooling", {"pool"}},
    {"normalisation", {"norm"}},
    {"scan", {"cumsum", "cumprod", "cummax", "cummin", "cumulative"}},
    {"softmax", {"softmax", "softmin"}},
    {"reduction",
     {"=sum", "=mean", "=prod", "=max", "=min", "=amax", "=amin", "argmax",
      "argmin", "logsumexp", "=std", "=var", "=all", "=any", "=median"}},
    {"movement",
     {"=cat", "=stack", "transpose", "permute", "gather", "scatter", "=flip",
      "=roll", "index_select", "=pad", "embedding", "=sort", "topk", "=tril",
      "=triu"}},
};

static bool family_fits(struct str op, const char *pattern)
{
    char low[64];
    size_t n = op.n < sizeof(low) - 1 ? op.n : sizeof(low) - 1;

    for (size_t i = 0; i < n; i++)
        low[i] = (char)tolower((unsigned char)op.p[i]);
    low[n] = '\0';
    if (pattern[0] == '=')
        return strcmp(low, pattern + 1) == 0;
    return strstr(low, pattern) != NULL;
}

static bool family_has_one(const char *ops, const struct family *f)
{
    struct str rest = str_of(ops), op;

    while (str_part(&rest, '\n', &op))
        for (size_t i = 0; i < 18 && f->ops[i]; i++)
            if (family_fits(op, f->ops[i]))
                return true;
    return false;
}

/* Attention is often written out. */
static const struct family product = {"", {"matmul", "bmm", "einsum"}},
                           soft = {"", {"softmax"}};

const char *views_family(const char *ops)
{
    if (!ops || !ops[0])
        return "unknown";
    if (family_has_one(ops, &product) && family_has_one(ops, &soft))
        return "attention";
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (family_has_one(ops, &families[i]))
            return families[i].name;
    return "element-wise";
}

/* ---- tasks x attempts ---- */

#define MOST_ATTEMPTS 10000

/* One letter per attempt, from attempt 1: 'a' is verdicts[0]; '-' is missing. */
static json_t *grid_letters(const struct run_task *t)
{
    struct buf b;
    json_t *text;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < t->attempts; i++) {
        const struct row_attempt *r = &t->attempt[i].row;
        enum verdict v = verdict_of(r->verdict);

        while (b.len < MOST_ATTEMPTS && (int64_t)b.len + 1 < r->attempt)
            buf_putc(&b, '-');
        buf_putc(&b, v < VERDICTS ? (char)('a' + (int)v) : '-');
    }
    text = json_stringn(buf_str(&b), b.len);
    buf_release(&b);
    return text;
}

/* Numbers of the operators in a list that all tasks share. */
static json_t *grid_operators(const struct run_task *t, struct map *known)
{
    struct str rest = str_of(t->row.ops ? t->row.ops : ""), op;
    json_t *list = json_array();

    while (str_part(&rest, '\n', &op)) {
        uintptr_t at;

        if (!op.n)
            continue;
        at = (uintptr_t)map_get(known, op);
        if (!at) {
            at = known->len + 1;
            map_set(known, op, (void *)at);
        }
        json_array_append_new(list, json_integer((json_int_t)at - 1));
    }
    return list;
}

/* The first part of an id: "L1/19" is of L1. */
static json_t *grid_level(const char *id)
{
    size_t n = strcspn(id, "/");

    return jsn_text(id, id[n] ? n : 0);
}

/* A record that cannot be read is an error of the views that show it. */
static bool grid_is_doubted(struct run_view *v, struct run_attempt *best)
{
    struct err ignored = ERR_INIT;
    const char *doubt = run_view_doubt(v, best, &ignored);

    return doubt && doubt[0];
}

static json_t *grid_row(struct run_view *v, const struct run_task *t,
                        struct map *known)
{
    struct run_attempt *best = run_task_best(t);
    int64_t solved_at = summary_solved_at(t);

    return json_pack(
        "[o, o, s, o, o, I, o, o, i]", views_text(t->row.id),
        grid_level(t->row.id), views_family(t->row.ops),
        grid_operators(t, known), grid_letters(t), (json_int_t)solved_at,
        solved_at && best ? views_real(summary_speedup(best)) : json_null(),
        views_text(t->row.skipped),
        solved_at && best && grid_is_doubted(v, best));
}

/* The tasks that changed after version `since`; -1: all, without places. */
static json_t *grid_one_run(struct run_view *v, int64_t since)
{
    json_t *tasks = json_array(), *names = json_array(),
           *places = since < 0 ? NULL : json_array();
    struct map known;

    map_init(&known);
    for (size_t i = 0; i < v->tasks; i++) {
        if (v->task[i].version <= since)
            continue;
        json_array_append_new(tasks, grid_row(v, &v->task[i], &known));
        if (places)
            json_array_append_new(places, json_integer((json_int_t)i));
    }
    for (size_t i = 0; i < known.len; i++)
        json_array_append_new(
            names, jsn_text(known.items[i].key, known.items[i].key_len));
    map_release(&known);
    return json_pack("{s:I, s:I, s:o, s:o*, s:o}", "version",
                     (json_int_t)v->version, "count", (json_int_t)v->tasks,
                     "operators", names, "places", places, "tasks", tasks);
}

json_t *views_grid_since(struct run_view *const *runs, size_t n,
                         const int64_t *since)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list,
                              grid_one_run(runs[i], since ? since[i] : -1));
    return json_pack("{s:[s, s, s, s, s, s, s, s, s], s:o}", "columns", "task",
                     "level", "family", "operators", "verdicts", "solved_at",
                     "speedup", "skipped", "doubt", "runs", list);
}

json_t *views_grid(struct run_view *const *runs, size_t n, struct err *e)
{
    (void)e;
    return views_grid_since(runs, n, NULL);
}

/* ---- the members of an archive ---- */

#define PLACES 40 /* attempts that an entry lists; more are only counted */

struct member {
    int64_t shown, solved, depth;
    json_t *places; /* [[task, attempt, solved], …] */
};

/* The attempt that an entry came from; NULL: from outside the run. */
static const struct run_attempt *archive_origin_of(const struct run_view *v,
                                                   const struct row_entry *x)
{
    if (x->task < 0 || (size_t)x->task >= v->all)
        return NULL;
    return run_view_attempt(&v->task[x->task], x->attempt);
}

static void archive_add_places(const struct run_view *v,
                               const struct run_attempt *a,
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
static json_t *archive_parents_of(const struct run_view *v, size_t i,
                                  struct member *member)
{
    const struct run_attempt *a = archive_origin_of(v, &v->entry[i]);
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

static json_t *archive_one_run(struct run_view *v, struct err *e)
{
    struct member *member = xcalloc(v->entries + 1, sizeof(*member));
    json_t *list = json_array();

    (void)e;
    for (size_t i = 0; i < v->entries; i++)
        member[i].places = json_array();
    for (size_t i = 0; i < v->all; i++)
        for (size_t k = 0; k < v->task[i].attempts; k++)
            archive_add_places(v, &v->task[i].attempt[k], member);
    for (size_t i = 0; i < v->entries; i++) {
        const struct row_entry *x = &v->entry[i];
        json_t *parents = archive_parents_of(v, i, member);

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
    return views_each(runs, n, archive_one_run, e);
}

/* ---- why attempts failed ---- */

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

static void cluster_add_cluster(struct sorting *s, struct run_attempt *a,
                                struct err *e)
{
    json_t *record = run_view_record(s->v, a, e);
    const char *hint = verdict_hint(jsn_str(record, "feedback"));

    s->cluster = xgrow(s->cluster, &s->cap, s->len, sizeof(*s->cluster));
    s->cluster[s->len++] =
        (struct cluster){.verdict = a->row.verdict,
                         .error = run_view_error(s->v, a, e),
                         .hint = hint ? arena_strdup(&s->memory, hint) : NULL,
                         .first = a,
                         .last_task = -1};
    json_decref(record);
}

static int cluster_find_place(struct sorting *s, struct run_attempt *a,
                              size_t *place, struct err *e)
{
    const char *failure = run_view_failure(s->v, a, e);
    struct str key = {(const char *)&failure, sizeof(failure)};
    size_t *at = map_get(&s->by_failure, key);

    if (!failure)
        return -1;
    if (!at) {
        at = arena_alloc(&s->memory, sizeof(*at));
        *at = s->len;
        cluster_add_cluster(s, a, e);
        map_set(&s->by_failure, key, at);
    }
    *place = *at;
    return e->kind == ERR_NONE ? 0 : -1;
}

static int cluster_add_attempt(struct sorting *s, struct run_attempt *a,
                               bool solved, struct err *e)
{
    struct cluster *c;
    size_t place;

    if (verdict_of(a->row.verdict) == VERDICT_CORRECT)
        return 0;
    if (cluster_find_place(s, a, &place, e) < 0)
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

static int cluster_sort_all(struct sorting *s, struct err *e)
{
    for (size_t i = 0; i < s->v->tasks; i++) {
        const struct run_task *t = &s->v->task[i];
        bool solved = summary_solved_at(t) > 0;

        for (size_t k = 0; k < t->attempts; k++)
            if (cluster_add_attempt(s, &t->attempt[k], solved, e) < 0)
                return -1;
    }
    return 0;
}

static int cluster_more_attempts(const void *a, const void *b)
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

static json_t *cluster_one_run(struct run_view *v, struct err *e)
{
    struct sorting s = {.v = v};
    json_t *list = NULL;
    int64_t failed = 0;

    map_init(&s.by_failure);
    arena_init(&s.memory);
    if (cluster_sort_all(&s, e) == 0) {
        list = json_array();
        if (s.len)
            qsort(s.cluster, s.len, sizeof(*s.cluster), cluster_more_attempts);
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
    return views_each(runs, n, cluster_one_run, e);
}

/* ---- the correct kernels ---- */

struct measured {
    double *eager, *compile; /* speed-ups of the tasks that take part */
    double *timed;           /* the eager ones that are known */
    size_t n, timed_len;
    int64_t implausible;
    const char *gpu;
    struct arena memory;
};

static json_int_t kernels_number_in(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Bytes that a call touches at least, over its time. Small programs live in a
 * cache, so this may exceed what the memory can do. */
static json_t *kernels_kernel_json(const struct run_task *t,
                                   const struct run_attempt *a,
                                   const json_t *record, const char *doubt)
{
    const json_t *trace = json_object_get(record, "trace");
    json_int_t read = kernels_number_in(trace, "bytes_read"),
               written = kernels_number_in(trace, "bytes_written");
    bool traced = json_is_object(trace);
    double ms = verdict_ms(record, "ms");

    return json_pack("[o, I, o, o, o, o, o, o, o, o]", views_text(t->row.id),
                     (json_int_t)a->row.attempt,
                     views_real(verdict_speedup(record, "reference_ms")),
                     views_real(verdict_speedup(record, "compile_ms")),
                     traced ? json_integer(kernels_number_in(trace, "launches"))
                            : json_null(),
                     traced ? json_integer(read) : json_null(),
                     traced ? json_integer(written) : json_null(),
                     ms > 0 ? json_real(ms) : json_null(),
                     traced && ms > 0
                         ? json_real((double)(read + written) / ms * 1e3)
                         : json_null(),
                     doubt[0] ? views_text(doubt) : json_null());
}

static int kernels_add_kernel(struct run_view *v, const struct run_task *t,
                              struct measured *m, json_t *list, struct err *e)
{
    struct run_attempt *a = run_task_best(t);
    const char *doubt;
    json_t *record;
    double x;

    m->eager[m->n] = m->compile[m->n] = (double)NAN;
    m->n++;
    if (!a || !a->row.solved)
        return 0;
    record = run_view_record(v, a, e);
    if (!record)
        return e->kind == ERR_NONE ? 0 : -1;
    x = m->eager[m->n - 1] = verdict_speedup(record, "reference_ms");
    m->compile[m->n - 1] = verdict_speedup(record, "compile_ms");
    if (!isnan(x))
        m->timed[m->timed_len++] = x;
    if (!m->gpu)
        m->gpu = arena_strdup(
            &m->memory, jsn_str(json_object_get(record, "environment"), "gpu"));
    doubt = run_view_doubt(v, a, e);
    if (doubt) {
        m->implausible += doubt[0] != '\0';
        json_array_append_new(list, kernels_kernel_json(t, a, record, doubt));
    }
    json_decref(record);
    return doubt ? 0 : -1;
}

/* [[p, share above p of the eager reference, … of torch.compile], …] */
static json_t *kernels_fast_json(const struct measured *m)
{
    static const double at[] = {0,   0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8,
                                0.9, 1,   1.2, 1.5, 2,   2.5, 3,   4,   5,
                                6,   8,   10,  15,  20,  50,  100};
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
        json_array_append_new(
            list, json_pack("[f, f, f]", at[i],
                            stats_fast_p(m->eager, m->n, at[i], false),
                            stats_fast_p(m->compile, m->n, at[i], false)));
    return list;
}

static json_t *kernels_result_json(struct measured *m, json_t *list)
{
    double peak = plausible_bandwidth(m->gpu);
    double mean = stats_geomean(m->timed, m->timed_len);

    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "tasks",
                     (json_int_t)m->n, "timed", (json_int_t)m->timed_len,
                     "implausible", (json_int_t)m->implausible, "geomean",
                     m->timed_len ? json_real(mean) : json_null(), "median",
                     views_real(stats_quantile(m->timed, m->timed_len, 0.5)),
                     "fast_p", kernels_fast_json(m), "gpu",
                     m->gpu && m->gpu[0] ? views_text(m->gpu) : json_null(),
                     "peak_bytes_per_s",
                     peak > 0 ? json_real(peak) : json_null(), "kernels", list);
}

static json_t *kernels_one_run(struct run_view *v, struct err *e)
{
    struct measured m = {0};
    json_t *list = json_array(), *j = NULL;
    int rc = 0;

    m.eager = xcalloc(v->tasks + 1, sizeof(*m.eager));
    m.compile = xcalloc(v->tasks + 1, sizeof(*m.compile));
    m.timed = xcalloc(v->tasks + 1, sizeof(*m.timed));
    arena_init(&m.memory);
    for (size_t i = 0; rc == 0 && i < v->tasks; i++)
        if (!v->task[i].row.skipped)
            rc = kernels_add_kernel(v, &v->task[i], &m, list, e);
    if (rc == 0)
        j = kernels_result_json(&m, json_incref(list));
    json_decref(list);
    arena_release(&m.memory);
    free(m.eager);
    free(m.compile);
    free(m.timed);
    return j;
}

json_t *views_kernels(struct run_view *const *runs, size_t n, struct err *e)
{
    json_t *j = views_each(runs, n, kernels_one_run, e);

    if (j)
        json_object_set_new(j, "columns",
                            json_pack("[s, s, s, s, s, s, s, s, s, s]", "task",
                                      "attempt", "speedup", "speedup_compile",
                                      "launches", "bytes_read", "bytes_written",
                                      "ms", "bytes_per_s", "doubt"));
    return j;
}

/* ---- one task ---- */

/* What changed in the code since the attempt before. */
static int task_add_diff(json_t *j, struct store *s, int64_t task,
                         int64_t attempt, struct err *e)
{
    const json_t *code = json_object_get(json_object_get(j, "attempt"), "code");
    bool wanted =
        json_is_string(code) && json_string_length(code) <= VIEWS_LONGEST_TEXT;
    json_t *found = query_task_diff(s, task, attempt, e);

    json_object_set(j, "before",
                    found ? json_object_get(found, "before") : json_null());
    json_object_set(j, "diff",
                    found && wanted ? json_object_get(found, "diff")
                                    : json_null());
    json_decref(found);
    return e->kind == ERR_NONE ? 0 : -1;
}

/* Adds one attempt in full; takes the reference, and returns NULL without it. */
static json_t *task_add_attempt(json_t *j, struct store *s, int64_t task,
                                int64_t attempt, struct err *e)
{
    json_t *whole = j ? query_task_attempt(s, task, attempt, e) : NULL;

    if (whole && json_object_set_new(j, "attempt", whole) == 0 &&
        task_add_diff(j, s, task, attempt, e) == 0)
        return views_cut(j);
    json_decref(j);
    return NULL;
}

json_t *views_task(struct run_view *v, struct run_task *t, int64_t attempt,
                   struct err *e)
{
    int64_t task = t->row.ord;
    json_t *j;

    if (!attempt && query_task_best(v->store, task, &attempt, e) < 0)
        return NULL;
    j = query_task(v->store, task, e);
    return attempt ? task_add_attempt(j, v->store, task, attempt, e)
           : j     ? views_cut(j)
                   : NULL;
}

json_t *views_lines(struct run_view *v, struct run_task *t, struct err *e)
{
    json_t *j = query_task(v->store, t->row.ord, e);

    json_object_del(j, "attempt");
    return j ? views_cut(j) : NULL;
}

json_t *views_attempt(struct run_view *v, struct run_task *t, int64_t attempt,
                      struct err *e)
{
    return task_add_attempt(json_object(), v->store, t->row.ord, attempt, e);
}

/* ---- who verifies ---- */

/* Another program wrote it, so it may be anything. */
static json_t *workers_nothing(void)
{
    return json_pack("{s:n, s:[]}", "at", "workers");
}

static json_t *workers_one_run(struct run_view *v, struct err *e)
{
    struct err unread = ERR_INIT;
    json_t *all = run_view_workers(v, &unread);

    (void)e;
    return all ? views_cut(all) : workers_nothing();
}

json_t *views_workers(struct run_view *const *runs, size_t n, struct err *e)
{
    return views_each(runs, n, workers_one_run, e);
}
