/* summaries.c: where a run stands, for people and as JSON Lines. */
#include "cmd/summaries.h"

#include "io/term.h"
#include "prompt/prompt.h"

#include <math.h>
#include <string.h>

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

/* What the provider metered, and what had to be assumed: calls whose answer or
 * usage never came. */
static void put_cost(const struct summary *m, struct buf *out)
{
    int64_t metered = m->usd_micro - m->assumed_usd_micro;

    if (m->estimated)
        buf_puts(out, " (partly estimated)");
    if (m->usd_micro)
        buf_printf(out, ", $%lld.%06lld", (long long)(metered / 1000000),
                   (long long)(metered % 1000000));
    if (m->assumed_usd_micro)
        buf_printf(out, " metered, $%lld.%06lld assumed",
                   (long long)(m->assumed_usd_micro / 1000000),
                   (long long)(m->assumed_usd_micro % 1000000));
    if (m->reserved_usd_micro)
        buf_printf(out, " (and up to $%.6f for open calls)",
                   (double)m->reserved_usd_micro / 1e6);
}

void summaries_line(const struct summary *m, struct buf *out)
{
    int told = 0;

    if (m->tasks == 0) { /* they are stored when the gate is done */
        buf_puts(out, "tasks are not checked yet");
        return;
    }
    buf_printf(out, "solved %zu of %zu task%s in %lld attempt%s",
               m->solved - m->doubted, m->tasks - m->skipped,
               m->tasks - m->skipped == 1 ? "" : "s", (long long)m->attempts,
               m->attempts == 1 ? "" : "s");
    if (m->doubted)
        buf_printf(out, " (%zu more were refused by the reviewer)", m->doubted);
    if (m->skipped)
        buf_printf(out, ", %zu skipped by the gate", m->skipped);
    if (m->aside)
        buf_printf(out, ", %zu set aside", m->aside);
    if (m->pieces)
        buf_printf(out, "; %zu of %zu piece%s in %lld attempt%s",
                   m->pieces_solved, m->pieces - m->pieces_skipped,
                   m->pieces - m->pieces_skipped == 1 ? "" : "s",
                   (long long)m->piece_attempts,
                   m->piece_attempts == 1 ? "" : "s");
    buf_printf(out, "; %lld call%s", (long long)m->answered,
               m->answered == 1 ? "" : "s");
    put_unanswered(m, out);
    buf_printf(out, ", %lld tokens in, %lld out", (long long)m->tokens_in,
               (long long)m->tokens_out);
    put_cost(m, out);
    for (enum verdict i = 0; i < VERDICTS; i++)
        if (m->verdict[i])
            buf_printf(out, "%s %lld %s", told++ ? "," : ";",
                       (long long)m->verdict[i], verdicts[i].name);
}

/* The rows of a table. */
struct rows {
    const char *what;
    const struct summary_task *task;
    size_t len;
};

static size_t width_of(const struct rows *r)
{
    size_t width = strlen(r->what);

    for (size_t i = 0; i < r->len; i++)
        if (strlen(r->task[i].id) > width)
            width = strlen(r->task[i].id);
    return width;
}

#define ERROR_COLUMNS 100

static void put_shown(const struct summary_task *t, struct buf *out)
{
    for (size_t k = 0; k < t->shown_len; k++)
        buf_printf(out, "%s%s", k ? ", " : "", t->shown[k]);
    if (!t->shown_len)
        buf_putc(out, '-');
}

static void put_counts(const struct summary_task *t, struct buf *out)
{
    int told = 0;

    for (enum verdict i = 0; i < VERDICTS; i++)
        if (t->count[i])
            buf_printf(out, "%s%lld %s", told++ ? ", " : "",
                       (long long)t->count[i], verdicts[i].name);
    if (!told)
        buf_putc(out, '-');
}

/* What `put` writes, filled up to a width. */
static void put_cell(void (*put)(const struct summary_task *, struct buf *),
                     const struct summary_task *t, int width, struct buf *out)
{
    size_t at = out->len;

    put(t, out);
    buf_printf(out, "%*s  ", width - (int)(out->len - at), "");
}

static int cell_width(void (*put)(const struct summary_task *, struct buf *),
                      const struct rows *r, int least)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < r->len; i++) {
        buf_reset(&b);
        put(&r->task[i], &b);
        least = (int)b.len > least ? (int)b.len : least;
    }
    buf_release(&b);
    return least;
}

/* Why it is not solved, or not tried, or its time is hard to believe. */
static void put_why(const struct summary_task *t, struct buf *out)
{
    const char *why = t->skipped ? t->skipped : t->aside ? t->aside : t->error;

    if (t->implausible)
        buf_printf(out, "implausible: %s", t->implausible);

    if (t->rule && !t->skipped && !t->aside)
        buf_printf(out, "%s: ", t->rule);
    if (why)
        term_cut(why, ERROR_COLUMNS, out);
}

