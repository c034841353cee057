/* overview.c: how runs went: over time, in numbers, and in a sentence. */
#include "analyze/views.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/tick.h"
#include "base/version.h"
#include "run/settings.h"
#include "run/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- attempts and calls in order of time ---- */

#define CURVE_POINTS 240

/* When each finished attempt ended, in order of time. */
struct curve {
    int64_t *end; /* twice the microseconds since 1970, plus 1: it was the
                     first that solved its task */
    size_t len;
};

static int curve_by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* When an attempt ended: when it was judged, or when its last reply came. */
static int64_t curve_end_of(const struct run_attempt *a)
{
    int64_t at = a->verdict ? a->verdict->judged_at : 0;

    for (size_t i = 0; i < a->calls; i++)
        if (a->call[i].answered_at > at)
            at = a->call[i].answered_at;
    return at;
}

static void curve_make(const struct run_view *v, struct curve *out)
{
    size_t attempts = 0;

    for (size_t i = 0; i < v->tasks; i++)
        attempts += v->task[i].attempts;
    *out = (struct curve){.end = xcalloc(attempts + 1, sizeof(*out->end))};
    for (size_t i = 0; i < v->tasks; i++) {
        const struct run_task *t = &v->task[i];
        int64_t solved_at = summary_solved_at(t);

        for (size_t k = 0; k < t->attempts; k++)
            out->end[out->len++] = 2 * curve_end_of(&t->attempt[k]) +
                                   (t->attempt[k].row.attempt == solved_at);
    }
    qsort(out->end, out->len, sizeof(*out->end), curve_by_time);
}

/* Microseconds since 1970. */
static int64_t curve_at(const struct curve *c, size_t i)
{
    return c->end[i] >> 1;
}

static void curve_release(struct curve *c)
{
    free(c->end);
    *c = (struct curve){0};
}

/* The last sign of life before `end`. */
static int64_t curve_last_before(const struct curve *c, int64_t end)
{
    int64_t at = 0;

    for (size_t i = 0; i < c->len && curve_at(c, i) <= end; i++)
        at = curve_at(c, i);
    return at;
}

/* The time in which the run was at work, without the pauses between a stop and the next
 * resume; `now` ends it while it runs. */
static int64_t curve_busy_us(const struct curve *c, const struct run_view *v,
                             int64_t now)
{
    int64_t busy = 0, begun = 0, end;

    for (size_t i = 0; i <= v->events; i++) {
        const struct row_event *x = i < v->events ? &v->event[i] : NULL;
        bool begins = x && strcmp(x->kind, "begun") == 0,
             ends = x && strcmp(x->kind, "ended") == 0;

        if (x && !begins && !ends)
            continue;
        if (begun) {
            end = ends                      ? x->at
                  : x                       ? curve_last_before(c, x->at)
                  : v->state == RUN_RUNNING ? now
                                            : curve_last_before(c, INT64_MAX);
            busy += end > begun ? end - begun : 0;
        }
        begun = begins ? x->at : 0;
    }
    return busy;
}

/* After so many attempts: */
struct point {
    int64_t at, attempts, solved, usd_micro, tokens;
};

static void curve_choose_points(const struct curve *c, struct point *p,
                                size_t points)
{
    int64_t solved = 0;

    for (size_t i = 0, k = 0; i < points; i++) {
        size_t at = points < 2 ? 0 : i * (c->len - 1) / (points - 1);

        for (; k <= at; k++)
            solved += c->end[k] & 1;
        p[i] = (struct point){.at = curve_at(c, at),
                              .attempts = (int64_t)at + 1,
                              .solved = solved};
    }
}

/* A call is paid for from the first point on at which it was answered. */
static void curve_add_call(struct point *p, size_t points,
                           const struct row_call *c)
{
    size_t lo = 0, hi = points;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (p[mid].at < c->answered_at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == points)
        return;
    p[lo].usd_micro += c->cost_usd_micro;
    p[lo].tokens += c->input + c->output;
}

/* [[attempts, solved, usd_micro, tokens, seconds], …]: at most CURVE_POINTS, the first
 * and the last among them. Seconds count from the first call. */
