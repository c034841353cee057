/* compare.c: what must agree, and who solved what. */
#include "analyze/compare.h"

#include "analyze/kinds.h"
#include "io/term.h"
#include "run/settings.h"
#include "stats/stats.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what must agree ---- */

/* Facts of a run that make a protocol. Method, model and seed may differ: they
 * are what is compared. */
static const struct {
    const char *fact, *title;
} protocol[] = {
    {"dsl", "language"},
    {"pack_hash", "pack"},
    {"precision", "precision"},
    {"device", "device"},
    {"attempts", "attempts per task"},
};

static struct analyze_task *find_task(const struct analyze_run *r,
                                      const char *id)
{
    return map_get(&r->by_id, str_of(id));
}

static bool same_source(const struct analyze_task *a,
                        const struct analyze_task *b)
{
    return a && b && strcmp(a->task->row.hash, b->task->row.hash) == 0;
}

static size_t count_only(const struct analyze_run *a,
                         const struct analyze_run *b, const char **example)
{
    size_t n = 0;

    for (size_t i = 0; i < a->tasks; i++) {
        const char *id = a->task[i].task->row.id;

        if (same_source(&a->task[i], find_task(b, id)))
            continue;
        if (!n++)
            *example = id;
    }
    return n;
}

static void put_only(size_t n, const struct analyze_run *a,
                     const struct analyze_run *b, const char *example,
                     struct buf *out)
{
    if (!n)
        return;
    buf_printf(out, "  tasks: %zu of %s are not in %s, such as ", n, a->name,
               b->name);
    term_cut(example, 80, out); /* an id may hold anything */
    buf_putc(out, '\n');
}

static size_t differ_in_tasks(const struct analyze_run *a,
                              const struct analyze_run *b, struct buf *out)
{
    const char *left = "", *right = "";
    size_t only_a = count_only(a, b, &left), only_b = count_only(b, a, &right);

    put_only(only_a, a, b, left, out);
    put_only(only_b, b, a, right, out);
    return (size_t)(only_a > 0) + (only_b > 0);
}

static size_t differ_in_protocol(struct analyze_run *a, struct analyze_run *b,
                                 struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < sizeof(protocol) / sizeof(*protocol); i++) {
        const char *x = run_view_fact(&a->view, protocol[i].fact),
                   *y = run_view_fact(&b->view, protocol[i].fact);

        if (strcmp(x, y) == 0)
            continue;
        buf_printf(out, "  %s: %.16s in %s, %.16s in %s\n", protocol[i].title,
                   *x ? x : "unknown", a->name, *y ? y : "unknown", b->name);
        n++;
    }
    if (a->seeds != b->seeds) {
        buf_printf(out, "  seeds: %lld in %s, %lld in %s\n",
                   (long long)a->seeds, a->name, (long long)b->seeds, b->name);
        n++;
    }
    return n;
}

static size_t differ_in_option(const char *option, const char *x, const char *y,
                               const char *a, const char *b, struct buf *out)
{
    if (strcmp(x ? x : "", y ? y : "") == 0)
        return 0;
    buf_printf(out, "  %s: %.200s in %s, %.200s in %s\n", option,
               x ? x : "not given", a, y ? y : "not given", b);
    return 1;
}

static const char *given(bool flag)
{
    return flag ? "given" : NULL;
}

/* What run.ini says; a folder without one says nothing. */
static size_t differ_in_options(struct analysis *an, struct analyze_run *a,
                                struct analyze_run *b, struct buf *out)
{
    struct run_settings x = run_defaults, y = run_defaults;
    struct err e = ERR_INIT;
    size_t n = 0;

    if (run_settings_read(a->view.dir, &x, &an->memory, &e) == 0 &&
        run_settings_read(b->view.dir, &y, &an->memory, &e) == 0) {
        n += differ_in_option("--guide", x.guide, y.guide, a->name, b->name,
                              out);
        n += differ_in_option("--prompts", x.prompts, y.prompts, a->name,
                              b->name, out);
        n += differ_in_option("--no-card", given(x.no_card), given(y.no_card),
                              a->name, b->name, out);
        n += differ_in_option("--no-stop", given(x.no_stop), given(y.no_stop),
                              a->name, b->name, out);
    }
    opt_release(run_table, &x);
    opt_release(run_table, &y);
    return n;
}

size_t compare_differences(struct analysis *a, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 1; i < a->runs; i++) {
        n += differ_in_tasks(&a->run[0], &a->run[i], out);
        n += differ_in_protocol(&a->run[0], &a->run[i], out);
        n += differ_in_options(a, &a->run[0], &a->run[i], out);
    }
    return n;
}

static bool all_have(const struct analysis *a, const struct analyze_task *x)
{
    for (size_t i = 0; i < a->runs; i++)
        if (!same_source(x, find_task(&a->run[i], x->task->row.id)))
            return false;
    return true;
}

size_t compare_align(struct analysis *a)
{
    struct analyze_run *first = &a->run[0];
    size_t n = 0;
    struct analyze_task **kept =
        arena_alloc(&a->memory, (first->tasks + 1) * a->runs * sizeof(*kept));

    for (size_t i = 0; i < first->tasks; i++)
        if (all_have(a, &first->task[i]))
            for (size_t k = 0; k < a->runs; k++)
                kept[n++] = find_task(&a->run[k], first->task[i].task->row.id);
    n /= a->runs > 0 ? a->runs : 1;
    for (size_t k = 0; k < a->runs; k++) {
        struct analyze_run *r = &a->run[k];
        struct analyze_task *task =
            arena_alloc(&a->memory, (n + 1) * sizeof(*task));

        r->solved = 0;
        for (size_t i = 0; i < n; i++) {
            task[i] = *kept[i * a->runs + k];
            r->solved += task[i].solved_at != 0;
        }
        r->task = task;
        r->tasks = n;
    }
    return n;
}

