/* cmd_show.c: monkeys show: one task of a run, one attempt in full. */
#include "analyze/table.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "run/attempt_view.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct show_values {
    bool code, plan, feedback, reference, diff, prompt, reply, json;
};

#define VALUES                       struct show_values
#define SHOW_FLAG(name, field, help) OPTION(name, OPT_FLAG, NULL, help, field)
#define LONGEST                      1000 /* longer lines are cut on a terminal */

static const struct opt show_table[] = {
    SHOW_FLAG("code", code, "only the code"),
    SHOW_FLAG("prompt", prompt,
              "only the prompt: of STAGE, or of the last stage"),
    SHOW_FLAG("reply", reply, "only the reply: of STAGE, or of the last stage"),
    SHOW_FLAG("plan", plan, "only the plan"),
    SHOW_FLAG("feedback", feedback, "only the feedback for the model"),
    SHOW_FLAG("reference", reference, "only the file of the task"),
    SHOW_FLAG("diff", diff,
              "only what changed in the code since the attempt before, as "
              "diff -u shows it"),
    SHOW_FLAG("json", json, "everything as one JSON object"),
    {0},
};

/* What the command line asks for. */
struct wanted {
    const struct show_values *v;
    const char *dir, *task, *stage; /* stage NULL: the last */
    int64_t attempt;                /* 0: the best or the last */
};

static int show_read_words(struct wanted *w, const struct opt_result *r,
                           struct err *e)
{
    if (r->rest_len < 2)
        return err_set(e, ERR_USAGE,
                       "give the folder of a run and a task; 'monkeys status "
                       "--tasks DIR' lists the tasks");
    w->dir = r->rest[0];
    w->task = r->rest[1];
    for (size_t i = 2; i < r->rest_len; i++) {
        const char *word = r->rest[i];

        if (!w->attempt && str_to_i64(str_of(word), 1, INT64_MAX, &w->attempt))
            continue;
        if (w->stage || !(w->v->prompt || w->v->reply))
            return err_set(e, ERR_USAGE,
                           "'%s' is not the number of an attempt; they count "
                           "from 1",
                           word);
        w->stage = word;
    }
    return 0;
}

static int show_count_parts(const struct show_values *v)
{
    return v->code + v->plan + v->feedback + v->reference + v->diff +
           v->prompt + v->reply + v->json;
}

/* ---- which task ---- */

#define MOST_NAMED 5 /* of the tasks that a word may mean */

static const char *show_last_part(const char *id)
{
    const char *slash = strrchr(id, '/');

    return slash ? slash + 1 : id;
}

static bool show_is_id(const char *id, const char *word)
{
    return strcmp(id, word) == 0;
}

static bool show_is_last_part(const char *id, const char *word)
{
    return strcmp(show_last_part(id), word) == 0;
}

static bool show_begins_so(const char *id, const char *word)
{
    size_t n = strlen(word);

    return strncmp(id, word, n) == 0 ||
           strncmp(show_last_part(id), word, n) == 0;
}

/* How many tasks fit; *found is the first. */
static size_t show_count_fits(struct run_view *v, const char *word,
                              bool (*fits)(const char *, const char *),
                              struct run_task **found)
{
    size_t n = 0;

    for (size_t i = 0; i < v->all; i++)
        if (fits(v->task[i].row.id, word) && n++ == 0)
            *found = &v->task[i];
    return n;
}

static int show_several(struct run_view *v, const char *word,
                        bool (*fits)(const char *, const char *), size_t n,
                        struct err *e)
{
    struct buf names;
    size_t named = 0;

    buf_init(&names, BUF_UNLIMITED);
    for (size_t i = 0; i < v->all && named < MOST_NAMED; i++)
        if (fits(v->task[i].row.id, word))
            buf_printf(&names, "%s%s", named++ ? ", " : "", v->task[i].row.id);
    err_set(e, ERR_INPUT, "'%s' may mean %zu tasks: %s%s", word, n,
            buf_str(&names), n > named ? ", …" : "");
    buf_release(&names);
    return -1;
}

