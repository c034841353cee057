/* summary.c: counts from a view. */
#include "run/summary.h"

#include "base/map.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- attempts ---- */

int64_t summary_solved_at(const struct run_task *t)
{
    for (size_t i = 0; i < t->attempts; i++)
        if (t->attempt[i].row.solved)
            return t->attempt[i].row.attempt;
    return 0;
}

/* The number of its last attempt, or 0. */
static int64_t summary_last(const struct run_task *t)
{
    return t->attempts ? t->attempt[t->attempts - 1].row.attempt : 0;
}

double summary_speedup(const struct run_attempt *a)
{
    const char *times = a->verdict ? a->verdict->times : NULL;
    bool timed = times && strstr(times, "reference_ms");
    json_t *record = timed ? json_loads(times, 0, NULL) : NULL;
    double x = verdict_speedup(record, "reference_ms");

    json_decref(record);
    return x;
}

/* ---- tasks and the archive ---- */

static void summary_add_task(struct summary *m, const struct run_task *t)
{
    const struct run_attempt *best = run_task_best(t);
    bool solved = best && best->row.solved;

    m->tasks++;
    m->skipped += t->row.skipped != NULL;
    m->solved += solved;
    m->proven += solved && best->verdict &&
                 evidence_of(best->verdict->evidence) >= EVIDENCE_ARCHIVE;
    m->attempts += (int64_t)t->attempts;
    for (size_t i = 0; i < t->attempts; i++) {
        enum verdict verdict = verdict_of(t->attempt[i].row.verdict);

        m->duplicates += t->attempt[i].row.same_as != 0;
        if (verdict < VERDICTS)
            m->verdict[verdict]++;
    }
}

static void summary_add_piece(struct summary *m, const struct run_task *t)
{
    m->pieces++;
    m->pieces_skipped += t->row.skipped != NULL;
    m->pieces_solved += summary_solved_at(t) != 0;
    m->piece_attempts += (int64_t)t->attempts;
}

static void summary_add_entry(struct summary *m, const struct row_entry *x)
{
    bool run = strcmp(x->origin, "run") == 0;

    m->entries++;
    m->seeds += !run;
    m->kernels += run && !x->withdrawn;
    m->doubted +=
        run && x->withdrawn && x->task >= 0 && (size_t)x->task < m->tasks;
}

/* ---- calls and events ---- */

static void summary_add_call(struct summary *m, const struct row_call *c)
{
    m->calls++;
    m->answered += strcmp(c->state, "answered") == 0;
    m->failed += strcmp(c->state, "failed") == 0;
    m->lost += strcmp(c->state, "lost") == 0;
    m->usd_micro += c->cost_usd_micro;
    m->assumed_usd_micro += c->assumed_usd_micro;
    m->tokens_in += c->input;
    m->tokens_out += c->output;
    m->estimated |= c->estimated;
    if (strcmp(c->state, "open") == 0)
        m->reserved_usd_micro += c->reserved_usd_micro;
    if (!m->first_at || c->asked_at < m->first_at)
        m->first_at = c->asked_at;
    if (c->answered_at > m->last_at)
        m->last_at = c->answered_at;
}

/* Counts the tasks that are set aside: each may have been tried again since then. */
static void summary_add_events(struct summary *m, const struct run_view *v)
{
    bool *aside = xcalloc(v->tasks + 1, sizeof(*aside));

    for (size_t i = 0; i < v->events; i++) {
        const struct row_event *x = &v->event[i];

        m->infra += strcmp(x->kind, "infra") == 0;
        if (strcmp(x->kind, "aside") == 0 && x->task >= 0 &&
            (size_t)x->task < v->tasks &&
            summary_last(&v->task[x->task]) < x->attempt)
            aside[x->task] = true;
    }
    for (size_t i = 0; i < v->tasks; i++)
        m->aside += aside[i];
    free(aside);
}

/* ---- why tasks have no solution ---- */

static int more_tasks(const void *a, const void *b)
{
    const struct summary_error *x = a, *y = b;

    if (x->tasks != y->tasks)
        return x->tasks < y->tasks ? 1 : -1;
    return strcmp(x->error, y->error);
}

/* `known` has the errors of m->error by `failure`, which is the same pointer for all
 * that failed alike. */
static void count_error(struct summary *m, struct map *known,
                        const struct run_attempt *a, const char *error,
                        const char *failure)
{
    struct str key = {(const char *)&failure, sizeof(failure)};
    struct summary_error *x = map_get(known, key);

    if (!x) {
        x = &m->error[m->errors++];
        *x = (struct summary_error){.verdict = a->row.verdict, .error = error};
        map_set(known, key, x);
    }
    x->tasks++;
}

/* Why a task is not solved, and whether its time can be believed. */
static int summary_add_reason(struct summary *m, struct run_view *v,
                              const struct run_task *t, struct map *known,
                              struct err *e)
{
    struct run_attempt *a = run_task_best(t);
    const char *why;