/* ---- each run ---- */

struct spent {
    int64_t attempts, input, output, usd_micro, failed[VERDICTS];
};

static struct spent spent_by(const struct analyze_run *r)
{
    struct spent s = {0};

    for (size_t i = 0; i < r->tasks; i++) {
        const struct run_task *t = r->task[i].task;

        s.attempts += (int64_t)t->attempts;
        for (size_t k = 0; k < t->attempts; k++) {
            enum verdict v = verdict_of(t->attempt[k].row.verdict);

            if (v < VERDICTS && v != VERDICT_CORRECT)
                s.failed[v]++;
        }
        for (size_t k = 0; k < t->calls; k++) {
            s.input += t->call[k].input;
            s.output += t->call[k].output;
            s.usd_micro += t->call[k].cost_usd_micro;
        }
    }
    return s;
}

static const char *failures(const struct spent *s, struct arena *a)
{
    const char *text = "";

    for (enum verdict v = 0; v < VERDICTS; v++)
        if (s->failed[v])
            text = arena_printf(a, "%s%s%lld %s", text, *text ? ", " : "",
                                (long long)s->failed[v], verdicts[v].name);
    return text;
}

static double per(double amount, size_t solved)
{
    return solved ? amount / (double)solved : (double)NAN;
}

static int fill_runs(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"tasks",
                                        "solved",
                                        "low",
                                        "high",
                                        "attempts",
                                        "tokens in",
                                        "tokens out",
                                        "dollars",
                                        "tokens per solve",
                                        "dollars per solve",
                                        "not correct",
                                        NULL};

    (void)e;
    kind_run_columns(t);
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];
        struct spent s = spent_by(r);
        struct stats_interval in =
            stats_wilson((int64_t)r->solved, (int64_t)r->tasks);
        double usd = (double)s.usd_micro / 1e6;

        kind_run_cells(t, r);
        table_int(t, (int64_t)r->tasks);
        table_int(t, (int64_t)r->solved);
        table_real(t, in.lo * (double)r->tasks, 1);
        table_real(t, in.hi * (double)r->tasks, 1);
        table_int(t, s.attempts);
        table_int(t, s.input);
        table_int(t, s.output);
        table_real(t, usd, 6);
        table_real(t, per((double)(s.input + s.output), r->solved), 0);
        table_real(t, per(usd, r->solved), 6);
        table_text(t, failures(&s, &a->memory));
    }
    table_note(t, "low and high: Wilson's 95 %% interval, in tasks; tokens and "
                  "dollars: of the calls for these tasks");
    return 0;
}

/* ---- the number of attempts ---- */

static int64_t most_attempts(const struct analysis *a)
{
    int64_t most = 1;

    for (size_t i = 0; i < a->runs; i++)
        most = a->run[i].attempts > most ? a->run[i].attempts : most;
    return most;
}

static int fill_curve(struct analysis *a, struct table *t, struct err *e)
{
    (void)e;
    table_column(t, "attempts");
    for (size_t i = 0; i < a->runs; i++)
        table_column(t, a->run[i].name);
    for (int64_t k = 1; k <= most_attempts(a); k++) {
        table_int(t, k);
        for (size_t i = 0; i < a->runs; i++)
            table_int(t, (int64_t)analyze_solved(&a->run[i], k));
    }
    return 0;
}

/* ---- pairs ---- */

struct pair {
    int64_t both, only_a, only_b;
};

static struct pair pair_up(const struct analyze_run *a,
                           const struct analyze_run *b, int64_t attempts)
{
    struct pair p = {0};

    for (size_t i = 0; i < a->tasks; i++) { /* aligned */
        bool x = a->task[i].solved_at && a->task[i].solved_at <= attempts,
             y = b->task[i].solved_at && b->task[i].solved_at <= attempts;

        p.both += x && y;
        p.only_a += x && !y;
        p.only_b += !x && y;
    }
    return p;
}

static void put_pair(struct table *t, const struct analyze_run *a,
                     const struct analyze_run *b, int64_t attempts)
{
    struct pair p = pair_up(a, b, attempts);

    table_text(t, a->name);
    table_text(t, b->name);
    table_int(t, attempts);
    table_int(t, p.both);
    table_int(t, p.only_a);
    table_int(t, p.only_b);
    table_real(t, stats_mcnemar(p.only_a, p.only_b), 4);
}

static int fill_pairs(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"one",  "other",    "attempts",
                                        "both", "only one", "only other",
                                        "p",    NULL};
    int64_t most = most_attempts(a);

    (void)e;
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++)
        for (size_t k = i + 1; k < a->runs; k++) {
            for (int64_t n = 1; n < most; n *= 2)
                put_pair(t, &a->run[i], &a->run[k], n);
            put_pair(t, &a->run[i], &a->run[k], most);
        }
    table_note(t, "tasks solved within that many attempts by both, or by only "
                  "one of the two; p: exact McNemar, two-sided");
    return 0;
}

const struct analyze_kind compare_kinds[] = {
    {"runs", "what each run solved, and what it cost", fill_runs},
    {"curve", "tasks solved within a number of attempts", fill_curve},
    {"pairs", "each two of the runs on the same tasks", fill_pairs},
    {0},
};
