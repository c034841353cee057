/* cmd_show.c: monkeys show: one task of a run, one attempt in full. */
#include "cmd/cmd.h"
#include "cmd/shows.h"
#include "cmd/task_word.h"
#include "io/term.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

struct show_values {
    bool code, plan, feedback, reference, diff, prompt, reply, json;
};

#define SHOW_FLAG(name, field, help)                                           \
    {                                                                          \
        name, 0, OPT_FLAG, NULL, help, offsetof(struct show_values, field), 0, \
            0                                                                  \
    }

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

static int read_words(struct wanted *w, const struct opt_result *r,
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

static int count_parts(const struct show_values *v)
{
    return v->code + v->plan + v->feedback + v->reference + v->diff +
           v->prompt + v->reply + v->json;
}

/* ---- printing ---- */

/* For people, or for a terminal: nothing in it controls the screen. */
static void print_quoted(struct str text)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    term_quote(text, SHOWS_LONGEST, &b);
    fwrite(buf_str(&b), 1, b.len, stdout);
    if (b.len && b.data[b.len - 1] != '\n')
        putchar('\n');
    buf_release(&b);
}

static void print_part(struct str text)
{
    if (isatty(STDOUT_FILENO))
        print_quoted(text);
    else
        fwrite(text.p, 1, text.n, stdout);
}

static void print_whole(const struct attempt_list *t,
                        const struct attempt_view *a, bool table)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (table)
        shows_task(t, &b);
    if (table && a)
        buf_putc(&b, '\n');
    if (a)
        shows_attempt(t, a, &b);
    print_quoted((struct str){buf_str(&b), b.len});
    buf_release(&b);
}

/* ---- one part ---- */

static int no_part(const struct attempt_list *t, const struct attempt_view *a,
                   const char *what, struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: attempt %lld has no %s", t->id,
                   (long long)a->line.number, what);
}

static int show_text(const struct attempt_list *t, const struct attempt_view *a,
                     struct str text, const char *what, struct err *e)
{
    if (!text.p)
        return no_part(t, a, what, e);
    print_part(text);
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
        no_part(t, a, "stored prompt", e);
    } else if (w->v->prompt) {
        shows_prompt(c, &b);
        print_part((struct str){buf_str(&b), b.len});
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
        print_part((struct str){buf_str(&out), out.len});
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

static int unknown_attempt(const struct run_task *t, int64_t number,
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
    bool whole = count_parts(w->v) == 0;
    struct attempt_view a;
    int rc = 0;

    if (!row && (w->attempt || (!whole && !w->v->json)))
        return unknown_attempt(task, w->attempt, e);
    if (row && run_attempt_view_make(v, row, &a, e) < 0)
        return -1;
    if (w->v->json)
        jsn_line(run_attempt_view_json(t, row ? &a : NULL));
    else if (whole)
        print_whole(t, row ? &a : NULL, !w->attempt);
    else
        rc = show_part(v, task, w, t, &a, e);
    if (row)
        run_attempt_view_release(&a);
    return rc;
}

static int show(const struct wanted *w, struct err *e)
{
    struct run_task *task;
    struct attempt_list t;
    struct run_view v;
    int rc = -1;

    if (run_view_open_tasks(w->dir, &v, e) < 0)
        return -1;
    task = task_word_in(&v, w->task, e);
    if (task && run_view_load(&v, task, e) == 0 &&
        run_attempt_list_make(&v, task, &t, e) == 0) {
        if (w->v->reference) {
            print_part(t.reference);
            rc = 0;
        } else {
            rc = show_attempt(&v, task, w, &t, e);
        }
        run_attempt_list_release(&t);
    }
    run_view_close(&v);
    return rc;
}

static int run_show(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct show_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    struct wanted w = {.v = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && count_parts(&v) > 1)
        rc = err_set(e, ERR_USAGE,
                     "give only one of --code, --prompt, --reply, --plan, "
                     "--feedback, --reference, --diff and --json");
    if (rc == 0)
        rc = read_words(&w, &call.r, e);
    if (rc == 0)
        rc = show(&w, e);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

extern const struct cmd cmd_show;
const struct cmd cmd_show = {
    "show",
    "RUN TASK [ATTEMPT] [STAGE]",
    "show the attempts of a task",
    "Without ATTEMPT: a table of all attempts of the task, then the whole of\n"
    "the best one, or of the last one if none is correct. With ATTEMPT: the\n"
    "reference, the examples shown, the sizes of the prompts, replies, plan,\n"
    "code, verdict, feedback, trace, timing and cost of that attempt.\n"
    "TASK is the id of a task, its last part (04_softmax), or the beginning "
    "of\n"
    "either. STAGE is plan, code or evolve, for --prompt and --reply. May be\n"
    "used while the run works.\n"
    "What a model wrote cannot control the terminal: control characters are\n"
    "shown as <1B> or <U+202E>, and long lines are cut. With an option for "
    "one\n"
    "part, a pipe or file gets its bytes unchanged.",
    show_table,
    run_show,
};
