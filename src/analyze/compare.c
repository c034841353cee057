/* compare.c: what must agree. */
#include "analyze/compare.h"

#include "run/settings.h"

#include <string.h>

struct lines {
    struct buf *out;
    size_t n;
};

static void on_line(const char *text, int64_t number, void *arg)
{
    struct lines *l = arg;

    (void)number;
    buf_printf(l->out, "%s\n", text);
    l->n++;
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

    if (run_settings_read(a->dir, &x, &an->memory, &e) == 0 &&
        run_settings_read(b->dir, &y, &an->memory, &e) == 0) {
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

int compare_differences(struct analysis *a, struct buf *out, struct err *e)
{
    struct lines l = {.out = out};

    for (size_t i = 1; i < a->runs; i++) {
        if (merged_each(a->merged, "differences", (int64_t)i, on_line, &l, e) <
            0)
            return -1;
        l.n += differ_in_options(a, &a->run[0], &a->run[i], out);
    }
    return l.n > 0;
}

static void on_count(const char *text, int64_t number, void *arg)
{
    (void)text;
    *(int64_t *)arg = number;
}

int compare_align(struct analysis *a, struct err *e)
{
    int64_t tasks = 0;

    if (merged_each(a->merged, "aligned", 0, on_count, &tasks, e) < 0)
        return -1;
    return tasks ? 0 : err_set(e, ERR_INPUT, "the runs have no task in common");
}

const struct analyze_kind compare_kinds[] = {
    {"runs", "what each run solved, and what it cost", NULL},
    {"curve", "tasks solved within a number of attempts", NULL},
    {"pairs", "each two of the runs on the same tasks", NULL},
    {0},
};
