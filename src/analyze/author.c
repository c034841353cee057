/* author.c: a report for the author of a language. */
#include "analyze/author.h"

#include "analyze/words.h"
#include "base/mem.h"
#include "run/summary.h"
#include "source/primitives.h"
#include "verify/verdict.h"
#include "views/views.h"

#include <stdlib.h>
#include <string.h>

#define FAILURES     20 /* clusters of a run that are listed */
#define SAMPLES      5  /* … with a sample */
#define SAMPLE_LINES 12
#define SAMPLE_WIDTH 160

/* ---- failures ---- */

static int64_t number(const json_t *v, const char *key)
{
    return json_integer_value(json_object_get(v, key));
}

static json_t *clusters_of(struct analyze_run *r, struct err *e)
{
    struct run_view *one[1] = {&r->view};
    json_t *all = views_clusters(one, 1, e),
           *list = json_object_get(
               json_array_get(json_object_get(all, "runs"), 0), "clusters");

    json_incref(list);
    json_decref(all);
    return list;
}

static int fill_failures(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"run",    "attempts", "tasks",
                                        "solved", "verdict",  "diagnostic",
                                        "first",  NULL};

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        json_t *list = clusters_of(&a->run[i], e), *c;
        size_t k;

        if (e->kind != ERR_NONE)
            return -1;
        json_array_foreach(list, k, c)
        {
            if (k == FAILURES)
                break;
            table_text(t, a->run[i].name);
            table_int(t, number(c, "attempts"));
            table_int(t, number(c, "tasks"));
            table_int(t, number(c, "solved"));
            table_text(t, jsn_str(c, "verdict"));
            table_text(t, jsn_str(c, "error"));
            table_text(t, arena_printf(&a->memory, "%s, attempt %lld",
                                       jsn_str(c, "task"),
                                       (long long)number(c, "attempt")));
        }
        json_decref(list);
    }
    table_note(t, "numbers in diagnostics aside; solved: of these tasks, in "
                  "the end");
    return table_rows(t) ? 0 : table_lacks(t, "no attempt failed");
}

/* The first lines of the feedback, indented: nothing in it is markup. */
static int put_sample(struct analyze_run *r, const json_t *cluster,
                      struct buf *out, struct err *e)
{
    struct run_task *task = run_view_task(&r->view, jsn_str(cluster, "task"));
    struct run_attempt *at =
        task ? run_view_attempt(task, number(cluster, "attempt")) : NULL;
    json_t *record = at ? run_view_record(&r->view, at, e) : NULL;
    struct str rest = str_of(jsn_str(record, "feedback")), line;
    int lines = 0;

    if (e->kind != ERR_NONE)
        return -1;
    for (bool more = rest.n > 0; more && lines < SAMPLE_LINES; lines++) {
        more = str_cut(&rest, '\n', &line);
        buf_puts(out, "    ");
        table_put_line(more ? line : rest, SAMPLE_WIDTH, out);
        buf_putc(out, '\n');
    }
    json_decref(record);
    return lines;
}

static int put_samples(struct analyze_run *r, struct buf *out, struct err *e)
{
    json_t *list = clusters_of(r, e), *c;
    size_t k;
    int rc = e->kind == ERR_NONE ? 0 : -1;

    json_array_foreach(list, k, c)
    {
        if (rc < 0 || k == SAMPLES)
            break;
        buf_printf(out,
                   "\nWhat the model was told, for the diagnostic in row "
                   "%zu of ",
                   k + 1);
        table_put_md(r->name, out);
        buf_puts(out, ":\n\n");
        rc = put_sample(r, c, out, e);
        if (rc == 0)
            buf_puts(out, "    (nothing)\n");
    }
    json_decref(list);
    return rc < 0 ? -1 : 0;
}

/* ---- hints ---- */

struct fired {
    const char *text;
    int64_t attempts, followed, further; /* followed: by another attempt */
};

