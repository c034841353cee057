/* cmd_show.c: monkeys show: one task of a run, one attempt in full. */
#include "analyze/table.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "io/term.h"
#include "run/query.h"
#include "verify/verdict.h"

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

static int show_several(const json_t *tasks, const char *word, size_t n,
                        struct err *e)
{
    struct buf names = BUF_INIT;

    for (size_t i = 0; i < n && i < MOST_NAMED; i++)
        buf_printf(&names, "%s%s", i ? ", " : "",
                   jsn_str(json_array_get(tasks, i), "id"));
    err_set(e, ERR_INPUT, "'%s' may mean %zu tasks: %s%s", word, n,
            buf_str(&names), n > MOST_NAMED ? ", …" : "");
    buf_release(&names);
    return -1;
}

static int show_no_task(const char *dir, const json_t *tasks, const char *word,
                        struct err *e)
{
    size_t n = json_array_size(tasks), i;
    const char **names = xcalloc(2 * n + 1, sizeof(*names)), *near;
    const json_t *t;

    json_array_foreach(tasks, i, t)
    {
        names[i] = jsn_str(t, "id");
        names[n + i] = jsn_str(t, "last");
    }
    near = str_nearest(word, names, 2 * n);
    free(names);
    if (near)
        return err_set(e, ERR_INPUT, "%s has no task '%s'; did you mean '%s'?",
                       dir, word, near);
    return err_set(e, ERR_INPUT,
                   "%s has no task '%s'; 'monkeys status --tasks %s' lists "
                   "its tasks",
                   dir, word, dir);
}

/* The task that a word means is the first of `tasks`. Otherwise the error names the
 * nearest, or those that are meant. */
static int show_find_task(const char *dir, const json_t *tasks,
                          const char *word, struct err *e)
{
    size_t n = 0;

    while (jsn_true(json_array_get(tasks, n), "fits"))
        n++;
    return n == 1  ? 0
           : n > 1 ? show_several(tasks, word, n, e)
                   : show_no_task(dir, tasks, word, e);
}

/* ---- attempts for people ---- */

static long long show_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

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

/* A word of an object in a sentence: nothing without one. */
static void show_put_word(const char *before, const json_t *object,
                          const char *key, const char *after, struct buf *out)
{
    const char *word = jsn_str(object, key);

    if (word[0])
        buf_printf(out, "%s%s%s", before, word, after);
}

/* ---- the table ---- */

/* A table with a line for each attempt. */
static int show_put_task(struct store *s, int64_t task, struct buf *out,
                         struct err *e)
{
    json_t *lines = query_list(s, "run/task/attempts",
                               json_pack("{s:I}", "task", task), e),
           *line;
    struct table table;
    char same[64];
    size_t i;

