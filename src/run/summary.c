/* summary.c: counts from a view. */
#include "run/summary.h"

#include "base/map.h"
#include "base/mem.h"
#include "prompt/prompt.h"
#include "search/method.h"

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

double summary_speedup(const struct run_attempt *a)
{
    const char *times = a->verdict ? a->verdict->times : NULL;
    bool timed = times && strstr(times, "reference_ms");
    json_t *record = timed ? json_loads(times, 0, NULL) : NULL;
    double x = verdict_speedup(record, "reference_ms");

    json_decref(record);
    return x;
}

static void summary_look_at(struct summary *m, const struct run_view *v,
                            const struct run_task *t, struct summary_task *out)
{
    const struct run_attempt *a = run_task_best(t);

    *out = (struct summary_task){.id = t->row.id,
                                 .skipped = t->row.skipped,
                                 .piece = t->row.kind ? &t->row : NULL,
                                 .speedup = (double)NAN};
    for (size_t i = 0; i < t->attempts; i++) {
        enum verdict verdict = verdict_of(t->attempt[i].row.verdict);

        if (verdict < VERDICTS)
            out->count[verdict]++;
    }
    if (!a)
        return;
    out->attempts = t->attempt[t->attempts - 1].row.attempt;
    out->verdict = a->row.verdict;
    out->rule = a->row.rule;
    out->evidence = a->verdict ? a->verdict->evidence : NULL;
    out->speedup = summary_speedup(a);
    out->solved_at = summary_solved_at(t);
    out->shown = run_view_shown(v, a, &m->memory);
    out->shown_len = a->shown_len;
}

static void summary_add_task(struct summary *m, const struct run_view *v,
                             const struct run_task *t)
{
    struct summary_task *x = &m->task[m->tasks++];

    summary_look_at(m, v, t, x);
    m->skipped += x->skipped != NULL;
    m->solved += x->solved_at != 0;
    m->proven += x->solved_at && evidence_of(x->evidence) >= EVIDENCE_ARCHIVE;
    m->attempts += (int64_t)t->attempts;
    for (size_t i = 0; i < t->attempts; i++)
        m->duplicates += t->attempt[i].row.same_as != 0;
    for (enum verdict i = 0; i < VERDICTS; i++)
        m->verdict[i] += x->count[i];
}

static void summary_add_piece(struct summary *m, const struct run_view *v,
                              const struct run_task *t)
{
    struct summary_task *x = &m->piece[m->pieces++];

    summary_look_at(m, v, t, x);
    m->pieces_skipped += x->skipped != NULL;
    m->pieces_solved += x->solved_at != 0;
    m->piece_attempts += (int64_t)t->attempts;
}

/* NULL: a row names neither a task nor a piece. */
static struct summary_task *task_or_piece(struct summary *m, int64_t ord)
{
    if (ord < 0 || (size_t)ord >= m->tasks + m->pieces)
        return NULL;
    return (size_t)ord < m->tasks ? &m->task[ord]
                                  : &m->piece[(size_t)ord - m->tasks];
}

/* ---- the archive ---- */

static void summary_add_entry(struct summary *m, const struct row_entry *x)
{
    bool run = strcmp(x->origin, "run") == 0;
    struct summary_task *t = task_or_piece(m, x->task);

    m->entry[m->entries++] = (struct summary_entry){.entry = x->entry,
                                                    .name = x->name,
                                                    .origin = x->origin,
                                                    .version = x->version,
                                                    .left = x->withdrawn};
    m->seeds += !run;
    m->kernels += run && !x->withdrawn;
    if (run && x->withdrawn && t) {
        t->doubted = true;
        m->doubted += !t->piece;
    }
}

