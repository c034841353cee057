/* kinds_cost.c: what solving a task cost. */
#include "analyze/kinds.h"

#include <math.h>
#include <string.h>

struct spent {
    int64_t attempts, calls, input, output, usd_micro;
    bool estimated;
};

static struct spent spent_by(const struct analyze_run *r)
{
    const struct run_view *v = &r->view;
    struct spent s = {0};

    for (size_t i = 0; i < v->all; i++) /* pieces cost, too */
        s.attempts += (int64_t)v->task[i].attempts;
    for (size_t i = 0; i < v->calls; i++) {
        const struct row_call *c = &v->call[i];

        s.calls += strcmp(c->state, "answered") == 0;
        s.input += c->input;
        s.output += c->output;
        s.usd_micro += c->cost_usd_micro;
        s.estimated |= c->estimated || c->assumed_usd_micro;
    }
    return s;
}

static void put_per_solve(struct table *t, const struct analyze_run *r,
                          double amount, int places)
{
    table_real(t, r->solved ? amount / (double)r->solved : (double)NAN, places);
}

int kind_cost(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {"solved",
                                        "attempts",
                                        "calls",
                                        "tokens in",
                                        "tokens out",
                                        "dollars",
                                        "attempts per solve",
                                        "tokens per solve",
                                        "dollars per solve",
                                        NULL};

    (void)e;
    kind_run_columns(t);
    table_columns(t, names);
    for (size_t i = 0; i < a->runs; i++) {
        const struct analyze_run *r = &a->run[i];
        struct spent s = spent_by(r);
        double usd = (double)s.usd_micro / 1e6;

        kind_run_cells(t, r);
        table_int(t, (int64_t)r->solved);
        table_int(t, s.attempts);
        table_int(t, s.calls);
        table_int(t, s.input);
        table_int(t, s.output);
        table_real(t, usd, 6);
        put_per_solve(t, r, (double)s.attempts, 2);
        put_per_solve(t, r, (double)(s.input + s.output), 0);
        put_per_solve(t, r, usd, 6);
        if (s.estimated)
            table_note(t, "%s: tokens or dollars are partly estimated",
                       r->name);
    }
    return 0;
}