struct firing {
    struct fired *hint;
    size_t len, cap;
    struct map by_key; /* the place, in `memory` */
    struct fired none; /* failed attempts without a hint */
    struct arena memory;
};

/* `text` NULL: no hint fired. */
static struct fired *find_hint(struct firing *f, const char *text)
{
    struct buf key;
    size_t *at;

    if (!text)
        return &f->none;
    buf_init(&key, BUF_UNLIMITED);
    verdict_error_kind(text, &key);
    at = map_get(&f->by_key, (struct str){key.data, key.len});
    if (!at) {
        f->hint = xgrow(f->hint, &f->cap, f->len, sizeof(*f->hint));
        f->hint[f->len] =
            (struct fired){.text = arena_strdup(&f->memory, text)};
        at = arena_alloc(&f->memory, sizeof(*at));
        *at = f->len++;
        map_set(&f->by_key, (struct str){key.data, key.len}, at);
    }
    buf_release(&key);
    return &f->hint[*at];
}

static int count_hints(struct analyze_run *r, struct firing *f, struct err *e)
{
    for (size_t i = 0; i < r->tasks; i++) {
        const struct run_task *task = r->task[i].task;

        for (size_t k = 0; k < task->attempts; k++) {
            const struct run_attempt *at = &task->attempt[k], *next = at + 1;
            json_t *record;
            struct fired *x;

            if (verdict_of(at->row.verdict) == VERDICT_CORRECT)
                continue;
            record = run_view_record(&r->view, at, e);
            if (e->kind != ERR_NONE)
                return -1;
            x = find_hint(f, views_hint(record));
            json_decref(record);
            x->attempts++;
            if (k + 1 < task->attempts) {
                x->followed++;
                x->further += next->row.fitness > at->row.fitness;
            }
        }
    }
    return 0;
}

static int more_attempts(const void *a, const void *b)
{
    const struct fired *x = a, *y = b;

    if (x->attempts != y->attempts)
        return x->attempts < y->attempts ? 1 : -1;
    return strcmp(x->text, y->text);
}

static void put_hint(struct table *t, const struct analyze_run *r,
                     const struct fired *x, const char *text)
{
    table_text(t, r->name);
    table_text(t, text);
    table_int(t, x->attempts);
    table_int(t, x->followed);
    table_int(t, x->further);
    if (x->followed)
        table_share(t, (double)x->further / (double)x->followed);
    else
        table_empty(t);
}

static int hints_of_run(struct analyze_run *r, struct table *t, struct err *e)
{
    struct firing f = {0};
    int rc;

    arena_init(&f.memory);
    map_init(&f.by_key);
    rc = count_hints(r, &f, e);
    if (rc == 0 && f.len) {
        qsort(f.hint, f.len, sizeof(*f.hint), more_attempts);
        for (size_t i = 0; i < f.len; i++)
            put_hint(t, r, &f.hint[i], f.hint[i].text);
        put_hint(t, r, &f.none, "(no hint)");
    }
    free(f.hint);
    map_release(&f.by_key);
    arena_release(&f.memory);
    return rc;
}

static int fill_hints(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"run",     "hint",  "fired", "followed",
                                        "further", "share", NULL};

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++)
        if (hints_of_run(&a->run[i], t, e) < 0)
            return -1;
    table_note(t, "followed: by another attempt at the task; further: that "
                  "attempt had a higher fitness. Only methods that show "
                  "feedback let the next attempt see the hint: refine, evolve "
                  "and combined");
    return table_rows(t) ? 0 : table_lacks(t, "no hint fired");
}

/* ---- words ---- */

