/* cmd_decompose.c: monkeys decompose: tasks to smaller tasks. */
#include "analyze/table.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "curriculum/maker.h"
#include "prompt/inquiry.h"
#include "verify/verifying.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct decompose_values {
    struct verifying_values v;
    struct modeling_values m;
    struct opt_list define;
    const char *level, *out;
    bool llm;
};

#define VALUES struct decompose_values
#undef MODELING_AT
#define MODELING_AT offsetof(VALUES, m)

static const struct opt decompose_table[] = {
    {"level", 0, OPT_CHOICE, "coarse|medium|fine",
     "how small the pieces are: about 2, 3 or 9 for each task (default: "
     "coarse)",
     AT(level)},
    {"out", 'o', OPT_TEXT, "DIR",
     "where the pieces are written (default: curriculum-LEVEL)", AT(out)},
    {"llm", 0, OPT_FLAG, NULL,
     "let a model propose the pieces; the options of its provider follow below",
     AT(llm)},
    DEFINE_OPTION(VALUES, define),
    VERIFYING_OPTIONS,
    MODELING_OPTIONS,
    {0},
};

/* What is open while it works. */
struct decomposing {
    const struct decompose_values *v;
    char *out;
    struct collection tasks;
    struct verifying g;
    struct job_opts job;
    struct inquiry inquiry;
    struct maker *maker;
};

/* ---- opening ---- */

static int decompose_check(const struct decompose_values *v,
                           const struct opt_result *r, struct err *e)
{
    const struct modeling_values *m = &v->m;

    if (!r->rest_len)
        return err_set(e, ERR_USAGE,
                       "TASKS is missing: a file, a folder or a pattern");
    if (!v->llm &&
        (m->provider || m->model || m->command || m->spool || m->cassette))
        return err_set(e, ERR_USAGE,
                       "the options of a model's provider need --llm");
    if (v->v.precision &&
        strcmp(v->v.precision, precision_names[PRECISION_FP32]) != 0)
        return err_set(e, ERR_USAGE,
                       "--precision %s: pieces are made in fp32; 'monkeys "
                       "tasks check --precision %s DIR/pieces' checks them",
                       v->v.precision, v->v.precision);
    return 0;
}

static void decompose_step(const struct ask_progress *p, void *arg)
{
    struct decomposing *w = arg;
    char note[80];

    if (w->v->llm) {
        snprintf(note, sizeof(note), "%zu calls, ", p->questions);
        inquiry_step(&w->inquiry, p->done, note);
    } else {
        term_set(w->inquiry.term, p->done, "");
    }
}

static int decompose_open(struct cmd_call *call, struct decomposing *w,
                          struct err *e)
{
    const struct decompose_values *v = w->v;
    const struct home *home = cmd_home(call, e);
    struct maker_parts parts;
    size_t level = contract_word(v->level, piece_levels, PIECE_LEVELS);

    w->out = v->out ? xstrdup(v->out) : xasprintf("curriculum-%s", v->level);
    if (!fs_is_dir(w->out) && access(w->out, F_OK) == 0)
        return err_set(e, ERR_INPUT, "%s: not a folder; choose one with -o DIR",
                       w->out);
    if (!home || cmd_tasks(call, NULL, false, &v->define, &w->tasks, e) < 0 ||
        verifying_open(&w->g, &v->v, home, e) < 0)
        return -1;
    if (v->llm) {
        struct inquiry_opts o = {.values = &v->m,
                                 .home = home->dir,
                                 .dir = w->out,
                                 .file = "decompose.db",
                                 .loop = w->g.loop};

        if (inquiry_open(&w->inquiry, &o, e) < 0)
            return -1;
    }
    w->job = verifying_job(&v->v, precision_names[PRECISION_FP32]);
    parts = (struct maker_parts){.ask = inquiry_parts(&w->inquiry),
                                 .prompts = w->inquiry.prompts,
                                 .verifier = w->g.verifier,
                                 .job = &w->job};
    parts.ask.loop = w->g.loop;
    parts.ask.step = decompose_step;
    parts.ask.arg = w;
    w->maker = maker_new(&parts, &w->tasks, (enum piece_level)level);
    return 0;
}

static int decompose_close(struct decomposing *w, struct err *e)
{
    int rc;

    maker_free(w->maker);
    rc = inquiry_close(&w->inquiry, e);
    verifying_close(&w->g);
    collection_release(&w->tasks);
    free(w->out);
    return rc;
}

