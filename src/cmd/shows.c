/* shows.c: attempts for people to read. */
#include "cmd/shows.h"

#include "cmd/traces.h"
#include "io/term.h"

#include <math.h>
#include <string.h>

#define ERROR_COLUMNS 100 /* of an error in a table */

/* ---- pieces ---- */

/* A text below a heading, each line behind four blanks: whatever it says, it
 * cannot pass for a heading. */
static void put_text(struct str text, struct buf *out)
{
    struct str line;
    bool more = true;

    if (!text.n) {
        buf_puts(out, "    (empty)\n");
        return;
    }
    while (more && text.n) {
        more = str_cut(&text, '\n', &line);
        if (!more)
            line = text;
        buf_puts(out, line.n ? "    " : "");
        buf_put(out, line.p, line.n);
        buf_putc(out, '\n');
    }
}

static void put_usd(int64_t usd_micro, struct buf *out)
{
    buf_printf(out, "$%lld.%06lld", (long long)(usd_micro / 1000000),
               (long long)(usd_micro % 1000000));
}

static const char *or_dash(const char *s)
{
    return s && s[0] ? s : "-";
}

/* ---- the table ---- */

static void put_names(const struct attempt_line *l, struct buf *out)
{
    for (size_t i = 0; i < l->shown_len; i++)
        buf_printf(out, "%s%s", i ? ", " : "", l->shown[i]);
    if (!l->shown_len)
        buf_putc(out, '-');
}

static size_t names_width(const struct attempt_line *l)
{
    struct buf b;
    size_t n;

    buf_init(&b, BUF_UNLIMITED);
    put_names(l, &b);
    n = b.len;
    buf_release(&b);
    return n;
}

struct widths {
    int rule, shown;
};

static struct widths widths_of(const struct attempt_list *t)
{
    struct widths w = {4, 14};

    for (size_t i = 0; i < t->lines; i++) {
        int rule = (int)strlen(or_dash(t->line[i].rule)),
            shown = (int)names_width(&t->line[i]);

        w.rule = rule > w.rule ? rule : w.rule;
        w.shown = shown > w.shown ? shown : w.shown;
    }
    return w;
}

static void put_line(const struct attempt_line *l, struct widths w,
                     struct buf *out)
{
    size_t at;

    buf_printf(out, "%7lld  %-14s %-10s  %-8s  ", (long long)l->number,
               l->verdict, or_dash(l->stage), or_dash(l->evidence));
    if (isnan(l->speedup))
        buf_printf(out, "%8s", "-");
    else
        buf_printf(out, "%7.2fx", l->speedup);
    buf_puts(out, l->implausible ? "?" : " ");
    buf_printf(out, " %9lld %10lld  ", (long long)l->tokens_in,
               (long long)l->tokens_out);
    put_usd(l->usd_micro, out);
    buf_printf(out, "  %-*s  ", w.rule, or_dash(l->rule));
    at = out->len;
    put_names(l, out);
    buf_printf(out, "%*s  ", w.shown - (int)(out->len - at), "");
    if (l->error)
        term_cut(l->error, ERROR_COLUMNS, out);
    else if (l->same_as)
        buf_printf(out, "the code of attempt %lld", (long long)l->same_as);
    buf_putc(out, '\n');
}

void shows_task(const struct attempt_list *t, struct buf *out)
{
    struct widths w = widths_of(t);

    buf_printf(out, "# %s\n", t->id);
    if (t->skipped)
        buf_printf(out, "skipped: %s\n", t->skipped);
    if (!t->lines) {
        buf_puts(out, "No attempt is finished.\n");
        return;
    }
    buf_printf(out,
               "attempt  %-14s %-10s  %-8s  speed-up  tokens in tokens out  "
               "%-9s  %-*s  %-*s  first line of the error\n",
               "verdict", "stage", "evidence", "cost", w.rule, "rule", w.shown,
               "examples shown");
    for (size_t i = 0; i < t->lines; i++)
        put_line(&t->line[i], w, out);
}

/* ---- one attempt ---- */