static int fill_unused(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"run", "primitive", "taught by",
                                        "failed attempts", NULL};

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        struct words_usage u;
        int rc = words_usage_read(&a->run[i], &u, e);
        const char **name = words_sorted(&u.taught, &u.memory);

        for (size_t k = 0; rc == 0 && k < u.taught.len; k++) {
            struct str key = str_of(name[k]);

            if (map_get(&u.solved, key))
                continue;
            table_text(t, a->run[i].name);
            table_text(t, name[k]);
            table_text(t, map_get(&u.seeds, key) ? "seeds" : "guide");
            table_int(t, words_number(&u.failed, key));
        }
        words_usage_release(&u);
        if (rc < 0)
            return -1;
    }
    table_note(t, "taught, but in no solved kernel; with 0 failed attempts, "
                  "nobody ever tried it");
    return table_rows(t) ? 0
                         : table_lacks(t, "every primitive that was taught is "
                                          "used by a solved kernel");
}

/* Failed attempts that use the name, with a diagnostic that mentions it. */
static int count_named(struct analyze_run *r, const char *name, int64_t *out,
                       struct err *e)
{
    *out = 0;
    for (size_t i = 0; i < r->tasks; i++)
        for (size_t k = 0; k < r->task[i].task->attempts; k++) {
            struct run_attempt *at = &r->task[i].task->attempt[k];
            const char *error;

            if (at->row.solved)
                continue;
            error = run_view_error(&r->view, at, e);
            if (!error)
                return -1;
            *out += words_has(error, name);
        }
    return 0;
}

static int invented_in(struct analyze_run *r, struct table *t, struct err *e)
{
    struct words_usage u;
    int rc = words_usage_read(r, &u, e);
    const char **name = words_sorted(&u.failed, &u.memory);

    for (size_t k = 0; rc == 0 && k < u.failed.len; k++) {
        struct str key = str_of(name[k]);
        int64_t named;

        if (map_get(&u.taught, key) || map_get(&u.solved, key))
            continue;
        rc = count_named(r, name[k], &named, e);
        table_text(t, r->name);
        table_text(t, name[k]);
        table_int(t, words_number(&u.failed, key));
        table_int(t, named);
    }
    words_usage_release(&u);
    return rc;
}

static int fill_invented(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"run", "name", "failed attempts",
                                        "in diagnostics", NULL};

    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++)
        if (invented_in(&a->run[i], t, e) < 0)
            return -1;
    table_note(t, "used, but neither taught nor in a solved kernel; in "
                  "diagnostics: failed attempts whose first error line has the "
                  "name. A name may exist without being taught");
    return table_rows(t) ? 0 : table_lacks(t, "no such name was used");
}

/* ---- the whole ---- */

static const struct analyze_kind kinds[] = {
    {"failures", "what went wrong, by diagnostic", fill_failures},
    {"hints", "hints that fired, and whether the next attempt got further",
     fill_hints},
    {"unused", "primitives that were taught and never worked", fill_unused},
    {"invented", "names that nobody taught and that never worked",
     fill_invented},
    {0},
};

int author_report(struct analysis *a, struct buf *out, struct err *e)
{
    if (analysis_read(a, e) < 0)
        return -1;
    buf_puts(out, "# What runs say about a language\n");
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];

        buf_puts(out, "\n- ");
        table_put_md(r->name, out);
        buf_puts(out, ": ");
        table_put_md(r->dsl, out);
        buf_puts(out, ", ");
        table_put_md(r->model, out);
        buf_puts(out, ", ");
        table_put_md(r->method, out);
        buf_printf(out, "; solved %zu of %zu tasks\n", r->solved, r->tasks);
    }
    for (const struct analyze_kind *k = kinds; k->name; k++) {
        struct table t;

        if (analyze_fill(k, a, &t, e) < 0)
            return -1;
        buf_putc(out, '\n');
        if (t.missing)
            buf_printf(out, "### %s\n\n%s: %s.\n", k->name, k->what, t.missing);
        table_print(&t, TABLE_MD, out);
        table_release(&t);
        for (size_t i = 0; k == kinds && i < a->runs; i++)
            if (put_samples(&a->run[i], out, e) < 0)
                return -1;
    }
    return 0;
}