static json_t *curve_json(const struct curve *c, const struct run_view *v)
{
    json_t *list = json_array();
    int64_t start = c->len ? curve_at(c, 0) : 0;
    size_t points = c->len < CURVE_POINTS ? c->len : CURVE_POINTS, n;
    struct point p[CURVE_POINTS];

    curve_choose_points(c, p, points);
    for (size_t i = 0; i <= v->all; i++) {
        const struct row_call *call = run_view_calls(v, i, &n);

        for (size_t k = 0; k < n; k++) {
            if (call[k].asked_at && call[k].asked_at < start)
                start = call[k].asked_at;
            curve_add_call(p, points, &call[k]);
        }
    }
    for (size_t i = 0; i < points; i++) {
        p[i].usd_micro += i ? p[i - 1].usd_micro : 0;
        p[i].tokens += i ? p[i - 1].tokens : 0;
        json_array_append_new(
            list, json_pack("[I, I, I, I, f]", (json_int_t)p[i].attempts,
                            (json_int_t)p[i].solved, (json_int_t)p[i].usd_micro,
                            (json_int_t)p[i].tokens,
                            (double)(p[i].at - start) / 1e6));
    }
    return list;
}

/* ---- a run in a sentence ---- */

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

static bool headline_all_differ(const char *const *labels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(labels[i], labels[k]) == 0)
                return false;
    return true;
}

/* What tells each of several runs apart: its method, else its model, else the name of
 * its folder. */
static void headline_labels(struct run_view *const *runs, size_t n,
                            const char **labels)
{
    static const char *const facts[] = {"method", "model", "dsl"};

    for (size_t k = 0; k < sizeof(facts) / sizeof(facts[0]); k++) {
        for (size_t i = 0; i < n; i++)
            labels[i] = run_view_fact(runs[i], facts[k]);
        if (headline_all_differ(labels, n) && (n != 1 || labels[0][0]))
            return;
    }
    for (size_t i = 0; i < n; i++)
        labels[i] = fs_base(runs[i]->dir);
    if (!headline_all_differ(labels, n))
        for (size_t i = 0; i < n; i++)
            labels[i] = runs[i]->dir;
}

/* ---- the sentence ---- */

static void headline_put_count(int64_t n, const char *one, const char *many,
                               struct buf *out)
{
    headline_number(n, out);
    buf_printf(out, " %s", n == 1 ? one : many);
}

static void headline_put_cost(const struct summary *m, struct buf *out)
{
    headline_put_count(m->attempts, "attempt", "attempts", out);
    buf_puts(out, " and ");
    if (m->usd_micro)
        headline_usd(m->usd_micro, out);
    else
        headline_put_count(m->tokens_in + m->tokens_out, "token", "tokens",
                           out);
}