static void put_title(const struct attempt_list *t,
                      const struct attempt_view *a, struct buf *out)
{
    const struct attempt_line *l = &a->line;

    buf_printf(out, "# %s, attempt %lld of %zu: %s", t->id,
               (long long)l->number, t->lines, l->verdict);
    if (l->rule)
        buf_printf(out, " (%s)", l->rule);
    if (l->evidence)
        buf_printf(out, ", %s", l->evidence);
    if (!isnan(l->speedup))
        buf_printf(out, ", %.2fx", l->speedup);
    if (l->implausible)
        buf_printf(out, " (hard to believe: %s)", l->implausible);
    buf_printf(out, "\n%s, iteration %lld", a->row.method,
               (long long)a->row.iteration);
    if (a->row.parent)
        buf_printf(out, ", from attempt %lld", (long long)a->row.parent);
    if (a->row.island >= 0)
        buf_printf(out, ", island %lld", (long long)a->row.island);
    if (l->same_as)
        buf_printf(out, ", the same code as attempt %lld",
                   (long long)l->same_as);
    buf_putc(out, '\n');
}

static void put_examples(const struct attempt_view *a, struct buf *out)
{
    buf_printf(out, "\n## Examples shown (%s, archive version %lld)\n",
               or_dash(a->row.retrieval), (long long)a->row.archive_version);
    if (!a->examples)
        buf_puts(out, "    none\n");
    for (size_t i = 0; i < a->examples; i++) {
        const struct attempt_example *x = &a->example[i];

        buf_printf(out, "    %lld  %s (%s), ", (long long)x->rank, x->name,
                   or_dash(x->origin));
        if (x->cosine < -1.5)
            buf_puts(out, "not compared");
        else
            buf_printf(out, "similarity %.6f", x->cosine);
        buf_puts(out, x->reason ? ", a piece of the task\n" : "\n");
    }
}

/* Prompts are long and mostly the same: their sizes are enough. */
static void put_prompts(const struct attempt_view *a, struct buf *out)
{
    buf_puts(out, "\n## Prompts (--prompt STAGE shows one)\n");
    if (!a->calls)
        buf_puts(out, "    none\n");
    for (size_t i = 0; i < a->calls; i++) {
        const struct attempt_call *c = &a->call[i];

        buf_printf(out, "    %s: ", c->row.purpose);
        for (size_t k = 0; k < c->messages; k++)
            buf_printf(out, "%s%s %zu bytes", k ? ", " : "", c->message[k].role,
                       c->message[k].text.n);
        buf_puts(out, c->messages ? "\n" : "not stored\n");
    }
}

static void put_replies(const struct attempt_view *a, struct buf *out)
{
    for (size_t i = 0; i < a->calls; i++) {
        const struct attempt_call *c = &a->call[i];

        buf_printf(out, "\n## Reply (%s, %s%s%s)\n", c->row.purpose,
                   c->row.state, c->row.finish ? ", finish: " : "",
                   c->row.finish ? c->row.finish : "");
        if (c->row.error)
            put_text(str_of(c->row.error), out);
        if (c->reply.p)
            put_text(c->reply, out);
    }
}

static void put_part(const char *title, struct str text,
                     const struct attempt_view *a, struct buf *out)
{
    buf_printf(out, "\n## %s\n", title);
    if (!text.p) {
        buf_puts(out, "    none\n");
        return;
    }
    for (size_t i = 0; i < a->calls; i++)
        if (text.n && a->call[i].reply.p &&
            str_same(str_trim(text), str_trim(a->call[i].reply))) {
            buf_puts(out, "    the whole reply above\n");
            return;
        }
    put_text(text, out);
}

static void put_number(const json_t *object, const char *key, struct buf *out)
{
    const json_t *v = json_object_get(object, key);

    if (json_is_number(v))
        buf_printf(out, "  %11.3g", json_number_value(v));
    else
        buf_printf(out, "  %11s", "-");
}

/* What the outputs were checked by, and the worst slice where the task has a
 * tolerance of its own. */
static void put_checks(const json_t *record, struct buf *out)
{
    const json_t *checks = json_object_get(record, "checks"),
                 *slice = json_object_get(record, "slice_ratio");

    if (!json_array_size(checks))
        return;
    for (size_t i = 0; i < json_array_size(checks); i++)
        buf_printf(out, "%s%s", i ? ", " : "    checks: ",
                   json_string_value(json_array_get(checks, i)));
    if (json_is_number(slice))
        buf_printf(out, "; error ratio %.3g in the worst slice",
                   json_number_value(slice));
    buf_putc(out, '\n');
}