static int show_no_task(struct run_view *v, const char *word, struct err *e)
{
    const char **names = xcalloc(2 * v->all + 1, sizeof(*names)), *near;

    for (size_t i = 0; i < v->all; i++) {
        names[i] = v->task[i].row.id;
        names[v->all + i] = show_last_part(v->task[i].row.id);
    }
    near = str_nearest(word, names, 2 * v->all);
    free(names);
    if (near)
        return err_set(e, ERR_INPUT, "%s has no task '%s'; did you mean '%s'?",
                       v->dir, word, near);
    return err_set(e, ERR_INPUT,
                   "%s has no task '%s'; 'monkeys status --tasks %s' lists "
                   "its tasks",
                   v->dir, word, v->dir);
}

/* A task of a run: its id, the last part of it, or the beginning of either if
 * no other task begins so. NULL names the nearest, or those that are meant. */
static struct run_task *show_find_task(struct run_view *v, const char *word,
                                       struct err *e)
{
    static bool (*const fits[])(const char *, const char *) = {
        show_is_id, show_is_last_part, show_begins_so};
    struct run_task *found = NULL;

    for (size_t i = 0; word[0] && i < sizeof(fits) / sizeof(fits[0]); i++) {
        size_t n = show_count_fits(v, word, fits[i], &found);

        if (n > 1)
            show_several(v, word, fits[i], n, e);
        if (n)
            return n == 1 ? found : NULL;
    }
    show_no_task(v, word, e);
    return NULL;
}

/* ---- attempts for people ---- */

/* A text below a heading, each line behind four blanks: whatever it says, it
 * cannot pass for a heading. */
static void show_put_text(struct str text, struct buf *out)
{
    struct str line;

    if (!text.n)
        buf_puts(out, "    (empty)\n");
    while (text.n && str_part(&text, '\n', &line)) {
        buf_puts(out, line.n ? "    " : "");
        buf_put(out, line.p, line.n);
        buf_putc(out, '\n');
    }
}

static void show_put_usd(int64_t usd_micro, struct buf *out)
{
    buf_printf(out, "$%lld.%06lld", (long long)(usd_micro / 1000000),
               (long long)(usd_micro % 1000000));
}

static const char *show_or_dash(const char *s)
{
    return s && s[0] ? s : "-";
}

/* ---- the table ---- */

/* A table with a line for each attempt. */
static void show_put_task(const struct attempt_list *t, struct buf *out)
{
    json_t *all = run_attempt_view_json(t, NULL),
           *lines = json_object_get(all, "attempts"), *line;
    struct table table;
    char same[64];
    size_t i;

    buf_printf(out, "# %s\n", t->id);
    if (t->skipped)
        buf_printf(out, "skipped: %s\n", t->skipped);
    if (!t->lines)
        buf_puts(out, "No attempt is finished.\n");
    json_array_foreach(lines, i, line)
    {
        if (t->line[i].error || !t->line[i].same_as)
            continue;
        snprintf(same, sizeof(same), "the code of attempt %lld",
                 (long long)t->line[i].same_as);
        json_object_set_new(line, "error", json_string(same));
    }
    table_init(&table, NULL, NULL);
    table_from(&table,
               "attempt|verdict|stage|evidence|speed-up=speedup:x|tokens in="
               "tokens_in|tokens out=tokens_out|cost=usd_micro:$|rule|examples "
               "shown=shown|first line of the error=error",
               lines);
    if (t->lines)
        table_print(&table, TABLE_TEXT, out);
    table_release(&table);
    json_decref(all);
}

/* ---- one attempt ---- */

