/* headline.c: a run in a sentence. */
#include "views/headline.h"

#include "base/fs.h"
#include "base/mem.h"
#include "views/curve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void headline_number(int64_t n, struct buf *out)
{
    char digits[32];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);

    for (int i = 0; i < len; i++) {
        buf_putc(out, digits[i]);
        if ((len - 1 - i) % 3 == 0 && i + 1 < len && digits[i] != '-')
            buf_putc(out, ',');
    }
}

void headline_usd(int64_t usd_micro, struct buf *out)
{
    double usd = (double)usd_micro / 1e6;

    buf_printf(out, usd_micro && usd < 1 ? "$%.4f" : "$%.2f", usd);
}

void headline_time(double seconds, struct buf *out)
{
    long long s = (long long)(seconds + 0.5);

    if (s < 90)
        buf_printf(out, "%lld s", s);
    else if (s < 5400)
        buf_printf(out, "%lld min", (s + 30) / 60);
    else
        buf_printf(out, "%lld h %lld min", s / 3600, s % 3600 / 60);
}

/* ---- labels ---- */

static bool all_differ(const char *const *labels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(labels[i], labels[k]) == 0)
                return false;
    return true;
}

void headline_labels(struct run_view *const *runs, size_t n,
                     const char **labels)
{
    static const char *const facts[] = {"method", "model", "dsl"};

    for (size_t k = 0; k < sizeof(facts) / sizeof(facts[0]); k++) {
        for (size_t i = 0; i < n; i++)
            labels[i] = run_view_fact(runs[i], facts[k]);
        if (all_differ(labels, n) && (n != 1 || labels[0][0]))
            return;
    }
    for (size_t i = 0; i < n; i++)
        labels[i] = fs_base(runs[i]->dir);
    if (!all_differ(labels, n))
        for (size_t i = 0; i < n; i++)
            labels[i] = runs[i]->dir;
}

/* ---- the sentence ---- */

static void put_count(int64_t n, const char *one, const char *many,
                      struct buf *out)
{
    headline_number(n, out);
    buf_printf(out, " %s", n == 1 ? one : many);
}

static void put_cost(const struct summary *m, struct buf *out)
{
    put_count(m->attempts, "attempt", "attempts", out);
    buf_puts(out, " and ");
    if (m->usd_micro)
        headline_usd(m->usd_micro, out);
    else
        put_count(m->tokens_in + m->tokens_out, "token", "tokens", out);
}

static void put_state(const struct summary *m, struct buf *out)
{
    static const char *const states[RUN_STATES] = {
        [RUN_RUNNING] = " The run is in progress.",
        [RUN_WAITING] = " The run waits for answers from others.",
        [RUN_NO_BUDGET] = " The budget is used up.",
        [RUN_STOPPED] = " The run was stopped before its end.",
        [RUN_STUCK] = (" Some tasks were set aside because the model or the "
                       "verifier failed."),
        [RUN_FAILED] = " An error ended the run.",
        [RUN_KILLED] = " The run was killed before its end.",
    };

    if (states[m->state])
        buf_puts(out, states[m->state]);
}

/* What the count of solved tasks does not say. */
static void put_doubts(const struct summary *m, struct buf *out)
{
    size_t passed = m->solved - m->proven;

    if (passed) {
        buf_putc(out, ' ');
        put_count((int64_t)passed,
                  "kernel passed the trials, but nothing "
                  "proves that it alone computed the result (E2).",
                  "kernels passed the trials, but nothing proves that they "
                  "alone computed the results (E2).",
                  out);
    }
    if (m->rules != VERDICT_RULES)
        buf_printf(out,
                   " Its verdicts follow version %lld of the rules of truth; "
                   "this program has version %d.",
                   (long long)m->rules, VERDICT_RULES);
}

static void put_one(struct run_view *v, const struct summary *m,
                    struct buf *out)
{
    const char *dsl = run_view_fact(v, "dsl"),
               *model = run_view_fact(v, "model"),
               *method = run_view_fact(v, "method");
    size_t tried = m->tasks - m->skipped, unsolved = tried - m->solved;

    if (!m->tasks) {
        buf_puts(out, "No task is known yet.");
        return;
    }
    headline_number((int64_t)m->solved, out);
    buf_puts(out, " of ");
    put_count((int64_t)tried, "PyTorch program now has",
              "PyTorch programs now have", out);
    buf_printf(out, " a verified %s%skernel. %s", dsl, dsl[0] ? " " : "",
               model[0] ? model : "The model");
    if (method[0])
        buf_printf(out, ", with the method %s,", method);
    buf_puts(out, " took ");
    put_cost(m, out);
    buf_putc(out, '.');
    if (unsolved && m->state != RUN_RUNNING) {
        buf_putc(out, ' ');
        put_count((int64_t)unsolved, "task is", "tasks are", out);
        buf_puts(out, " unsolved.");
    }
    put_doubts(m, out);
    put_state(m, out);
}

/* The most tasks first; of equals, the fewest attempts. */
static bool is_better(const struct summary *x, const struct summary *y)
{
    return x->solved != y->solved ? x->solved > y->solved
                                  : x->attempts < y->attempts;
}

/* In short: "23 in 40", where the run before was described in full. */
static void put_result(const struct summary *m, bool in_short, struct buf *out)
{
    buf_puts(out, in_short ? "" : "solved ");
    headline_number((int64_t)m->solved, out);
    if (!in_short) {
        buf_puts(out, " of ");
        put_count((int64_t)(m->tasks - m->skipped), "task", "tasks", out);
    }
    buf_puts(out, " in ");
    if (in_short)
        headline_number(m->attempts, out);
    else
        put_count(m->attempts, "attempt", "attempts", out);
}

static void put_several(struct run_view *const *runs, const struct summary *m,
                        const char *const *labels, size_t n, struct buf *out)
{
    const char *dsl = run_view_fact(runs[0], "dsl");
    bool *told = xcalloc(n, sizeof(*told)), same = true, short_form = true;

    for (size_t i = 1; i < n; i++) {
        same &= strcmp(dsl, run_view_fact(runs[i], "dsl")) == 0;
        short_form &= m[i].tasks - m[i].skipped == m[0].tasks - m[0].skipped;
    }
    buf_printf(out, "%zu runs", n);
    if (same && dsl[0])
        buf_printf(out, " ported PyTorch programs to %s", dsl);
    for (size_t i = 0; i < n; i++) {
        size_t best = n;

        for (size_t k = 0; k < n; k++)
            if (!told[k] && (best == n || is_better(&m[k], &m[best])))
                best = k;
        told[best] = true;
        buf_printf(out, "%s%s ", i ? ", " : ": ", labels[best]);
        put_result(&m[best], i > 0 && short_form, out);
    }
    buf_putc(out, '.');
    free(told);
}

void headline_put(struct run_view *const *runs, const struct summary *m,
                  const char *const *labels, size_t n, struct buf *out)
{
    if (n == 1)
        put_one(runs[0], m, out);
    else if (n > 1)
        put_several(runs, m, labels, n, out);
}