static void count_outcomes(struct summary *m, const struct run_attempt *a)
{
    const struct method *method = method_find(a->row.method);
    bool two = method && method->two_stage;
    enum prompt_stage first = two ? PROMPT_PLAN : PROMPT_EVOLVE,
                      last = two ? PROMPT_CODE : PROMPT_EVOLVE;

    for (size_t i = 0; i < a->shown_len; i++) {
        int64_t entry = a->shown[i].entry;

        if (entry < 1 || entry > m->entries)
            continue;
        for (enum prompt_stage s = first; s <= last; s++) {
            m->entry[entry - 1].count[s].shown++;
            m->entry[entry - 1].count[s].solved += a->row.solved;
        }
    }
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

static void add_event(struct summary *m, const struct row_event *x)
{
    struct summary_task *t = task_or_piece(m, x->task);

    m->infra += strcmp(x->kind, "infra") == 0;
    /* It may have been tried again since then. */
    if (strcmp(x->kind, "aside") != 0 || !t || t->attempts >= x->attempt)
        return;
    m->aside += !t->aside && !t->piece;
    t->aside = x->text;
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
                        const struct summary_task *t, const char *failure)
{
    struct str key = {(const char *)&failure, sizeof(failure)};
    struct summary_error *x = map_get(known, key);

    if (!x) {
        x = &m->error[m->errors++];
        *x = (struct summary_error){.verdict = t->verdict, .error = t->error};
        map_set(known, key, x);
    }
    x->tasks++;
}

/* Why a task or piece is not solved, and whether its time can be believed. Errors of
 * pieces are shown with them, and counted nowhere. */
static int add_reasons(struct summary *m, struct run_view *v, size_t ord,
                       struct map *known, struct err *e)
{
    struct summary_task *t = task_or_piece(m, (int64_t)ord);
    struct run_attempt *a = run_task_best(&v->task[ord]);
    const char *doubt;

    if (!a || t->skipped) {
        m->untried += !t->piece && !t->skipped;
        return 0;
    }
    if (!t->solved_at) {
        t->error = run_view_error(v, a, e);
        if (!t->error)
            return -1;
        t->error = t->error[0] ? t->error : NULL;
        if (!t->piece && verdict_of(t->verdict) < VERDICTS)
            m->unsolved[verdict_of(t->verdict)]++;
        if (!t->piece && t->error)
            count_error(m, known, t, run_view_failure(v, a, e));
    } else if (!t->piece && !isnan(t->speedup)) {
        doubt = run_view_doubt(v, a, e);
        if (!doubt)
            return -1;
        t->implausible = doubt[0] ? doubt : NULL;
        m->implausible += doubt[0] != '\0';
    }
    return 0;
}

static int add_all_reasons(struct summary *m, struct run_view *v, struct err *e)
{
    struct map known;
    int rc = 0;

    map_init(&known);
    m->error = arena_alloc(&m->memory, (m->tasks + 1) * sizeof(*m->error));
    for (size_t i = 0; rc == 0 && i < v->all; i++)
        rc = add_reasons(m, v, i, &known, e);
    if (m->errors)
        qsort(m->error, m->errors, sizeof(*m->error), more_tasks);
    map_release(&known);
    return rc;
}

int summary_make(struct run_view *v, struct summary *out, struct err *e)
{
    size_t n;

    *out = (struct summary){
        .state = v->state, .pid = v->pid, .rules = run_view_rules(v)};
    arena_init(&out->memory);
    out->task = arena_alloc(&out->memory, (v->tasks + 1) * sizeof(*out->task));
    out->piece = arena_alloc(&out->memory,
                             (v->all - v->tasks + 1) * sizeof(*out->piece));
    out->entry =
        arena_alloc(&out->memory, (v->entries + 1) * sizeof(*out->entry));
    for (size_t i = 0; i < v->tasks; i++)
        summary_add_task(out, v, &v->task[i]);
    for (size_t i = v->tasks; i < v->all; i++)
        summary_add_piece(out, v, &v->task[i]);
    for (size_t i = 0; i < v->entries; i++)
        summary_add_entry(out, &v->entry[i]);
    for (size_t i = 0; i < v->all; i++)
        for (size_t k = 0; k < v->task[i].attempts; k++)
            count_outcomes(out, &v->task[i].attempt[k]);
    for (size_t i = 0; i <= v->all; i++) {
        struct row_call *c = run_view_calls(v, i, &n);

        for (size_t k = 0; k < n; k++)
            summary_add_call(out, &c[k]);
    }
    for (size_t i = 0; i < v->events; i++)
        add_event(out, &v->event[i]);
    if (add_all_reasons(out, v, e) == 0)
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

static json_t *verdicts_counted(const int64_t *count, bool zeros)
{
    json_t *counts = json_object();

    for (enum verdict i = 0; i < VERDICTS; i++)
        if (count[i] || zeros)
            json_object_set_new(counts, verdicts[i].name,
                                json_integer(count[i]));
    return counts;
}

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
    json_t *counts = verdicts_counted(m->verdict, true), *pieces = NULL;

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

static json_t *lines_json(const char *lines)
{
    struct str rest = str_of(lines ? lines : ""), line;
    json_t *list = json_array();

    while (str_cut(&rest, '\n', &line))
        json_array_append_new(list, jsn_text(line.p, line.n));
    return list;
}

json_t *summary_piece_json(const struct row_task *r)
{
    return json_pack("{s:s, s:s?, s:I, s:o, s:o}", "kind", r->kind, "level",
                     r->level, "depth", (json_int_t)r->depth, "parents",
                     lines_json(r->parents), "needs", lines_json(r->needs));
}

json_t *summary_task_json(const struct summary_task *t)
{
    json_t *shown = json_array(), *counts = verdicts_counted(t->count, false);

    for (size_t k = 0; k < t->shown_len; k++)
        json_array_append_new(shown, json_string(t->shown[k]));
    return json_pack(
        "{s:s, s:s?, s:s?, s:s?, s:I, s:I, s:b, s:o, s:s?, s:s?, s:o, "
        "s:o, s:o, s:o*, s:s?}",
        "task", t->id, "verdict", t->verdict, "rule", t->rule, "evidence",
        t->evidence, "attempts", (json_int_t)t->attempts, "solved_at",
        (json_int_t)t->solved_at, "doubted", t->doubted, "shown", shown,
        "skipped", t->skipped, "aside", t->aside, "verdicts", counts, "error",
        t->error ? jsn_text(t->error, strlen(t->error)) : json_null(),
        "speedup", isnan(t->speedup) ? json_null() : json_real(t->speedup),
        "piece", t->piece ? summary_piece_json(t->piece) : NULL, "implausible",
        t->implausible);
}

json_t *summary_entry_json(const struct summary_entry *x)
{
    json_t *stages = json_object();

    for (int k = 0; k < 3; k++)
        json_object_set_new(stages, prompt_stages[k],
                            json_pack("{s:I, s:I}", "shown",
                                      (json_int_t)x->count[k].shown, "solved",
                                      (json_int_t)x->count[k].solved));
    return json_pack("{s:I, s:s, s:s, s:I, s:I, s:o}", "entry",
                     (json_int_t)x->entry, "name", x->name, "origin", x->origin,
                     "version", (json_int_t)x->version, "left",
                     (json_int_t)x->left, "stages", stages);
}