static void show_put_title(const struct attempt_list *t,
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

static void show_put_examples(const struct attempt_view *a, struct buf *out)
{
    buf_printf(out, "\n## Examples shown (%s, archive version %lld)\n",
               show_or_dash(a->row.retrieval),
               (long long)a->row.archive_version);
    if (!a->examples)
        buf_puts(out, "    none\n");
    for (size_t i = 0; i < a->examples; i++) {
        const struct attempt_example *x = &a->example[i];

        buf_printf(out, "    %lld  %s (%s), ", (long long)x->rank, x->name,
                   show_or_dash(x->origin));
        if (x->cosine < -1.5)
            buf_puts(out, "not compared");
        else
            buf_printf(out, "similarity %.6f", x->cosine);
        buf_puts(out, x->reason ? ", a piece of the task\n" : "\n");
    }
}

/* Prompts are long and mostly the same: their sizes are enough. */
static void show_put_prompts(const struct attempt_view *a, struct buf *out)
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

static void show_put_replies(const struct attempt_view *a, struct buf *out)
{
    for (size_t i = 0; i < a->calls; i++) {
        const struct attempt_call *c = &a->call[i];

        buf_printf(out, "\n## Reply (%s, %s%s%s)\n", c->row.purpose,
                   c->row.state, c->row.finish ? ", finish: " : "",
                   c->row.finish ? c->row.finish : "");
        if (c->row.error)
            show_put_text(str_of(c->row.error), out);
        if (c->reply.p)
            show_put_text(c->reply, out);
    }
}

static void show_put_part(const char *title, struct str text,
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
    show_put_text(text, out);
}

static void show_put_trials(const json_t *trials, struct buf *out)
{
    json_t *rows = json_deep_copy(trials), *row;
    struct table t;
    struct buf b;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        bool pass = json_is_true(json_object_get(row, "pass"));

        json_object_set_new(row, "trial", json_integer((json_int_t)i + 1));
        json_object_set_new(row, "result", json_string(pass ? "pass" : "FAIL"));
    }
    buf_init(&b, BUF_UNLIMITED);
    table_init(&t, NULL, NULL);
    table_from(&t,
               "trial|inputs=variant|result|max abs=max_abs:g|max rel=max_rel:g"
               "|error ratio=error_ratio:g|allowed=bound:g",
               rows);
    table_print(&t, TABLE_TEXT, &b);
    show_put_text((struct str){buf_str(&b), b.len}, out);
    table_release(&t);
    buf_release(&b);
    json_decref(rows);
}

/* What the outputs were checked by, and the worst slice where the task has a
 * tolerance of its own. */
static void show_put_checks(const json_t *record, struct buf *out)
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

static void show_put_verdict(const struct attempt_view *a, struct buf *out)
{
    const json_t *trials = json_object_get(a->record, "trials");
    const struct attempt_line *l = &a->line;

    buf_printf(out, "\n## Verdict\n    %s, stage %s, evidence %s", l->verdict,
               show_or_dash(l->stage), show_or_dash(l->evidence));
    if (l->rule)
        buf_printf(out, ", rule %s", l->rule);
    if (json_is_true(json_object_get(a->record, "kernelbench_pass")))
        buf_puts(out, ", passes KernelBench's check");
    buf_putc(out, '\n');
    if (!json_array_size(trials))
        return;
    show_put_trials(trials, out);
    show_put_checks(a->record, out);
}

