/* overview.c: how the runs went. */
#include "views/views_int.h"

#include "base/mem.h"
#include "base/tick.h"
#include "base/version.h"
#include "run/settings.h"
#include "run/summary.h"
#include "views/curve.h"
#include "views/headline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static struct limits limits_of(struct run_view *v)
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

static json_t *round_json(const int64_t *count, int64_t first, int64_t last)
{
    json_t *counts = json_array();

    for (enum verdict i = 0; i < VERDICTS; i++)
        json_array_append_new(counts, json_integer(count[i]));
    return json_pack("[I, I, o]", (json_int_t)first, (json_int_t)last, counts);
}

static int64_t last_iteration(const struct run_view *v)
{
    int64_t last = 0;

    for (size_t i = 0; i < v->tasks; i++)
        for (size_t k = 0; k < v->task[i].attempts; k++)
            if (v->task[i].attempt[k].row.iteration > last)
                last = v->task[i].attempt[k].row.iteration;
    return last;
}

/* Attempts by verdict, for each iteration or a few together. */
static json_t *rounds_json(const struct run_view *v)
{
    int64_t most = last_iteration(v), width = most / ROUNDS + 1;
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
        json_array_append_new(
            list, round_json(count[i], i * width + 1,
                             (i + 1) * width < most ? (i + 1) * width : most));
    free(count);
    return list;
}

/* [tasks solved by attempt 1, by attempt 2, …]; while it runs, up to the last
 * attempt so far. */
static json_t *by_attempt_json(const struct run_view *v, const struct limits *l)
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
static double speed_of(const struct curve *c, int64_t busy_us, bool running,
                       int64_t now)
{
    size_t first = c->len > RECENT ? c->len - RECENT : 0;
    int64_t since = c->len ? now - curve_at(c, first) : 0;

    if (running && c->len - first > 1 && since > 0)
        return (double)(c->len - first) / ((double)since / 1e6);
    return busy_us > 0 ? (double)c->len / ((double)busy_us / 1e6) : 0;
}

/* The attempts that may still be made, at most. */
static int64_t left_of(const struct run_view *v, const struct limits *l)
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

static void add_speed(json_t *j, const struct run_view *v,
                      const struct curve *c, const struct limits *l)
{
    int64_t now = date_now_us(), busy = curve_busy_us(c, v, now);
    bool running = v->state == RUN_RUNNING;
    double speed = speed_of(c, busy, running, now);
    int64_t left = l->attempts ? left_of(v, l) : 0;

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

static json_t *known(int64_t n, int64_t unknown)
{
    return n == unknown ? json_null() : json_integer(n);
}

static json_t *one_run(struct run_view *v, const struct summary *m,
                       const char *label)
{
    static const char *const facts[] = {
        "method", "model", "provider", "dsl", "precision", "device", "seed"};
    json_t *j = summary_run_json(m, v->dir);
    struct limits l = limits_of(v);
    struct curve c;

    curve_make(v, &c);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        json_object_set_new(j, facts[i],
                            views_text(run_view_fact(v, facts[i])));
    json_object_set_new(j, "label", views_text(label));
    json_object_set_new(j, "attempts_per_task", known(l.attempts, 0));
    json_object_set_new(j, "lanes", known(l.lanes, 0));
    json_object_set_new(j, "cap_usd_micro", known(l.usd_micro, -1));
    json_object_set_new(j, "cap_tokens", known(l.tokens, -1));
    json_object_set_new(j, "first_at", json_integer(m->first_at));
    json_object_set_new(j, "last_at", json_integer(m->last_at));
    json_object_set_new(j, "workers",
                        json_boolean(run_view_workers_at(v->dir) != 0));
    json_object_set_new(j, "seeds", json_integer(m->seeds));
    json_object_set_new(j, "curve", curve_json(&c, v));
    json_object_set_new(j, "by_attempt", by_attempt_json(v, &l));
    json_object_set_new(j, "rounds", rounds_json(v));
    add_speed(j, v, &c, &l);
    curve_release(&c);
    return j;
}

/* ---- all runs ---- */

static json_t *verdicts_json(void)
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
            json_array_append_new(list, one_run(runs[i], &m[i], labels[i]));
        j = views_cut(json_pack("{s:s, s:i, s:I, s:o, s:o, s:O}", "version",
                                MONKEYS_VERSION, "rules", VERDICT_RULES, "at",
                                (json_int_t)date_now_us(), "headline",
                                views_text(buf_str(&b)), "verdicts",
                                verdicts_json(), "runs", list));
    }
    for (size_t i = 0; i < made; i++)
        summary_release(&m[i]);
    json_decref(list);
    buf_release(&b);
    free(labels);
    free(m);
    return j;
}
