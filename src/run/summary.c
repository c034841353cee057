/* summary.c: counts and a table from the rows of a run. */
#include "run/summary.h"

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct summary *m;
    struct err *e;
    size_t cap, entry_cap;
    struct map fate; /* "task/attempt": how it ended, 1 + 2 * two stages */
    struct outcome *outcome;
};

static const char *keep(struct summary *m, const char *s)
{
    return s ? arena_strdup(&m->memory, s) : NULL;
}

static int on_task(const struct row_task *r, void *arg)
{
    struct reading *g = arg;
    struct summary *m = g->m;

    m->task = xgrow(m->task, &g->cap, m->tasks, sizeof(*m->task));
    m->task[m->tasks++] = (struct summary_task){.id = keep(m, r->id),
                                                .skipped = keep(m, r->skipped)};
    m->skipped += r->skipped != NULL;
    return 0;
}

static struct summary_task *task_of(struct reading *g, int64_t ord)
{
    if (ord >= 0 && (size_t)ord < g->m->tasks)
        return &g->m->task[ord];
    err_set(g->e, ERR_INPUT, "a row names task %lld of %zu", (long long)ord,
            g->m->tasks);
    return NULL;
}

enum { SOLVED = 2, TWO_STAGES = 4 };

static void fate_key(int64_t task, int64_t attempt, char out[64])
{
    snprintf(out, 64, "%lld/%lld", (long long)task, (long long)attempt);
}

/* What is known of an attempt when its examples are counted. */
static void note_fate(struct reading *g, const struct row_attempt *r)
{
    intptr_t fate = 1;
    char key[64];

    fate |= r->solved ? SOLVED : 0;
    if (strcmp(r->method, "evolve") != 0 && strcmp(r->method, "combined") != 0)
        fate |= TWO_STAGES;
    fate_key(r->task, r->attempt, key);
    map_set(&g->fate, str_of(key), (void *)fate);
}

static int on_attempt(const struct row_attempt *r, void *arg)
{
    struct reading *g = arg;
    struct summary *m = g->m;
    struct summary_task *t = task_of(g, r->task);

    if (!t)
        return -1;
    note_fate(g, r);
    m->attempts++;
    m->duplicates += r->same_as != 0;
    if (verdict_of(r->verdict) < VERDICTS)
        m->verdict[verdict_of(r->verdict)]++;
    t->attempts = r->attempt;
    if (t->solved_at)
        return 0;
    t->verdict = keep(m, r->verdict);
    t->rule = keep(m, r->rule);
    if (r->solved) {
        t->solved_at = r->attempt;
        m->solved++;
    }
    return 0;
}

/* The attempt that the table shows. */
static bool is_told(const struct summary_task *t, int64_t attempt)
{
    return attempt == (t->solved_at ? t->solved_at : t->attempts);
}

static int on_verdict(const struct row_verdict *r, void *arg)
{
    struct reading *g = arg;
    struct summary_task *t = task_of(g, r->task);

    if (!t)
        return -1;
    if (is_told(t, r->attempt))
        t->evidence = keep(g->m, r->evidence);
    return 0;
}

static int on_entry(const struct row_entry *r, int64_t left, void *arg)
{
    struct reading *g = arg;
    struct summary *m = g->m;
    bool run = strcmp(r->origin, "run") == 0;

    m->entry =
        xgrow(m->entry, &g->entry_cap, (size_t)m->entries, sizeof(*m->entry));
    m->entry[m->entries++] =
        (struct summary_entry){.name = keep(m, r->name),
                               .origin = keep(m, r->origin),
                               .version = r->version,
                               .left = left};
    m->seeds += !run;
    if (run && left && task_of(g, r->task)) {
        task_of(g, r->task)->doubted = true;
        m->doubted++;
    }
    return 0;
}