    if (!lines || query_lines(s, "run/show/task",
                              json_pack("{s:I}", "task", task), out, e) < 0) {
        json_decref(lines);
        return -1;
    }
    json_array_foreach(lines, i, line)
    {
        if (jsn_str(line, "error")[0] || !show_number(line, "same_as"))
            continue;
        snprintf(same, sizeof(same), "the code of attempt %lld",
                 show_number(line, "same_as"));
        json_object_set_new(line, "error", json_string(same));
    }
    table_init(&table, NULL, NULL);
    table_from(&table,
               "attempt|verdict|stage|evidence|speed-up=speedup:x|tokens in="
               "tokens_in|tokens out=tokens_out|cost=usd_micro:$|rule|examples "
               "shown=shown|first line of the error=error",
               lines);
    if (json_array_size(lines))
        table_print(&table, TABLE_TEXT, out);
    table_release(&table);
    json_decref(lines);
    return 0;
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

/* ---- one attempt ---- */

static void show_put_trials(const json_t *record, struct buf *out)
{
    json_t *rows = json_deep_copy(json_object_get(record, "trials")), *row;
    struct table t;
    struct buf b;
    size_t i;

    if (!json_array_size(rows)) {
        json_decref(rows);
        return;
    }
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
    show_put_checks(record, out);
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

static void show_put_timing(const json_t *record, struct buf *out)
{
    const json_t *timing = json_object_get(record, "timing"),
                 *stages = json_object_get(record, "times_ms"), *ms;
    const char *name, *between = "    verified in";

    buf_puts(out, "\n## Timing\n");
    if (json_is_object(timing)) {
        show_put_measured(timing, "ms", "kernel", out);
        show_put_measured(timing, "reference_ms", "eager reference", out);
        show_put_measured(timing, "compile_ms", "torch.compile", out);
    } else {
        buf_puts(out, "    not measured");
        show_put_word(": ", record, "timing_why", "", out);
        buf_putc(out, '\n');
    }
    json_object_foreach((json_t *)stages, name, ms)
    {
        buf_printf(out, "%s %s %.4g ms", between, name, json_number_value(ms));
        between = ",";
    }
    if (between[0] == ',')
        buf_putc(out, '\n');
}

/* Everything about one attempt. A model wrote much of it, so each text is
 * indented, and the whole goes through term_quote() before it is printed. */
static int show_put_attempt(struct store *s, int64_t task, int64_t attempt,
                            struct buf *out, struct err *e)
{
    json_t *given = json_pack("{s:I, s:I}", "task", task, "attempt", attempt);
    json_t *row = query_row(s, "run/task/record", json_incref(given), e);
    const json_t *record = json_object_get(row, "record");
    int rc = e->kind == ERR_NONE ? 0 : -1;

    if (rc == 0)
        rc = query_lines(s, "run/show/attempt", json_incref(given), out, e);
    show_put_trials(record, out);
    if (rc == 0)
        rc = query_lines(s, "run/show/feedback", json_incref(given), out, e);
    verdict_put_trace(json_object_get(record, "trace"), out);
    show_put_timing(record, out);
    if (rc == 0)
        rc = query_lines(s, "run/show/cost", json_incref(given), out, e);
    json_decref(row);
    json_decref(given);
    return rc;
}

/* ---- printing ---- */

/* For people, or for a terminal: nothing in it controls the screen. Releases it. */
static void show_print_quoted(struct buf *text)
{
    if (text->len && text->data[text->len - 1] != '\n')
        buf_putc(text, '\n');
    cmd_print(text, LONGEST);
}

/* Releases it. */
static void show_print_part(struct buf *text)
{
    if (isatty(STDOUT_FILENO)) {
        show_print_quoted(text);
        return;
    }
    fwrite(buf_str(text), 1, text->len, stdout);
    buf_release(text);
}

/* ---- one part ---- */

/* A task and an attempt of it. */
struct shown {
    struct store *store;
    const char *id;
    int64_t task, attempt;
};

/* Prints a text byte for byte: a column of a query, or of it the part that is
 * named. -1 without an error: there is none. */
static int show_bytes(const struct shown *x, const char *query,
                      const char *part, const char *stage, struct err *e)
{
    struct buf b = BUF_INIT;
    int rc = query_bytes(x->store, query,
                         json_pack("{s:I, s:I, s:s?, s:s?}", "task",
                                   (json_int_t)x->task, "attempt",
                                   (json_int_t)x->attempt, "part", part,
                                   "stage", stage),
                         &b, e);

    if (rc > 0)
        show_print_part(&b);
    buf_release(&b);
    return rc > 0 ? 0 : -1;
}

static int show_text(const struct shown *x, const char *part, const char *stage,
                     const char *what, struct err *e)
{
    int rc = show_bytes(x, "run/task/part", part, stage, e);

    if (rc == 0 || e->kind != ERR_NONE)
        return rc;
    return err_set(e, ERR_INPUT, "%s: attempt %lld has no %s", x->id,
                   (long long)x->attempt, what);
}

/* Whether a call is of this stage; without one, whether it wrote plan or code:
 * what a reviewer was asked is not how the attempt came to be. */
static bool show_is_meant(const char *purpose, const char *stage)
{
    static const char *const writing[] = {"plan", "code", "evolve"};

    for (size_t i = 0; !stage && i < sizeof(writing) / sizeof(writing[0]); i++)
        if (strcmp(purpose, writing[i]) == 0)
            return true;
    return stage && strcmp(purpose, stage) == 0;
}

static int show_call(const struct wanted *w, const struct shown *x,
                     struct err *e)
{
    json_t *calls =
               query_list(x->store, "run/task/stages",
                          json_pack("{s:I, s:I}", "task", (json_int_t)x->task,
                                    "attempt", (json_int_t)x->attempt),
                          e),
           *c;
    struct buf stages = BUF_INIT;
    const char *last = NULL;
    size_t i;
    int rc;

    json_array_foreach(calls, i, c)
    {
        buf_printf(&stages, "%s%s",
                   i ? ", " : "; its stages: ", jsn_str(c, "purpose"));
        if (show_is_meant(jsn_str(c, "purpose"), w->stage))
            last = jsn_str(c, "purpose");
    }
    if (!calls)
        rc = -1;
    else if (!last)
        rc = err_set(e, ERR_INPUT, "%s: attempt %lld has no stage '%s'%s",
                     x->id, (long long)x->attempt, w->stage ? w->stage : "code",
                     buf_str(&stages));
    else if (w->v->prompt)
        rc = show_text(x, "prompt", last, "stored prompt", e);
    else
        rc = show_text(x, "reply", last, "reply", e);
    buf_release(&stages);
    json_decref(calls);
    return rc;
}

static int show_diff(const struct shown *x, struct err *e)
{
    int rc = show_bytes(x, "run/task/diff", NULL, NULL, e);

    if (rc == 0 || e->kind != ERR_NONE)
        return rc;
    return err_set(e, ERR_INPUT,
                   "%s: attempt %lld is the first with code, so there is "
                   "nothing to compare it with",
                   x->id, (long long)x->attempt);
}

static int show_part(const struct wanted *w, const struct shown *x,
                     struct err *e)
{
    if (w->v->code)
        return show_text(x, "code", NULL, "code", e);
    if (w->v->plan)
        return show_text(x, "plan", NULL, "plan", e);
    if (w->v->feedback)
        return show_text(x, "feedback", NULL, "feedback", e);
    return w->v->diff ? show_diff(x, e) : show_call(w, x, e);
}

/* ---- the whole ---- */

static int show_print_whole(const struct wanted *w, const struct shown *x,
                            struct err *e)
{
    struct buf b = BUF_INIT;
    int rc = w->attempt ? 0 : show_put_task(x->store, x->task, &b, e);

    if (b.len && x->attempt)
        buf_putc(&b, '\n');
    if (rc == 0 && x->attempt)
        rc = show_put_attempt(x->store, x->task, x->attempt, &b, e);
    if (rc == 0)
        show_print_quoted(&b);
    buf_release(&b);
    return rc;
}

static int show_print_json(const struct shown *x, struct err *e)
{
    json_t *t = query_task(x->store, x->task, e);

    if (t && x->attempt &&
        json_object_set_new(
            t, "attempt",
            query_task_attempt(x->store, x->task, x->attempt, e)) < 0) {
        json_decref(t);
        return -1;
    }
    if (t)
        jsn_line(t);
    return t ? 0 : -1;
}

/* Which attempt: 0 if none is finished, where that is no error. */
static int show_choose(const struct wanted *w, struct shown *x, struct err *e)
{
    json_t *t = query_row(x->store, "run/task/tries",
                          json_pack("{s:I, s:I}", "task", (json_int_t)x->task,
                                    "attempt", (json_int_t)w->attempt),
                          e);
    long long tries = show_number(t, "tries");
    bool there = show_number(t, "there");
    int part = show_count_parts(w->v);

    json_decref(t);
    if (e->kind != ERR_NONE)
        return -1;
    x->attempt = w->attempt;
    if (tries == 0 && (w->attempt || (part && !w->v->json)))
        return err_set(e, ERR_INPUT, "%s: no attempt is finished", x->id);
    if (w->attempt && !there)
        return err_set(e, ERR_INPUT, "%s has no attempt %lld; it has %lld",
                       x->id, (long long)w->attempt, tries);
    return w->attempt ? 0 : query_task_best(x->store, x->task, &x->attempt, e);
}

static int show_task(const struct wanted *w, struct store *s,
                     const json_t *tasks, struct err *e)
{
    const json_t *task = json_array_get(tasks, 0);
    struct shown x = {
        .store = s, .id = jsn_str(task, "id"), .task = jsn_int(task, "ord")};

    if (show_find_task(w->dir, tasks, w->task, e) < 0)
        return -1;
    if (w->v->reference)
        return show_bytes(&x, "run/task/reference", NULL, NULL, e);
    if (show_choose(w, &x, e) < 0)
        return -1;
    if (w->v->json)
        return show_print_json(&x, e);
    return show_count_parts(w->v) ? show_part(w, &x, e)
                                  : show_print_whole(w, &x, e);
}

static int show_open(const struct wanted *w, struct err *e)
{
    struct store *s = query_open(w->dir, e);
    json_t *tasks = s ? query_list(s, "run/task/tasks",
                                   json_pack("{s:s}", "word", w->task), e)
                      : NULL;
    int rc = tasks ? show_task(w, s, tasks, e) : -1;

    json_decref(tasks);
    query_close(s);
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
    return show_read_words(&w, &call->r, e) < 0 ? -1 : show_open(&w, e);
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