static void put_verdict(const struct attempt_view *a, struct buf *out)
{
    const json_t *trials = json_object_get(a->record, "trials");
    const struct attempt_line *l = &a->line;

    buf_printf(out, "\n## Verdict\n    %s, stage %s, evidence %s", l->verdict,
               or_dash(l->stage), or_dash(l->evidence));
    if (l->rule)
        buf_printf(out, ", rule %s", l->rule);
    if (json_is_true(json_object_get(a->record, "kernelbench_pass")))
        buf_puts(out, ", passes KernelBench's check");
    buf_putc(out, '\n');
    if (!json_array_size(trials))
        return;
    buf_printf(out, "    %5s  %-10s  %-6s  %11s  %11s  %11s  %11s\n", "trial",
               "inputs", "result", "max abs", "max rel", "error ratio",
               "allowed");
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const json_t *t = json_array_get(trials, i);

        buf_printf(out, "    %5zu  %-10s  %-6s", i + 1, jsn_str(t, "variant"),
                   json_is_true(json_object_get(t, "pass")) ? "pass" : "FAIL");
        put_number(t, "max_abs", out);
        put_number(t, "max_rel", out);
        put_number(t, "error_ratio", out);
        put_number(t, "bound", out);
        buf_putc(out, '\n');
    }
    put_checks(a->record, out);
}

static void put_measured(const json_t *timing, const char *key,
                         const char *title, struct buf *out)
{
    const json_t *m = json_object_get(timing, key);

    if (json_is_object(m))
        buf_printf(out,
                   "    %s: median %.4g ms, 20%% to 80%%: %.4g to %.4g ms\n",
                   title, json_number_value(json_object_get(m, "median")),
                   json_number_value(json_object_get(m, "p20")),
                   json_number_value(json_object_get(m, "p80")));
}

static void put_timing(const struct attempt_view *a, struct buf *out)
{
    const json_t *timing = json_object_get(a->record, "timing"),
                 *stages = json_object_get(a->record, "times_ms"), *ms;
    const char *name, *between = "    verified in";

    buf_puts(out, "\n## Timing\n");
    if (json_is_object(timing)) {
        put_measured(timing, "ms", "kernel", out);
        put_measured(timing, "reference_ms", "eager reference", out);
        put_measured(timing, "compile_ms", "torch.compile", out);
    } else {
        const char *why = jsn_str(a->record, "timing_why");

        buf_printf(out, "    not measured%s%s\n", why[0] ? ": " : "", why);
    }
    json_object_foreach((json_t *)stages, name, ms)
    {
        buf_printf(out, "%s %s %.4g ms", between, name, json_number_value(ms));
        between = ",";
    }
    if (between[0] == ',')
        buf_putc(out, '\n');
}

static void put_cost(const struct attempt_view *a, struct buf *out)
{
    buf_puts(out, "\n## Cost\n");
    for (size_t i = 0; i < a->calls; i++) {
        const struct row_call *c = &a->call[i].row;

        buf_printf(out,
                   "    %s: %lld tokens in (%lld cached), %lld out (%lld "
                   "reasoning), ",
                   c->purpose, (long long)c->input, (long long)c->cached,
                   (long long)c->output, (long long)c->reasoning);
        put_usd(c->cost_usd_micro, out);
        buf_printf(out, ", %.1f s%s%s%s\n", (double)c->wall_us / 1e6,
                   c->estimated ? ", tokens are estimates" : "",
                   c->model ? ", " : "", c->model ? c->model : "");
    }
    buf_printf(out, "    total: %lld tokens in, %lld out, ",
               (long long)a->line.tokens_in, (long long)a->line.tokens_out);
    put_usd(a->line.usd_micro, out);
    buf_putc(out, '\n');
}

void shows_attempt(const struct attempt_list *t, const struct attempt_view *a,
                   struct buf *out)
{
    put_title(t, a, out);
    buf_puts(out, "\n## Reference\n");
    put_text(t->reference, out);
    put_examples(a, out);
    put_prompts(a, out);
    put_replies(a, out);
    put_part("Plan", a->plan, a, out);
    put_part("Code", a->code, a, out);
    put_verdict(a, out);
    put_part("Feedback", a->feedback, a, out);
    buf_puts(out, "\n## Trace\n");
    traces_put(json_object_get(a->record, "trace"), out);
    put_timing(a, out);
    put_cost(a, out);
}

void shows_prompt(const struct attempt_call *c, struct buf *out)
{
    for (size_t i = 0; i < c->messages; i++) {
        buf_printf(out, "%s[%s]\n", i ? "\n" : "", c->message[i].role);
        buf_put(out, c->message[i].text.p, c->message[i].text.n);
    }
}