static void put_rows(const struct rows *r, struct buf *out)
{
    int width = (int)width_of(r), shown = cell_width(put_shown, r, 14),
        counts = cell_width(put_counts, r, 8);

    buf_printf(out, "%-*s  %-14s %8s  %-8s  %8s  %-*s  %-*s  %s\n", width,
               r->what, "verdict", "attempts", "evidence", "speed-up", shown,
               "examples shown", counts, "verdicts", "why");
    for (size_t i = 0; i < r->len; i++) {
        const struct summary_task *t = &r->task[i];

        buf_printf(out, "%-*s  %-14s %8lld  %-8s  ", width, t->id,
                   t->skipped   ? "skipped"
                   : t->doubted ? "doubted"
                   : t->aside   ? "set aside"
                   : t->verdict ? t->verdict
                                : "-",
                   (long long)t->attempts, t->evidence ? t->evidence : "-");
        if (isnan(t->speedup))
            buf_printf(out, "%8s  ", "-");
        else
            buf_printf(out, "%7.2fx%s ", t->speedup,
                       t->implausible ? "?" : " ");
        put_cell(put_shown, t, shown, out);
        put_cell(put_counts, t, counts, out);
        put_why(t, out);
        buf_putc(out, '\n');
    }
}

void summaries_table(const struct summary *m, struct buf *out)
{
    put_rows(&(struct rows){"task", m->task, m->tasks}, out);
    if (m->pieces) {
        buf_putc(out, '\n');
        put_rows(&(struct rows){"piece", m->piece, m->pieces}, out);
    }
    evidence_explain(out);
}

void summaries_unsolved(const struct summary *m, struct buf *out)
{
    size_t unsolved = m->untried;
    int told = 0;

    for (enum verdict i = 0; i < VERDICTS; i++)
        unsolved += m->unsolved[i];
    if (!unsolved)
        return;
    buf_printf(out, "%zu task%s unsolved:", unsolved,
               unsolved == 1 ? " is" : "s are");
    for (enum verdict i = 0; i < VERDICTS; i++)
        if (m->unsolved[i])
            buf_printf(out, "%s %zu %s", told++ ? "," : "", m->unsolved[i],
                       verdicts[i].name);
    if (m->untried)
        buf_printf(out, "%s %zu without a finished attempt", told ? "," : "",
                   m->untried);
    buf_putc(out, '\n');
    for (size_t i = 0; i < m->errors && i < SUMMARY_ERRORS; i++) {
        buf_printf(out, "%6zu  %s: ", m->error[i].tasks, m->error[i].verdict);
        term_cut(m->error[i].error, ERROR_COLUMNS, out);
        buf_putc(out, '\n');
    }
}

void summaries_proof(const struct summary *m, const char *dir, struct buf *out)
{
    if (m->solved > m->proven)
        buf_printf(out,
                   "%zu of the solved tasks: the kernel passed the trials, but "
                   "nothing proves that it alone computed the result (E2)\n",
                   m->solved - m->proven);
    if (m->rules != VERDICT_RULES)
        buf_printf(out,
                   "the verdicts follow version %lld of the rules of truth, "
                   "this program has version %d; 'monkeys archive reverify %s' "
                   "judges the kernels again\n",
                   (long long)m->rules, VERDICT_RULES, dir);
}

void summaries_implausible(const struct summary *m, struct buf *out)
{
    if (m->implausible)
        buf_printf(out,
                   "%zu speed-up%s hard to believe; 'status --tasks' has the "
                   "reasons\n",
                   m->implausible, m->implausible == 1 ? " is" : "s are");
}

void summaries_examples(const struct summary *m, struct buf *out)
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

static long long whole(const json_t *w, const char *key)
{
    return (long long)json_integer_value(json_object_get(w, key));
}

static void put_tasks(const json_t *w, struct buf *out)
{
    const json_t *tasks = json_object_get(w, "tasks");

    for (size_t i = 0; i < json_array_size(tasks); i++)
        buf_printf(out, "%s%s", i ? ", " : "  ",
                   json_string_value(json_array_get(tasks, i)));
}

void summaries_workers(const json_t *all, struct buf *out)
{
    const json_t *list = json_object_get(all, "workers");
    long long at = whole(all, "at");

    if (json_array_size(list) == 0) {
        buf_puts(out, "no worker has connected to this run\n");
        return;
    }
    buf_printf(out, "%-32s %-8s %-7s %8s %8s %7s %7s  %s\n", "worker", "device",
               "state", "verdicts", "refused", "truths", "heard", "tasks");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *w = json_array_get(list, i);

        buf_printf(out, "%-32s %-8s %-7s %8lld %8lld %7lld %5lld s",
                   jsn_str(w, "name"), jsn_str(w, "device"),
                   jsn_str(w, "state"), whole(w, "verdicts"),
                   whole(w, "refused"), whole(w, "truths"),
                   (at - whole(w, "heard")) / 1000000);
        put_tasks(w, out);
        buf_putc(out, '\n');
    }
}

void summaries_state(const struct summary *m, struct buf *out)
{
    buf_puts(out, run_states[m->state]);
    if (m->pid)
        buf_printf(out, " (process %ld)", m->pid);
}

void summaries_tasks(const struct summary *m)
{
    for (size_t i = 0; i < m->tasks; i++)
        jsn_line(summary_task_json(&m->task[i]));
    for (size_t i = 0; i < m->pieces; i++)
        jsn_line(summary_task_json(&m->piece[i]));
}
