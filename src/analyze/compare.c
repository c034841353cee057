/* compare.c: what must agree. */
#include "analyze/compare.h"

#include "run/settings.h"

#include <string.h>

struct lines {
    struct buf *out;
    size_t n;
};

static int compare_on_line(const char *text, int64_t number, void *arg,
                           struct err *e)
{
    struct lines *l = arg;

    (void)number;
    (void)e;
    buf_printf(l->out, "%s\n", text);
    l->n++;
    return 0;
}

static size_t compare_option(const char *option, const char *x, const char *y,
                             const char *a, const char *b, struct buf *out)
{
    if (strcmp(x ? x : "", y ? y : "") == 0)
        return 0;
    buf_printf(out, "  %s: %.200s in %s, %.200s in %s\n", option,
               x ? x : "not given", a, y ? y : "not given", b);
    return 1;
}

static const char *compare_flag(bool flag)
{
    return flag ? "given" : NULL;
}

/* What run.ini says; a folder without one says nothing. */
static size_t compare_options(struct analysis *an, struct programs_run *a,
                              struct programs_run *b, struct buf *out)
{
    struct run_settings x = run_defaults, y = run_defaults;
    struct err e = ERR_INIT;
    size_t n = 0;

    if (run_settings_read(a->dir, &x, &an->memory, &e) == 0 &&
        run_settings_read(b->dir, &y, &an->memory, &e) == 0) {
        n += compare_option("--guide", x.guide, y.guide, a->name, b->name, out);
        n += compare_option("--prompts", x.prompts, y.prompts, a->name, b->name,
                            out);
        n += compare_option("--no-card", compare_flag(x.no_card),
                            compare_flag(y.no_card), a->name, b->name, out);
        n += compare_option("--no-stop", compare_flag(x.no_stop),
                            compare_flag(y.no_stop), a->name, b->name, out);
    }
    opt_release(run_table, &x);
    opt_release(run_table, &y);
    return n;
}

int compare_differences(struct analysis *a, struct buf *out, struct err *e)
{
    struct lines l = {.out = out};

    for (size_t i = 1; i < a->runs; i++) {
        if (analysis_each(a, "differences", (int64_t)i, compare_on_line, &l,
                          e) < 0)
            return -1;
        l.n += compare_options(a, &a->run[0], &a->run[i], out);
    }
    return l.n > 0;
}

static int compare_on_count(const char *text, int64_t number, void *arg,
                            struct err *e)
{
    (void)text;
    (void)e;
    *(int64_t *)arg = number;
    return 0;
}

int compare_align(struct analysis *a, struct err *e)
{
    int64_t tasks = 0;

    if (analysis_each(a, "aligned", 0, compare_on_count, &tasks, e) < 0)
        return -1;
    return tasks ? 0 : err_set(e, ERR_INPUT, "the runs have no task in common");
}

const struct analysis_kind compare_kinds[] = {
    {"runs", "what each run solved, and what it cost"},
    {"curve", "tasks solved within a number of attempts"},
    {"pairs", "each two of the runs on the same tasks"},
    {0},
};
