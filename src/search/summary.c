/* summary.c: counts and a table from the rows of a run. */
#include "search/summary.h"

#include "base/json.h"
#include "base/mem.h"
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct summary *m;
    struct err *e;
    const char **entry; /* names, by number - 1 */
    size_t entry_len, entry_cap;
    size_t cap;
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
    m->task[m->tasks++] = (struct summary_task){
        .id = keep(m, r->id), .skipped = keep(m, r->skipped), .shown = ""};
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

static int on_attempt(const struct row_attempt *r, void *arg)
{
    struct reading *g = arg;
    struct summary *m = g->m;
    struct summary_task *t = task_of(g, r->task);

    if (!t)
        return -1;
    m->attempts++;
    m->duplicates += r->same_as != 0;
    if (verdict_names[verdict_index(r->verdict)])
        m->verdict[verdict_index(r->verdict)]++;
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
    bool run = strcmp(r->origin, "run") == 0;

    g->entry = xgrow(g->entry, &g->entry_cap, g->entry_len, sizeof(*g->entry));
    g->entry[g->entry_len++] = keep(g->m, r->name);
    g->m->entries++;
    g->m->seeds += !run;
    if (run && left && task_of(g, r->task)) {
        task_of(g, r->task)->doubted = true;
        g->m->doubted++;
    }
    return 0;
}

static int on_shown(const struct row_shown *r, void *arg)
{
    struct reading *g = arg;
    struct summary_task *t = task_of(g, r->task);
    const char *name;

    if (!t)
        return -1;
    if (!is_told(t, r->attempt))
        return 0;
    name = r->entry >= 1 && (size_t)r->entry <= g->entry_len
               ? g->entry[r->entry - 1]
               : "?";
    t->shown = arena_printf(&g->m->memory, "%s%s%s", t->shown,
                            t->shown[0] ? ", " : "", name);
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

    (void)task, (void)attempt, (void)text, (void)at;
    g->m->infra += strcmp(kind, "infra") == 0;
    return 0;
}

int summary_read(struct store *s, struct summary *out, struct err *e)
{
    struct reading g = {.m = out, .e = e};
    size_t verdicts = 0;
    int rc = -1;

    *out = (struct summary){0};
    arena_init(&out->memory);
    while (verdict_names[verdicts])
        verdicts++;
    out->verdict = arena_alloc(&out->memory, verdicts * sizeof(*out->verdict));
    if (store_each_task(s, on_task, &g, e) == 0 &&
        store_each_attempt(s, on_attempt, &g, e) == 0 &&
        store_each_verdict(s, on_verdict, &g, e) == 0 &&
        store_each_entry(s, on_entry, &g, e) == 0 &&
        store_each_shown(s, on_shown, &g, e) == 0 &&
        store_each_call(s, on_call, &g, e) == 0 &&
        store_each_event(s, on_event, &g, e) == 0)
        rc = 0;
    free(g.entry);
    if (rc < 0)
        summary_release(out);
    return rc;
}

void summary_release(struct summary *m)
{
    free(m->task);
    arena_release(&m->memory);
    *m = (struct summary){0};
}

void summary_line(const struct summary *m, struct buf *out)
{
    int told = 0;

    buf_printf(out, "solved %zu of %zu tasks in %lld attempts",
               m->solved - m->doubted, m->tasks - m->skipped,
               (long long)m->attempts);
    if (m->doubted)
        buf_printf(out, " (%zu more were refused by the reviewer)", m->doubted);
    if (m->skipped)
        buf_printf(out, ", %zu skipped by the gate", m->skipped);
    buf_printf(out, "; %lld calls, %lld tokens in, %lld out",
               (long long)m->answered, (long long)m->tokens_in,
               (long long)m->tokens_out);
    if (m->usd_micro)
        buf_printf(out, ", $%lld.%06lld", (long long)(m->usd_micro / 1000000),
                   (long long)(m->usd_micro % 1000000));
    if (m->estimated)
        buf_puts(out, " (partly estimated)");
    for (size_t i = 0; verdict_names[i]; i++)
        if (m->verdict[i])
            buf_printf(out, "%s %lld %s", told++ ? "," : ";",
                       (long long)m->verdict[i], verdict_names[i]);
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

        buf_printf(out, "%-*s  %-14s %8lld  %-8s  %s\n", width, t->id,
                   t->skipped   ? "skipped"
                   : t->doubted ? "doubted"
                   : t->verdict ? t->verdict
                                : "-",
                   (long long)t->attempts, t->evidence ? t->evidence : "-",
                   t->skipped ? t->skipped : t->shown);
    }
}
