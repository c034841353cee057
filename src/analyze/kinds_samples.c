/* kinds_samples.c: what a number of independent samples gives. */
#include "analyze/kinds.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

static const int64_t ks[] = {1, 5, 10, 25, 100};
#define KS (sizeof(ks) / sizeof(*ks))

/* Tasks of one level, counted. */
struct sampled {
    size_t tasks, covered, first;
    int64_t samples, correct;
    double pass[KS]; /* sums over the tasks */
};

static bool is_in(const struct analyze_task *x, const char *level)
{
    return !level || strcmp(x->level, level) == 0;
}

/* `level` NULL: all tasks. */
static struct sampled count(const struct analyze_run *r, const char *level)
{
    struct sampled s = {0};

    for (size_t i = 0; i < r->tasks; i++) {
        const struct analyze_task *x = &r->task[i];
        int64_t n = (int64_t)x->task->attempts;

        if (!is_in(x, level))
            continue;
        s.tasks++;
        s.covered += x->solved_at != 0;
        s.first += x->solved_at == 1;
        s.samples += n;
        s.correct += x->correct;
        for (size_t k = 0; k < KS; k++)
            s.pass[k] += stats_pass_at_k(n, x->correct, ks[k]);
    }
    return s;
}

static size_t columns_of(const struct analysis *a)
{
    int64_t most = 1;
    size_t n = 0;

    for (size_t i = 0; i < a->runs; i++)
        if (a->run[i].full && a->run[i].attempts > most)
            most = a->run[i].attempts;
    while (n < KS && ks[n] <= most)
        n++;
    return n;
}

static void put_level(struct table *t, const struct analyze_run *r,
                      const char *level, size_t columns)
{
    struct sampled s = count(r, level);
    double tasks = (double)s.tasks;

    kind_run_cells(t, r);
    table_text(t, level ? level : "all");
    table_int(t, (int64_t)s.tasks);
    table_int(t, r->attempts);
    table_share(t, r->full && s.samples ? (double)s.correct / (double)s.samples
                                        : (double)NAN);
    table_share(t, (double)s.covered / tasks);
    table_share(t, (double)s.first / tasks);
    for (size_t k = 0; k < columns; k++)
        table_share(t, r->full && ks[k] <= r->attempts ? s.pass[k] / tasks
                                                       : (double)NAN);
}

/* Levels in the order of their names, which is that of their numbers. */
static const char *next_level(const struct analyze_run *r, const char *after)
{
    const char *next = NULL;

    for (size_t i = 0; i < r->tasks; i++) {
        const char *s = r->task[i].level;

        if ((!after || strcmp(s, after) > 0) && (!next || strcmp(s, next) < 0))
            next = s;
    }
    return next;
}

int kind_samples(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"level",    "tasks", "N", "accuracy",
                                        "coverage", "first", NULL};
    size_t columns = columns_of(a);
    bool stopped = false;

    (void)e;
    kind_run_columns(t);
    table_columns(t, names);
    for (size_t k = 0; k < columns; k++)
        table_column(t,
                     arena_printf(&a->memory, "pass@%lld", (long long)ks[k]));
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];
        size_t levels = 0;

        for (const char *s = next_level(r, NULL); s; s = next_level(r, s))
            levels++;
        for (const char *s = next_level(r, NULL); s && levels > 1;
             s = next_level(r, s))
            put_level(t, r, s, columns);
        put_level(t, r, NULL, columns);
        stopped |= !r->full;
        if (r->full && r->attempts > 1 && strcmp(r->method, "sampling") != 0)
            table_note(t,
                       "%s: pass@k takes attempts as independent, which those "
                       "of %s are not",
                       r->name, r->method);
    }
    if (stopped)
        table_note(t, "accuracy and pass@k need runs whose tasks make all "
                      "attempts: --no-stop");
    table_note(t, "accuracy: correct attempts of all; coverage: tasks solved "
                  "by any of N; first: tasks solved by the first");
    return 0;
}

/* ---- Figure 2 ---- */

#define BAR 50

int kind_bars(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"N", "pass@1", "bar", NULL};

    (void)e;
    kind_run_columns(t);
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];
        struct sampled s = count(r, NULL);
        double pass = r->full ? s.pass[0] : (double)s.first;
        char bar[BAR + 1] = "";

        pass = s.tasks ? pass / (double)s.tasks : 0;
        memset(bar, '#', (size_t)lround(pass * BAR));
        kind_run_cells(t, r);
        table_int(t, r->full ? r->attempts : 1);
        table_share(t, pass);
        table_text(t, bar);
    }
    table_note(t, "N is 1 where tasks stopped at their first success: only "
                  "first attempts are comparable then");
    return 0;
}
