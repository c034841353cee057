/* curve.c: attempts and calls in order of time. */
#include "views/curve.h"

#include "base/mem.h"
#include "run/summary.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* When an attempt ended: when it was judged, or when its last reply came. */
static int64_t end_of(const struct run_attempt *a)
{
    int64_t at = a->verdict ? a->verdict->judged_at : 0;

    for (size_t i = 0; i < a->calls; i++)
        if (a->call[i].answered_at > at)
            at = a->call[i].answered_at;
    return at;
}

void curve_make(const struct run_view *v, struct curve *out)
{
    size_t attempts = 0;

    for (size_t i = 0; i < v->tasks; i++)
        attempts += v->task[i].attempts;
    *out = (struct curve){.end = xcalloc(attempts + 1, sizeof(*out->end))};
    for (size_t i = 0; i < v->tasks; i++) {
        const struct run_task *t = &v->task[i];
        int64_t solved_at = summary_solved_at(t);

        for (size_t k = 0; k < t->attempts; k++)
            out->end[out->len++] = 2 * end_of(&t->attempt[k]) +
                                   (t->attempt[k].row.attempt == solved_at);
    }
    qsort(out->end, out->len, sizeof(*out->end), by_time);
}

int64_t curve_at(const struct curve *c, size_t i)
{
    return c->end[i] >> 1;
}

void curve_release(struct curve *c)
{
    free(c->end);
    *c = (struct curve){0};
}

/* The last sign of life before `end`. */
static int64_t last_before(const struct curve *c, int64_t end)
{
    int64_t at = 0;

    for (size_t i = 0; i < c->len && curve_at(c, i) <= end; i++)
        at = curve_at(c, i);
    return at;
}

int64_t curve_busy_us(const struct curve *c, const struct run_view *v,
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
                  : x                       ? last_before(c, x->at)
                  : v->state == RUN_RUNNING ? now
                                            : last_before(c, INT64_MAX);
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

static void choose_points(const struct curve *c, struct point *p, size_t points)
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
static void add_call(struct point *p, size_t points, const struct row_call *c)
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

json_t *curve_json(const struct curve *c, const struct run_view *v)
{
    json_t *list = json_array();
    int64_t start = c->len ? curve_at(c, 0) : 0;
    size_t points = c->len < CURVE_POINTS ? c->len : CURVE_POINTS, n;
    struct point p[CURVE_POINTS];

    choose_points(c, p, points);
    for (size_t i = 0; i <= v->all; i++) {
        const struct row_call *call = run_view_calls(v, i, &n);

        for (size_t k = 0; k < n; k++) {
            if (call[k].asked_at && call[k].asked_at < start)
                start = call[k].asked_at;
            add_call(p, points, &call[k]);
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