static void headline_put_state(const struct summary *m, struct buf *out)
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
static void headline_put_doubts(const struct summary *m, struct buf *out)
{
    size_t passed = m->solved - m->proven;

    if (passed) {
        buf_putc(out, ' ');
        headline_put_count(
            (int64_t)passed,
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

static void headline_put_one(struct run_view *v, const struct summary *m,
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
    headline_put_count((int64_t)tried, "PyTorch program now has",
                       "PyTorch programs now have", out);
    buf_printf(out, " a verified %s%skernel. %s", dsl, dsl[0] ? " " : "",
               model[0] ? model : "The model");
    if (method[0])
        buf_printf(out, ", with the method %s,", method);
    buf_puts(out, " took ");
    headline_put_cost(m, out);
    buf_putc(out, '.');
    if (unsolved && m->state != RUN_RUNNING) {
        buf_putc(out, ' ');
        headline_put_count((int64_t)unsolved, "task is", "tasks are", out);
        buf_puts(out, " unsolved.");
    }
    headline_put_doubts(m, out);
    headline_put_state(m, out);
}

/* The most tasks first; of equals, the fewest attempts. */
static bool headline_is_better(const struct summary *x, const struct summary *y)
{
    return x->solved != y->solved ? x->solved > y->solved
                                  : x->attempts < y->attempts;
}

/* In short: "23 in 40", where the run before was described in full. */
static void headline_put_result(const struct summary *m, bool in_short,
                                struct buf *out)
{
    buf_puts(out, in_short ? "" : "solved ");
    headline_number((int64_t)m->solved, out);
    if (!in_short) {
        buf_puts(out, " of ");
        headline_put_count((int64_t)(m->tasks - m->skipped), "task", "tasks",
                           out);
    }
    buf_puts(out, " in ");
    if (in_short)
        headline_number(m->attempts, out);
    else
        headline_put_count(m->attempts, "attempt", "attempts", out);
}

static void headline_put_several(struct run_view *const *runs,
                                 const struct summary *m,
                                 const char *const *labels, size_t n,
                                 struct buf *out)
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
            if (!told[k] && (best == n || headline_is_better(&m[k], &m[best])))
                best = k;
        told[best] = true;
        buf_printf(out, "%s%s ", i ? ", " : ": ", labels[best]);
        headline_put_result(&m[best], i > 0 && short_form, out);
    }
    buf_putc(out, '.');
    free(told);
}

/* What is solved, in which language, by which model, at what cost. With several runs:
 * which solved how many. `labels` tell runs apart. */
static void headline_put(struct run_view *const *runs, const struct summary *m,
                         const char *const *labels, size_t n, struct buf *out)
{
    if (n == 1)
        headline_put_one(runs[0], m, out);
    else if (n > 1)
        headline_put_several(runs, m, labels, n, out);
}

/* ---- the view ---- */

#define ROUNDS     60  /* at most; more are put together */
#define BY_ATTEMPT 500 /* attempts per task that a curve shows */
#define RECENT     60  /* attempts that the present speed is taken from */

/* ---- what the settings say ---- */

struct limits {
    int64_t usd_micro, tokens; /* -1: none is known */
    int64_t attempts, lanes;   /* 0: not known */
    bool no_stop;
};

/* A run without run.ini has no limits that we know. */
static struct limits overview_limits_of(struct run_view *v)
{
    struct run_settings s = run_defaults;
    struct limits l = {.usd_micro = -1, .tokens = -1};
    struct err e = ERR_INIT;
    struct arena a;

    arena_init(&a);
    str_to_i64(str_of(run_view_fact(v, "attempts")), 1, INT64_MAX, &l.attempts);
    if (run_settings_read(v->dir, &s, &a, &e) == 0) {
        int64_t usd;

        if (s.model.budget_usd &&
            str_to_fixed(str_of(s.model.budget_usd), 6, &usd))
            l.usd_micro = usd;
        l.tokens = s.model.budget_tokens;
        l.lanes = s.verify.children;
        l.no_stop = s.no_stop;
        l.attempts = l.attempts ? l.attempts : s.attempts;
    }
    opt_release(run_table, &s);
    arena_release(&a);
    return l;
}

/* ---- rounds ---- */

static json_t *overview_round_json(const int64_t *count, int64_t first,
                                   int64_t last)
{
    json_t *counts = json_array();

    for (enum verdict i = 0; i < VERDICTS; i++)
        json_array_append_new(counts, json_integer(count[i]));
    return json_pack("[I, I, o]", (json_int_t)first, (json_int_t)last, counts);
}

static int64_t overview_last_iteration(const struct run_view *v)
{
    int64_t last = 0;

    for (size_t i = 0; i < v->tasks; i++)
        for (size_t k = 0; k < v->task[i].attempts; k++)
            if (v->task[i].attempt[k].row.iteration > last)
                last = v->task[i].attempt[k].row.iteration;
    return last;
}

/* Attempts by verdict, for each iteration or a few together. */
static json_t *overview_rounds_json(const struct run_view *v)
{
    int64_t most = overview_last_iteration(v), width = most / ROUNDS + 1;
    int64_t(*count)[VERDICTS] =
        xcalloc((size_t)(most / width) + 1, sizeof(*count));
    json_t *list = json_array();

    for (size_t i = 0; i < v->tasks; i++)
        for (size_t k = 0; k < v->task[i].attempts; k++) {
            const struct row_attempt *r = &v->task[i].attempt[k].row;
            enum verdict verdict = verdict_of(r->verdict);

            if (verdict < VERDICTS && r->iteration > 0)
                count[(r->iteration - 1) / width][verdict]++;
        }
    for (int64_t i = 0; i * width < most; i++)
        json_array_append_new(list, overview_round_json(count[i], i * width + 1,
                                                        (i + 1) * width < most
                                                            ? (i + 1) * width
                                                            : most));
    free(count);
    return list;
}

/* [tasks solved by attempt 1, by attempt 2, …]; while it runs, up to the last
 * attempt so far. */
static json_t *overview_by_attempt_json(const struct run_view *v,
                                        const struct limits *l)
{
    int64_t most = v->state == RUN_RUNNING ? 0 : l->attempts;
    int64_t count[BY_ATTEMPT + 1] = {0}, sum = 0;
    json_t *list = json_array();

    for (size_t i = 0; i < v->tasks; i++) {
        const struct run_task *t = &v->task[i];
        int64_t at = summary_solved_at(t);

        if (t->attempts && t->attempt[t->attempts - 1].row.attempt > most)
            most = t->attempt[t->attempts - 1].row.attempt;
        if (at > 0 && at <= BY_ATTEMPT)
            count[at]++;
    }
    for (int64_t i = 1; i <= most && i <= BY_ATTEMPT; i++)
        json_array_append_new(list, json_integer(sum += count[i]));
    return list;
}

/* ---- speed ---- */

/* Attempts per second, lately; 0: not known. */
static double overview_speed_of(const struct curve *c, int64_t busy_us,
                                bool running, int64_t now)
{
    size_t first = c->len > RECENT ? c->len - RECENT : 0;
    int64_t since = c->len ? now - curve_at(c, first) : 0;

    if (running && c->len - first > 1 && since > 0)
        return (double)(c->len - first) / ((double)since / 1e6);
    return busy_us > 0 ? (double)c->len / ((double)busy_us / 1e6) : 0;
}

/* The attempts that may still be made, at most. */
static int64_t overview_left_of(const struct run_view *v,
                                const struct limits *l)
{
    int64_t left = 0;

    for (size_t i = 0; i < v->all; i++) {
        const struct run_task *t = &v->task[i];
        int64_t used = (int64_t)t->attempts;

        if (!t->row.skipped && (l->no_stop || !summary_solved_at(t)) &&
            used < l->attempts)
            left += l->attempts - used;
    }
    return left;
}

static void overview_add_speed(json_t *j, const struct run_view *v,
                               const struct curve *c, const struct limits *l)
{
    int64_t now = date_now_us(), busy = curve_busy_us(c, v, now);
    bool running = v->state == RUN_RUNNING;
    double speed = overview_speed_of(c, busy, running, now);
    int64_t left = l->attempts ? overview_left_of(v, l) : 0;

    json_object_set_new(j, "seconds", json_real((double)busy / 1e6));
    json_object_set_new(j, "attempts_per_minute",
                        speed > 0 ? json_real(60 * speed) : json_null());
    json_object_set_new(j, "attempts_left",
                        l->attempts ? json_integer(left) : json_null());
    json_object_set_new(j, "seconds_left",
                        running && speed > 0 && l->attempts
                            ? json_real((double)left / speed)
                            : json_null());
}

/* ---- one run ---- */

static json_t *overview_known(int64_t n, int64_t unknown)
{
    return n == unknown ? json_null() : json_integer(n);
}

static json_t *overview_one_run(struct run_view *v, const struct summary *m,
                                const char *label)
{
    static const char *const facts[] = {
        "method", "model", "provider", "dsl", "precision", "device", "seed"};
    json_t *j = summary_run_json(m, v->dir);
    struct limits l = overview_limits_of(v);
    struct curve c;

    curve_make(v, &c);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        json_object_set_new(j, facts[i],
                            views_text(run_view_fact(v, facts[i])));
    json_object_set_new(j, "label", views_text(label));
    json_object_set_new(j, "attempts_per_task", overview_known(l.attempts, 0));
    json_object_set_new(j, "lanes", overview_known(l.lanes, 0));
    json_object_set_new(j, "cap_usd_micro", overview_known(l.usd_micro, -1));
    json_object_set_new(j, "cap_tokens", overview_known(l.tokens, -1));
    json_object_set_new(j, "first_at", json_integer(m->first_at));
    json_object_set_new(j, "last_at", json_integer(m->last_at));
    json_object_set_new(j, "workers",
                        json_boolean(run_view_workers_at(v->dir) != 0));
    json_object_set_new(j, "seeds", json_integer(m->seeds));
    json_object_set_new(j, "curve", curve_json(&c, v));
    json_object_set_new(j, "by_attempt", overview_by_attempt_json(v, &l));
    json_object_set_new(j, "rounds", overview_rounds_json(v));
    overview_add_speed(j, v, &c, &l);
    curve_release(&c);
    return j;
}

/* ---- all runs ---- */

static json_t *overview_verdicts_json(void)
{
    json_t *list = json_array();

    for (enum verdict i = 0; i < VERDICTS; i++)
        json_array_append_new(list, json_string(verdicts[i].name));
    return list;
}

json_t *views_overview(struct run_view *const *runs, size_t n, struct err *e)
{
    struct summary *m = xcalloc(n + 1, sizeof(*m));
    const char **labels = xcalloc(n + 1, sizeof(*labels));
    json_t *list = json_array(), *j = NULL;
    size_t made = 0;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    while (made < n && summary_make(runs[made], &m[made], e) == 0)
        made++;
    if (made == n) {
        headline_labels(runs, n, labels);
        headline_put(runs, m, labels, n, &b);
        for (size_t i = 0; i < n; i++)
            json_array_append_new(list,
                                  overview_one_run(runs[i], &m[i], labels[i]));
        j = views_cut(json_pack("{s:s, s:i, s:I, s:o, s:o, s:O}", "version",
                                MONKEYS_VERSION, "rules", VERDICT_RULES, "at",
                                (json_int_t)date_now_us(), "headline",
                                views_text(buf_str(&b)), "verdicts",
                                overview_verdicts_json(), "runs", list));
    }
    for (size_t i = 0; i < made; i++)
        summary_release(&m[i]);
    json_decref(list);
    buf_release(&b);
    free(labels);
    free(m);
    return j;
}