static void count_outcome(struct reading *g, const struct row_shown *r)
{
    char key[64];
    intptr_t fate;

    fate_key(r->task, r->attempt, key);
    fate = (intptr_t)map_get(&g->fate, str_of(key));
    for (enum prompt_stage s = PROMPT_PLAN; fate && s <= PROMPT_EVOLVE; s++) {
        if ((s == PROMPT_EVOLVE) == ((fate & TWO_STAGES) != 0))
            continue;
        outcome_shown(g->outcome, r->entry, s);
        if (fate & SOLVED)
            outcome_solved(g->outcome, r->entry, s);
    }
}

static int on_shown(const struct row_shown *r, void *arg)
{
    struct reading *g = arg;
    struct summary_task *t = task_of(g, r->task);
    const char *name;

    if (!t)
        return -1;
    count_outcome(g, r);
    if (!is_told(t, r->attempt))
        return 0;
    name = r->entry >= 1 && r->entry <= g->m->entries
               ? g->m->entry[r->entry - 1].name
               : "?";
    t->shown = xgrow(t->shown, &t->shown_cap, t->shown_len, sizeof(*t->shown));
    t->shown[t->shown_len++] = name;
    return 0;
}

static int on_call(const struct row_call *r, void *arg)
{
    struct reading *g = arg;
    struct summary *m = g->m;

    m->calls++;
    m->answered += strcmp(r->state, "answered") == 0;
    m->failed += strcmp(r->state, "failed") == 0;
    m->lost += strcmp(r->state, "lost") == 0;
    m->usd_micro += r->cost_usd_micro;
    m->tokens_in += r->input;
    m->tokens_out += r->output;
    m->estimated |= r->estimated;
    if (strcmp(r->state, "open") == 0)
        m->reserved_usd_micro += r->reserved_usd_micro;
    if (!m->first_at || r->asked_at < m->first_at)
        m->first_at = r->asked_at;
    if (r->answered_at > m->last_at)
        m->last_at = r->answered_at;
    return 0;
}

static int on_event(const char *kind, int64_t task, int64_t attempt,
                    const char *text, int64_t at, void *arg)
{
    struct reading *g = arg;
    struct summary_task *t = task_of(g, task);

    (void)at;
    g->m->infra += strcmp(kind, "infra") == 0;
    /* Tried again since then, it is aside no more. */
    if (strcmp(kind, "aside") != 0 || !t || t->attempts >= attempt)
        return 0;
    g->m->aside += !t->aside;
    t->aside = keep(g->m, text);
    return 0;
}

int summary_read(struct store *s, struct summary *out, struct err *e)
{
    struct reading g = {.m = out, .e = e};
    int rc = -1;

    *out = (struct summary){0};
    arena_init(&out->memory);
    g.outcome = outcome_new();
    if (store_each_task(s, on_task, &g, e) == 0 &&
        store_each_attempt(s, on_attempt, &g, e) == 0 &&
        store_each_verdict(s, on_verdict, &g, e) == 0 &&
        store_each_entry(s, on_entry, &g, e) == 0 &&
        store_each_shown(s, on_shown, &g, e) == 0 &&
        store_each_call(s, on_call, &g, e) == 0 &&
        store_each_event(s, on_event, &g, e) == 0)
        rc = 0;
    for (int64_t i = 0; rc == 0 && i < out->entries; i++)
        for (enum prompt_stage k = PROMPT_PLAN; k <= PROMPT_EVOLVE; k++)
            out->entry[i].count[k] = outcome_get(g.outcome, i + 1, k);
    outcome_free(g.outcome);
    map_release(&g.fate);
    if (rc < 0)
        summary_release(out);
    return rc;
}

void summary_release(struct summary *m)
{
    for (size_t i = 0; i < m->tasks; i++)
        free(m->task[i].shown);
    free(m->task);
    free(m->entry);
    arena_release(&m->memory);
    *m = (struct summary){0};
}