/* ---- results ---- */

static bool decompose_is_claimed(const struct problem *p)
{
    return jsn_true(json_object_get(p->outline, "composition"), "claimed");
}

static bool decompose_is_proved(const struct problem *p)
{
    return jsn_true(json_object_get(p->outline, "composition"), "proved");
}

static size_t decompose_pieces(const struct problem *p)
{
    return json_array_size(json_object_get(p->outline, "subproblems"));
}

/* "2 partition, 1 stepping_stone" */
static void decompose_put_kinds(const struct problem *p, struct buf *out)
{
    const json_t *subs = json_object_get(p->outline, "subproblems");

    for (size_t kind = 0; kind < PIECE_KINDS; kind++) {
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(subs); i++)
            n += strcmp(jsn_str(json_array_get(subs, i), "kind"),
                        piece_kinds[kind]) == 0;
        if (n)
            buf_printf(out, "%s%zu %s", out->len ? ", " : "", n,
                       piece_kinds[kind]);
    }
}

/* The codes of the findings, each once. */
static void decompose_put_codes(const struct problem *p, struct buf *out)
{
    const json_t *list = json_object_get(p->outline, "findings");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *code = jsn_str(json_array_get(list, i), "code");
        bool again = false;

        for (size_t k = 0; k < i; k++)
            again |=
                strcmp(jsn_str(json_array_get(list, k), "code"), code) == 0;
        if (!again)
            buf_printf(out, "%s%s", out->len ? ", " : "", code);
    }
}

/* A model was asked, and its proposals were refused. */
static bool decompose_fell_back(const struct problem *p)
{
    return json_is_false(
        json_object_get(json_object_get(p->outline, "model"), "used"));
}

static void decompose_add_row(struct table *t, const struct problem *p,
                              bool llm)
{
    struct buf b = BUF_INIT;

    table_text(t, p->id);
    table_int(t, (int64_t)decompose_pieces(p));
    decompose_put_kinds(p, &b);
    table_text(t, b.len ? buf_str(&b) : NULL);
    table_text(t, decompose_is_proved(p)    ? "proved"
                  : decompose_is_claimed(p) ? "claimed, not proved"
                                            : "not claimed");
    if (llm)
        table_text(t, decompose_fell_back(p) ? "the verifier" : "the model");
    buf_reset(&b);
    decompose_put_codes(p, &b);
    table_text(t, b.len ? buf_str(&b) : NULL);
    buf_release(&b);
}

static void decompose_add_finding(struct table *t, const struct problem *p,
                                  const json_t *f, const char *of)
{
    const char *sub = jsn_str(f, "sub");

    table_note(t, "%s%s%s%s: %s (step %lld): %s", p->id, of, *sub ? ", " : "",
               sub, jsn_str(f, "code"), (long long)jsn_int(f, "step"),
               jsn_str(f, "detail"));
}

static void decompose_add_notes(struct table *t, const struct problem *p)
{
    const json_t *list = json_object_get(p->outline, "findings"),
                 *refused = json_object_get(
                     json_object_get(p->outline, "model"), "refused");
    char of[40];

    for (size_t i = 0; i < json_array_size(list); i++)
        decompose_add_finding(t, p, json_array_get(list, i), "");
    if (decompose_fell_back(p))
        table_note(t,
                   "%s: the model was refused %zu times; the division without "
                   "it is used",
                   p->id, json_array_size(refused));
    for (size_t i = 0; i < json_array_size(refused); i++) {
        list = json_array_get(refused, i);
        snprintf(of, sizeof(of), ", refused reply %zu", i + 1);
        for (size_t k = 0; k < json_array_size(list); k++)
            decompose_add_finding(t, p, json_array_get(list, k), of);
    }
}

static void decompose_print(const struct decomposing *w,
                            const struct curriculum *c)
{
    size_t pieces = 0, claimed = 0, proved = 0;
    struct table t;
    struct buf b = BUF_INIT;

    table_init(&t, "pieces", "what the tasks were divided into");
    table_columns(&t, "problem|pieces|kinds|composition");
    if (w->v->llm)
        table_column(&t, "made by");
    table_column(&t, "findings");
    for (size_t i = 0; i < c->nproblems; i++) {
        const struct problem *p = &c->problem[i];

        decompose_add_row(&t, p, w->v->llm);
        pieces += decompose_pieces(p);
        claimed += decompose_is_claimed(p);
        proved += decompose_is_proved(p);
    }
    for (size_t i = 0; i < c->nproblems; i++)
        decompose_add_notes(&t, &c->problem[i]);
    table_print(&t, TABLE_TEXT, &b);
    fputs(buf_str(&b), stdout);
    printf("\n%zu problem%s, %s: %zu pieces, %zu of them different; "
           "composition claimed for %zu, proved for %zu\n%s/pieces\n",
           c->nproblems, c->nproblems == 1 ? "" : "s", w->v->level, pieces,
           c->len, claimed, proved, w->out);
    buf_release(&b);
    table_release(&t);
}