    if (!a || t->row.skipped) {
        m->untried += !t->row.skipped;
        return 0;
    }
    if (a->row.solved) {
        why = isnan(summary_speedup(a)) ? "" : run_view_doubt(v, a, e);
        m->implausible += why && why[0];
        return why ? 0 : -1;
    }
    why = run_view_error(v, a, e);
    if (!why)
        return -1;
    if (verdict_of(a->row.verdict) < VERDICTS)
        m->unsolved[verdict_of(a->row.verdict)]++;
    if (why[0])
        count_error(m, known, a, why, run_view_failure(v, a, e));
    return 0;
}

static int summary_add_reasons(struct summary *m, struct run_view *v,
                               struct err *e)
{
    struct map known = {0};
    int rc = 0;

    m->error = arena_alloc(&m->memory, (m->tasks + 1) * sizeof(*m->error));
    for (size_t i = 0; rc == 0 && i < v->tasks; i++)
        rc = summary_add_reason(m, v, &v->task[i], &known, e);
    if (m->errors)
        qsort(m->error, m->errors, sizeof(*m->error), more_tasks);
    map_release(&known);
    return rc;
}

/* The version of the rules of truth that the verdicts follow (verdict.h). */
static int64_t summary_rules(struct run_view *v)
{
    int64_t rules = VERDICT_RULES_FIRST;

    str_to_i64(str_of(run_view_fact(v, "rules")), 1, INT64_MAX, &rules);
    return rules;
}

int summary_make(struct run_view *v, struct summary *out, struct err *e)
{
    size_t n;

    *out = (struct summary){
        .state = v->state, .pid = v->pid, .rules = summary_rules(v)};
    for (size_t i = 0; i < v->tasks; i++)
        summary_add_task(out, &v->task[i]);
    for (size_t i = v->tasks; i < v->all; i++)
        summary_add_piece(out, &v->task[i]);
    for (size_t i = 0; i < v->entries; i++)
        summary_add_entry(out, &v->entry[i]);
    for (size_t i = 0; i <= v->all; i++) {
        struct row_call *c = run_view_calls(v, i, &n);

        for (size_t k = 0; k < n; k++)
            summary_add_call(out, &c[k]);
    }
    summary_add_events(out, v);
    if (summary_add_reasons(out, v, e) == 0)
        return 0;
    summary_release(out);
    return -1;
}

void summary_release(struct summary *m)
{
    arena_release(&m->memory);
    *m = (struct summary){0};
}

/* ---- as JSON ---- */

static json_t *unsolved_json(const struct summary *m)
{
    json_t *counts = json_object(), *errors = json_array();

    for (enum verdict i = 0; i < VERDICTS; i++)
        if (m->unsolved[i])
            json_object_set_new(counts, verdicts[i].name,
                                json_integer((json_int_t)m->unsolved[i]));
    for (size_t i = 0; i < m->errors && i < SUMMARY_ERRORS; i++)
        json_array_append_new(
            errors,
            json_pack("{s:s, s:o, s:I}", "verdict", m->error[i].verdict,
                      "error",
                      jsn_text(m->error[i].error, strlen(m->error[i].error)),
                      "tasks", (json_int_t)m->error[i].tasks));
    return json_pack("{s:I, s:o, s:o}", "untried", (json_int_t)m->untried,
                     "verdicts", counts, "errors", errors);
}

json_t *summary_run_json(const struct summary *m, const char *dir)
{
    json_t *counts = json_object(), *pieces = NULL;

    for (enum verdict i = 0; i < VERDICTS; i++)
        json_object_set_new(counts, verdicts[i].name,
                            json_integer(m->verdict[i]));
    if (m->pieces)
        pieces =
            json_pack("{s:I, s:I, s:I, s:I}", "total", (json_int_t)m->pieces,
                      "skipped", (json_int_t)m->pieces_skipped, "solved",
                      (json_int_t)m->pieces_solved, "attempts",
                      (json_int_t)m->piece_attempts);
    return json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I, s:I, s:b, s:I, s:o, s:I, s:s, s:o, s:o, s:o*, s:I, "
        "s:I, s:I}",
        "run", jsn_text(dir, strlen(dir)), "tasks", (json_int_t)m->tasks,
        "skipped", (json_int_t)m->skipped, "solved", (json_int_t)m->solved,
        "doubted", (json_int_t)m->doubted, "aside", (json_int_t)m->aside,
        "attempts", (json_int_t)m->attempts, "duplicates",
        (json_int_t)m->duplicates, "infra", (json_int_t)m->infra, "calls",
        (json_int_t)m->calls, "answered", (json_int_t)m->answered, "failed",
        (json_int_t)m->failed, "lost", (json_int_t)m->lost, "tokens_in",
        (json_int_t)m->tokens_in, "tokens_out", (json_int_t)m->tokens_out,
        "usd_micro", (json_int_t)m->usd_micro, "reserved_usd_micro",
        (json_int_t)m->reserved_usd_micro, "estimated", m->estimated, "entries",
        (json_int_t)m->entries, "verdicts", counts, "assumed_usd_micro",
        (json_int_t)m->assumed_usd_micro, "state", run_states[m->state], "pid",
        m->pid ? json_integer(m->pid) : json_null(), "unsolved",
        unsolved_json(m), "pieces", pieces, "implausible",
        (json_int_t)m->implausible, "proven", (json_int_t)m->proven, "rules",
        (json_int_t)m->rules);
}
