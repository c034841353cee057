/* kinds_examples.c: what examples do for the attempts that see them. In C: the test
 * moves marks at random within strata. */
#include "analyze/kinds.h"
#include "base/mem.h"
#include "base/str.h"
#include "stats/stats.h"

#include <stdlib.h>
#include <string.h>

/* Whether the attempt is made while the task is not solved. */
static bool is_open(const struct analyze_task *x, const struct run_attempt *at)
{
    return !x->solved_at || at->row.attempt <= x->solved_at;
}

/* ---- credit ---- */

#define MODES 4 /* of retrieval, by its first letter; 0: any other */

static size_t mode_of(const struct run_attempt *a)
{
    const char *s = a->row.retrieval;

    return !s                           ? 0
           : s[0] == 's' && s[1] == 'i' ? 1
           : *s == 'r'                  ? 2
           : *s == 'c'                  ? 3
                                        : 0;
}

/* Attempts are comparable if they are the same attempt of their tasks, with the
 * same mode of retrieval. Rows of `len` strata: all attempts, then those that
 * each entry was shown to. */
struct strata {
    struct stats_stratum *row;
    size_t len, entries;
};

static void strata_add(struct strata *s, const struct run_attempt *a, bool hit)
{
    size_t place = ((size_t)a->row.attempt - 1) * MODES + mode_of(a);

    s->row[place].n++;
    s->row[place].hits += hit;
    for (size_t i = 0; i < a->shown_len; i++) {
        int64_t entry = a->shown[i].entry;
        struct stats_stratum *x;

        if (entry < 1 || (uint64_t)entry > s->entries)
            continue;
        x = &s->row[(size_t)entry * s->len + place];
        x->marked++;
        x->marked_hits += hit;
    }
}

static void strata_read(struct strata *s, const struct analyze_run *r)
{
    int64_t most = 0;

    for (size_t i = 0; i < r->tasks; i++)
        for (size_t k = 0; k < r->task[i].task->attempts; k++)
            if (r->task[i].task->attempt[k].row.attempt > most)
                most = r->task[i].task->attempt[k].row.attempt;
    s->entries = r->view.entries;
    s->len = (size_t)most * MODES;
    s->row = xcalloc((s->entries + 1) * s->len + 1, sizeof(*s->row));
    for (size_t i = 0; i < r->tasks; i++)
        for (size_t k = 0; k < r->task[i].task->attempts; k++) {
            const struct run_attempt *a = &r->task[i].task->attempt[k];

            if (a->shown_len && a->row.attempt > 0 && is_open(&r->task[i], a))
                strata_add(s, a, a->row.attempt == r->task[i].solved_at);
        }
}

/* Those of an entry, without strata that it was not shown in; returns how many
 * are left. */
static size_t strata_of(struct strata *s, size_t entry,
                        struct stats_stratum **out)
{
    struct stats_stratum *row = &s->row[entry * s->len];
    size_t len = 0;

    for (size_t i = 0; i < s->len; i++)
        if (row[i].marked) {
            row[len] = row[i];
            row[len].n = s->row[i].n;
            row[len++].hits = s->row[i].hits;
        }
    *out = row;
    return len;
}

struct credit {
    const struct run_entry *entry;
    struct stats_effect effect;
};

static int by_p(const void *a, const void *b)
{
    const struct credit *x = a, *y = b;

    if (x->effect.p < y->effect.p || x->effect.p > y->effect.p)
        return x->effect.p < y->effect.p ? -1 : 1;
    if (x->effect.marked != y->effect.marked)
        return x->effect.marked > y->effect.marked ? -1 : 1;
    return x->entry->row.entry < y->entry->row.entry ? -1 : 1;
}

static size_t credit_run(struct analysis *a, struct analyze_run *r,
                         struct table *t)
{
    struct run_view *v = &r->view;
    struct credit *list = xcalloc(v->entries + 1, sizeof(*list));
    const char *seed = run_view_fact(v, "seed");
    struct strata strata;
    size_t len = 0;

    strata_read(&strata, r);
    for (size_t i = 0; i < v->entries; i++) {
        struct stats_stratum *row;
        size_t n = strata_of(&strata, i + 1, &row);
        struct stats_effect x =
            stats_randomise(row, n, n ? (size_t)a->rounds : 0, seed);

        if (x.marked)
            list[len++] = (struct credit){&v->entry[i], x};
    }
    if (len)
        qsort(list, len, sizeof(*list), by_p);
    for (size_t i = 0; i < len; i++) {
        const struct stats_effect *x = &list[i].effect;

        table_text(t, r->name);
        table_int(t, list[i].entry->row.entry);
        table_text(t, list[i].entry->row.name);
        table_text(t, list[i].entry->row.origin);
        table_int(t, (int64_t)x->marked);
        table_int(t, (int64_t)x->hits);
        table_real(t, x->expected, 2);
        table_real(t, x->p, 4);
    }
    free(strata.row);
    free(list);
    return len;
}

int kind_credit(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"run",      "entry", "example",
                                        "origin",   "shown", "solved",
                                        "expected", "p",     NULL};
    size_t rows = 0;

    (void)e;
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++)
        if (*a->run[i].retrieval)
            rows += credit_run(a, &a->run[i], t);
    table_note(
        t,
        "expected: solved attempts if the example made no difference; "
        "p: two-sided, examples moved at random between attempts of "
        "the same number and mode, up to %lld times; of %zu examples, chance "
        "alone puts about %.1f below 0.05",
        (long long)a->rounds, rows, 0.05 * (double)rows);
    return rows ? 0 : table_lacks(t, "no run chose examples from an archive");
}

/* ---- N.1 ---- */

/* The command asks for it; see borrow.h. */
int kind_borrowing(struct analysis *a, struct table *t, struct err *e)
{
    (void)a;
    (void)e;
    return table_lacks(t, "it asks a model: give --table borrowing, --model "
                          "and a budget");
}