static void decompose_print_json(const struct decomposing *w,
                                 const struct curriculum *c)
{
    for (size_t i = 0; i < w->tasks.len; i++) {
        const struct task *t = w->tasks.task[i];
        const struct problem *p = curriculum_problem(c, t->id);
        json_t *line = json_pack(
            "{s:o, s:s, s:b, s:I}", "file", jsn_of(t->path), "task", t->id,
            "accepted", decompose_pieces(p) > 0, "depth", (json_int_t)p->depth);

        json_object_update(line, p->outline);
        jsn_line(line);
    }
}

/* ---- working ---- */

static int decompose_deliver(struct decomposing *w, struct err *e)
{
    struct curriculum c;
    int rc = maker_take(w->maker, &c, e);

    if (rc == 0)
        rc = curriculum_write(&c, w->out, e);
    if (rc == 0 && w->v->v.json)
        decompose_print_json(w, &c);
    else if (rc == 0)
        decompose_print(w, &c);
    for (size_t i = 0; rc >= 0 && i < c.nproblems; i++)
        if (!decompose_pieces(&c.problem[i]) ||
            (decompose_is_claimed(&c.problem[i]) &&
             !decompose_is_proved(&c.problem[i])))
            rc = 1;
    curriculum_release(&c);
    return rc;
}

static int decompose_all(struct decomposing *w, struct err *e)
{
    enum ask_end end;

    w->inquiry.term =
        term_open(STDERR_FILENO, w->tasks.len, 0, "dividing tasks");
    end = maker_run(w->maker, e);
    term_close(w->inquiry.term);
    w->inquiry.term = NULL;
    if (end == ASK_DONE)
        return decompose_deliver(w, e);
    if (end == ASK_NO_BUDGET || end == ASK_STOPPED)
        return inquiry_ended(end, w->out, "the replies", e);
    verifying_hint(&w->g);
    return end == ASK_WAITING ? 4 : -1;
}

static int decompose_run(struct cmd_call *call, struct err *e)
{
    struct decompose_values *v = call->values;
    struct decomposing w = {.v = v};
    struct err late = ERR_INIT;
    int rc;

    if (decompose_check(v, &call->r, e) < 0 ||
        verifying_choose_device(&v->v, e) < 0)
        return -1;
    rc = decompose_open(call, &w, e) < 0 ? -1 : decompose_all(&w, e);
    return err_late(e, rc, decompose_close(&w, &late), &late);
}

static const struct decompose_values decompose_defaults = {
    .v = VERIFYING_DEFAULTS, .m = MODELING_DEFAULTS, .level = "coarse"};

const struct cmd cmd_decompose = {
    "decompose",
    "TASKS...",
    "divide tasks into smaller ones that are solved first",
    "TASKS is a file, a folder, a pattern, or the name of a collection that\n"
    "comes with the program. The verifier records what each program\n"
    "computes and cuts that where little data crosses. Every piece is a\n"
    "complete task; it is run, checked, and given inputs like those it gets\n"
    "in the program. Composition is proved where the pieces, one after the\n"
    "other, give the program's output bit for bit. DIR/pieces holds the\n"
    "pieces, which run --tasks accepts; DIR/problems says how they belong\n"
    "together.\n"
    "With --llm a model proposes the pieces, and may add reformulations and\n"
    "stepping stones. The verifier checks its proposal in the same way. A\n"
    "refused proposal goes back with the reasons, at most three times; then\n"
    "the division without a model is used. Every reply is stored in DIR\n"
    "before it is used: run the same command again to continue without\n"
    "paying for anything twice.\n"
    "Exit status: 0 every task has pieces, and what was claimed is proved; "
    "1\n"
    "not so; 3 the budget is used up; 4 the verifier failed, or the answer "
    "from\n"
    "another host is still missing.",
    decompose_table,
    decompose_run,
    sizeof(struct decompose_values),
    &decompose_defaults,
};