static void put_unanswered(const struct summary *m, struct buf *out)
{
    const struct {
        const char *word;
        int64_t n;
    } kinds[] = {
        {"open", m->calls - m->answered - m->failed - m->lost},
        {"failed", m->failed},
        {"lost", m->lost},
    };
    int told = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].n > 0)
            buf_printf(out, "%s%lld %s", told++ ? ", " : " (and ",
                       (long long)kinds[i].n, kinds[i].word);
    if (told)
        buf_putc(out, ')');
}

void summary_line(const struct summary *m, struct buf *out)
{
    int told = 0;

    if (m->tasks == 0) { /* they are stored when the gate is done */
        buf_puts(out, "its tasks are not checked yet");
        return;
    }
    buf_printf(out, "solved %zu of %zu tasks in %lld attempts",
               m->solved - m->doubted, m->tasks - m->skipped,
               (long long)m->attempts);
    if (m->doubted)
        buf_printf(out, " (%zu more were refused by the reviewer)", m->doubted);
    if (m->skipped)
        buf_printf(out, ", %zu skipped by the gate", m->skipped);
    if (m->aside)
        buf_printf(out, ", %zu set aside", m->aside);
    buf_printf(out, "; %lld calls", (long long)m->answered);
    put_unanswered(m, out);
    buf_printf(out, ", %lld tokens in, %lld out", (long long)m->tokens_in,
               (long long)m->tokens_out);
    if (m->usd_micro)
        buf_printf(out, ", $%lld.%06lld", (long long)(m->usd_micro / 1000000),
                   (long long)(m->usd_micro % 1000000));
    if (m->reserved_usd_micro)
        buf_printf(out, " (and up to $%.6f for what is open)",
                   (double)m->reserved_usd_micro / 1e6);
    if (m->estimated)
        buf_puts(out, " (partly estimated)");
    for (enum verdict i = 0; i < VERDICTS; i++)
        if (m->verdict[i])
            buf_printf(out, "%s %lld %s", told++ ? "," : ";",
                       (long long)m->verdict[i], verdicts[i].name);
}

static size_t width_of(const struct summary *m)
{
    size_t width = 4;

    for (size_t i = 0; i < m->tasks; i++)
        if (strlen(m->task[i].id) > width)
            width = strlen(m->task[i].id);
    return width;
}

void summary_table(const struct summary *m, struct buf *out)
{
    int width = (int)width_of(m);

    buf_printf(out, "%-*s  %-14s %8s  %-8s  %s\n", width, "task", "verdict",
               "attempts", "evidence", "examples shown");
    for (size_t i = 0; i < m->tasks; i++) {
        const struct summary_task *t = &m->task[i];

        buf_printf(out, "%-*s  %-14s %8lld  %-8s  %s", width, t->id,
                   t->skipped   ? "skipped"
                   : t->doubted ? "doubted"
                   : t->aside   ? "set aside"
                   : t->verdict ? t->verdict
                                : "-",
                   (long long)t->attempts, t->evidence ? t->evidence : "-",
                   t->skipped ? t->skipped
                   : t->aside ? t->aside
                              : "");
        for (size_t k = 0; !t->skipped && !t->aside && k < t->shown_len; k++)
            buf_printf(out, "%s%s", k ? ", " : "", t->shown[k]);
        buf_putc(out, '\n');
    }
}

void summary_examples(const struct summary *m, struct buf *out)
{
    buf_printf(out, "%5s  %-32s %-8s %7s  %s\n", "entry", "name", "origin",
               "version", "shown, and solved then");
    for (int64_t i = 0; i < m->entries; i++) {
        const struct summary_entry *x = &m->entry[i];
        const char *between = "";

        buf_printf(out, "%5lld  %-32s %-8s %7lld  ", (long long)i + 1, x->name,
                   x->origin, (long long)x->version);
        for (int k = 0; k < 3; k++) {
            if (!x->count[k].shown)
                continue;
            buf_printf(out, "%s%s %lld, %lld", between, prompt_stages[k],
                       (long long)x->count[k].shown,
                       (long long)x->count[k].solved);
            between = "; ";
        }
        buf_puts(out, x->left ? " (out)\n" : "\n");
    }
}