static void show_put_measured(const json_t *timing, const char *key,
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

static void show_put_timing(const struct attempt_view *a, struct buf *out)
{
    const json_t *timing = json_object_get(a->record, "timing"),
                 *stages = json_object_get(a->record, "times_ms"), *ms;
    const char *name, *between = "    verified in";

    buf_puts(out, "\n## Timing\n");
    if (json_is_object(timing)) {
        show_put_measured(timing, "ms", "kernel", out);
        show_put_measured(timing, "reference_ms", "eager reference", out);
        show_put_measured(timing, "compile_ms", "torch.compile", out);
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

static void show_put_cost(const struct attempt_view *a, struct buf *out)
{
    buf_puts(out, "\n## Cost\n");
    for (size_t i = 0; i < a->calls; i++) {
        const struct row_call *c = &a->call[i].row;

        buf_printf(out,
                   "    %s: %lld tokens in (%lld cached), %lld out (%lld "
                   "reasoning), ",
                   c->purpose, (long long)c->input, (long long)c->cached,
                   (long long)c->output, (long long)c->reasoning);
        show_put_usd(c->cost_usd_micro, out);
        buf_printf(out, ", %.1f s%s%s%s\n", (double)c->wall_us / 1e6,
                   c->estimated ? ", tokens are estimates" : "",
                   c->model ? ", " : "", c->model ? c->model : "");
    }
    buf_printf(out, "    total: %lld tokens in, %lld out, ",
               (long long)a->line.tokens_in, (long long)a->line.tokens_out);
    show_put_usd(a->line.usd_micro, out);
    buf_putc(out, '\n');
}

/* Everything about one attempt. A model wrote much of it, so each text is
 * indented, and the whole goes through term_quote() before it is printed. */
static void show_put_attempt(const struct attempt_list *t,
                             const struct attempt_view *a, struct buf *out)
{
    show_put_title(t, a, out);
    buf_puts(out, "\n## Reference\n");
    show_put_text(t->reference, out);
    show_put_examples(a, out);
    show_put_prompts(a, out);
    show_put_replies(a, out);
    show_put_part("Plan", a->plan, a, out);
    show_put_part("Code", a->code, a, out);
    show_put_verdict(a, out);
    show_put_part("Feedback", a->feedback, a, out);
    buf_puts(out, "\n## Trace\n");
    verdict_put_trace(json_object_get(a->record, "trace"), out);
    show_put_timing(a, out);
    show_put_cost(a, out);
}

/* The messages of a prompt, each below its role. */
static void show_put_prompt(const struct attempt_call *c, struct buf *out)
{
    for (size_t i = 0; i < c->messages; i++) {
        buf_printf(out, "%s[%s]\n", i ? "\n" : "", c->message[i].role);
        buf_put(out, c->message[i].text.p, c->message[i].text.n);
    }
}

/* ---- printing ---- */

/* For people, or for a terminal: nothing in it controls the screen. Releases it. */
static void show_print_quoted(struct buf *text)
{
    if (text->len && text->data[text->len - 1] != '\n')
        buf_putc(text, '\n');
    cmd_print(text, LONGEST);
}

static void show_print_part(struct str text)
{
    struct buf b;

    if (!isatty(STDOUT_FILENO)) {
        fwrite(text.p, 1, text.n, stdout);
        return;
    }
    buf_init(&b, BUF_UNLIMITED);
    buf_put(&b, text.p, text.n);
    show_print_quoted(&b);
}

static void show_print_whole(const struct attempt_list *t,
                             const struct attempt_view *a, bool table)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (table)
        show_put_task(t, &b);
    if (table && a)
        buf_putc(&b, '\n');
    if (a)
        show_put_attempt(t, a, &b);
    show_print_quoted(&b);
}

/* ---- one part ---- */

static int show_no_part(const struct attempt_list *t,
                        const struct attempt_view *a, const char *what,
                        struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: attempt %lld has no %s", t->id,
                   (long long)a->line.number, what);
}

static int show_text(const struct attempt_list *t, const struct attempt_view *a,
                     struct str text, const char *what, struct err *e)
{
    if (!text.p)
        return show_no_part(t, a, what, e);
    show_print_part(text);
    return 0;
}

static int show_call(const struct wanted *w, const struct attempt_list *t,
                     const struct attempt_view *a, struct err *e)
{
    const struct attempt_call *c = run_attempt_view_call(a, w->stage);
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (!c) {
        for (size_t i = 0; i < a->calls; i++)
            buf_printf(&b, "%s%s",
                       i ? ", " : "; its stages: ", a->call[i].row.purpose);
        err_set(e, ERR_INPUT, "%s: attempt %lld has no stage '%s'%s", t->id,
                (long long)a->line.number, w->stage ? w->stage : "code",
                buf_str(&b));
    } else if (w->v->prompt && !c->messages) {
        show_no_part(t, a, "stored prompt", e);
    } else if (w->v->prompt) {
        show_put_prompt(c, &b);
        show_print_part((struct str){buf_str(&b), b.len});
    } else {
        show_text(t, a, c->reply, "reply", e);
    }
    buf_release(&b);
    return e->kind == ERR_NONE ? 0 : -1;
}

static int show_diff(struct run_view *v, const struct run_task *task,
                     const struct attempt_list *t, const struct attempt_view *a,
                     struct err *e)
{
    const struct run_attempt *before = run_attempt_view_before(task, a);
    struct buf out;
    int rc;

    if (!before)
        return err_set(e, ERR_INPUT,
                       "%s: attempt %lld is the first with code, so there is "
                       "nothing to compare it with",
                       t->id, (long long)a->line.number);
    buf_init(&out, BUF_UNLIMITED);
    rc = run_attempt_view_diff(v, before, a, &out, e);
    if (rc == 0)
        show_print_part((struct str){buf_str(&out), out.len});
    buf_release(&out);
    return rc;
}

static int show_part(struct run_view *v, const struct run_task *task,
                     const struct wanted *w, const struct attempt_list *t,
                     const struct attempt_view *a, struct err *e)
{
    if (w->v->code)
        return show_text(t, a, a->code, "code", e);
    if (w->v->plan)
        return show_text(t, a, a->plan, "plan", e);
    if (w->v->feedback)
        return show_text(t, a, a->feedback, "feedback", e);
    if (w->v->diff)
        return show_diff(v, task, t, a, e);
    return show_call(w, t, a, e);
}

/* ---- the whole ---- */

static int show_unknown_attempt(const struct run_task *t, int64_t number,
                                struct err *e)
{
    if (!t->attempts)
        return err_set(e, ERR_INPUT, "%s: no attempt is finished", t->row.id);
    return err_set(e, ERR_INPUT, "%s has no attempt %lld; it has %zu",
                   t->row.id, (long long)number, t->attempts);
}

static int show_attempt(struct run_view *v, struct run_task *task,
                        const struct wanted *w, const struct attempt_list *t,
                        struct err *e)
{
    const struct run_attempt *row =
        w->attempt ? run_view_attempt(task, w->attempt) : run_task_best(task);
    bool whole = show_count_parts(w->v) == 0;
    struct attempt_view a;
    int rc = 0;

    if (!row && (w->attempt || (!whole && !w->v->json)))
        return show_unknown_attempt(task, w->attempt, e);
    if (row && run_attempt_view_make(v, row, &a, e) < 0)
        return -1;
    if (w->v->json)
        jsn_line(run_attempt_view_json(t, row ? &a : NULL));
    else if (whole)
        show_print_whole(t, row ? &a : NULL, !w->attempt);
    else
        rc = show_part(v, task, w, t, &a, e);
    if (row)
        run_attempt_view_release(&a);
    return rc;
}

static int show_task(const struct wanted *w, struct err *e)
{
    struct run_task *task;
    struct attempt_list t;
    struct run_view v;
    int rc = -1;

    if (run_view_open_tasks(w->dir, &v, e) < 0)
        return -1;
    task = show_find_task(&v, w->task, e);
    if (task && run_view_load(&v, task, e) == 0 &&
        run_attempt_list_make(&v, task, &t, e) == 0) {
        if (w->v->reference) {
            show_print_part(t.reference);
            rc = 0;
        } else {
            rc = show_attempt(&v, task, w, &t, e);
        }
        run_attempt_list_release(&t);
    }
    run_view_close(&v);
    return rc;
}

static int show_run(struct cmd_call *call, struct err *e)
{
    const struct show_values *v = call->values;
    struct wanted w = {.v = v};

    if (show_count_parts(v) > 1)
        return err_set(e, ERR_USAGE,
                       "give only one of --code, --prompt, --reply, --plan, "
                       "--feedback, --reference, --diff and --json");
    return show_read_words(&w, &call->r, e) < 0 ? -1 : show_task(&w, e);
}

const struct cmd cmd_show = {
    "show",
    "RUN TASK [ATTEMPT] [STAGE]",
    "show the attempts of a task",
    "Without ATTEMPT: a table of all attempts of the task, then the best\n"
    "one in full, or the last one if none is correct. With ATTEMPT: the\n"
    "reference, the examples shown, the sizes of the prompts, replies,\n"
    "plan, code, verdict, feedback, trace, timing and cost of that attempt.\n"
    "TASK is the id of a task, its last part (04_softmax), or the beginning\n"
    "of either. STAGE is plan, code or evolve, for --prompt and --reply.\n"
    "You can use it during a run.\n"
    "What a model wrote cannot control the terminal: control characters are\n"
    "shown as <1B> or <U+202E>, and long lines are cut. With an option for "
    "one\n"
    "part, a pipe or file gets its bytes unchanged.",
    show_table,
    show_run,
    sizeof(struct show_values),
    NULL,
};
