/* cmd_prompt.c: monkeys prompt: what a model would be sent. */
#include "base/fs.h"
#include "base/home.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "curriculum/contract.h"
#include "pack/pack.h"
#include "prompt/ask.h"
#include "prompt/prompt.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)8 << 20)

struct prompt_values {
    const char *task, *dsl, *stage, *plan, *previous, *verdict, *feedback;
    const char *solution, *precision, *device, *prompts, *guide;
    int64_t examples;
    bool no_card, diff, json;
    struct opt_list packs, define;
};

#define VALUES struct prompt_values
static const struct opt prompt_table[] = {
    OPTION("task", OPT_TEXT, "TASK",
           "the file of the task, or COLLECTION/NAME for one that "
           "comes with the program (required)",
           task),
    DEFINE_OPTION(VALUES, define),
    OPTION("dsl", OPT_TEXT, "ID", "the pack (required)", dsl),
    OPTION("stage", OPT_CHOICE,
           "plan|code|evolve|review|borrowing|backfill|decompose",
           "which prompt (default: code)", stage),
    NUMBER("examples", "N",
           "show the first N examples of the pack (default: 3)", examples, 0,
           100),
    OPTION("plan", OPT_TEXT, "FILE", "code: the implementation plan", plan),
    OPTION("previous", OPT_TEXT, "FILE",
           "plan, code: the previous attempt; evolve: the parent (default: the "
           "task's own program)",
           previous),
    OPTION("verdict", OPT_TEXT, "WORD", "the verdict on that attempt", verdict),
    OPTION("feedback", OPT_TEXT, "FILE", "the verifier's feedback on it",
           feedback),
    OPTION("diff", OPT_FLAG, NULL,
           "evolve: ask for edits instead of a whole program", diff),
    OPTION("solution", OPT_TEXT, "FILE",
           "review, borrowing, backfill: the program to look at", solution),
    OPTION("precision", OPT_CHOICE, PRECISION_CHOICES, VERIFYING_PRECISION_HELP,
           precision),
    OPTION(
        "device", OPT_TEXT, "cpu|cuda:N|auto",
        "where it will run (default: auto, a GPU if there is one or the pack "
        "needs one)",
        device),
    OPTION("no-card", OPT_FLAG, NULL, "leave out the card of the pack",
           no_card),
    OPTION("prompts", OPT_TEXT, "DIR",
           "prompt templates (default: the program's own)", prompts),
    OPTION("guide", OPT_TEXT, "FILE", "show this guide instead of the pack's",
           guide),
    OPTION("packs", OPT_LIST, "DIR", PACKS_HELP, packs),
    OPTION("json", OPT_FLAG, NULL, "print one JSON object", json),
    {0},
};

struct showing {
    const struct prompt_values *v;
    struct arena *a;
    const struct pack *pack;
    const struct task *task;
    struct prompts *prompts;
    struct prompt_example *example;
    size_t example_count;
    const char *device, *precision;
    struct prompt prompt;
};

/* ---- what goes into it ---- */

static int prompt_read(const char *path, struct arena *a, struct str *out,
                       struct err *e)
{
    struct buf text = {.limit = MAX_FILE};
    int rc;

    rc = fs_read(path, &text, e);
    if (rc == 0)
        *out = arena_str(a, buf_view(&text));
    else
        e->kind = ERR_INPUT;
    buf_release(&text);
    return rc;
}

static int prompt_read_in(const char *dir, const char *name, struct arena *a,
                          struct str *out, struct err *e)
{
    char *path = fs_join(dir, name);
    int rc = prompt_read(path, a, out, e);

    free(path);
    return rc;
}

static int prompt_read_examples(struct showing *s, struct err *e)
{
    size_t have = s->pack->seed_count;
    size_t want = s->v->examples < 0 ? 3 : (size_t)s->v->examples;

    if (s->v->examples > 0 && want > have)
        return err_set(e, ERR_USAGE, "--examples %zu: the pack %s has only %zu",
                       want, s->pack->id, have);
    want = want < have ? want : have;
    s->example = arena_alloc(s->a, (want + 1) * sizeof(*s->example));
    for (size_t i = 0; i < want; i++) {
        const struct pack_seed *seed = &s->pack->seed[i];
        struct prompt_example *x = &s->example[i];

        x->name = seed->name;
        if (prompt_read_in(seed->dir, "task.py", s->a, &x->problem, e) < 0 ||
            prompt_read_in(seed->dir, "plan.md", s->a, &x->plan, e) < 0 ||
            prompt_read_in(seed->dir, "solution.py", s->a, &x->solution, e) < 0)
            return -1;
    }
    s->example_count = want;
    return 0;
}

static void prompt_choose_device(struct showing *s)
{
    bool gpu = device_has_gpu() || !(s->pack->run.devices & 1u << PACK_CPU);

    s->device = s->v->device;
    if (strcmp(s->device, "auto") == 0)
        s->device =
            gpu && s->pack->run.devices & 1u << PACK_CUDA ? "cuda:0" : "cpu";
    s->precision = s->v->precision;
    if (!s->precision)
        s->precision = strcmp(s->device, "cpu") == 0
                           ? precision_names[PRECISION_FP32]
                           : precision_names[s->pack->run.default_dtype];
}

static struct str prompt_source(const struct showing *s)
{
    return (struct str){s->task->source, s->task->len};
}

/* ---- the stages ---- */

static int prompt_read_attempt(const struct showing *s,
                               struct prompt_attempt *t, struct err *e)
{
    *t = (struct prompt_attempt){.number = 1,
                                 .verdict = s->v->verdict,
                                 .feedback = {"", 0},
                                 .fitness = -1};
    if (!t->verdict)
        return err_set(e, ERR_USAGE,
                       "--previous FILE needs --verdict WORD: compile_error, "
                       "wrong_values, …");
    if (verdict_of(t->verdict) >= VERDICTS)
        return err_set(e, ERR_USAGE,
                       "--verdict: unknown verdict '%s'; docs/VERIFIER.md "
                       "lists them: compile_error, wrong_values, …",
                       t->verdict);
    if (s->v->feedback &&
        prompt_read(s->v->feedback, s->a, &t->feedback, e) < 0)
        return -1;
    return prompt_read(s->v->previous, s->a, &t->code, e);
}

static int prompt_build_attempt(struct showing *s, enum prompt_stage stage,
                                struct err *e)
{
    struct prompt_attempt previous = {.code = prompt_source(s),
                                      .verdict =
                                          verdicts[VERDICT_STATIC_REJECT].name,
                                      .feedback = {"", 0},
                                      .fitness = -1};
    struct prompt_input in = {.stage = stage,
                              .pack = s->pack,
                              .no_card = s->v->no_card,
                              .task_id = s->task->id,
                              .task = prompt_source(s),
                              .precision = s->precision,
                              .device = s->device,
                              .example = s->example,
                              .example_count = s->example_count,
                              .diff = s->v->diff};

    if (s->v->previous && prompt_read_attempt(s, &previous, e) < 0)
        return -1;
    if (stage == PROMPT_EVOLVE)
        in.parent = &previous;
    else if (s->v->previous)
        in.previous = &previous;
    in.previous_count = in.previous ? 1 : 0;
    if (s->v->plan && prompt_read(s->v->plan, s->a, &in.plan, e) < 0)
        return -1;
    return prompts_build(s->prompts, &in, s->a, &s->prompt, e);
}

static int prompt_build_review(struct showing *s, struct str solution,
                               struct err *e)
{
    const struct review_input in = {s->pack, prompt_source(s), solution,
                                    s->precision};

    return review_build(s->prompts, &in, s->a, &s->prompt, e);
}

static int prompt_build_borrowing(struct showing *s, struct str solution,
                                  struct err *e)
{
    const struct prompt_part target = {s->task->id, solution};
    struct prompt_part *parent =
        arena_alloc(s->a, (s->example_count + 1) * sizeof(*parent));

    if (!s->example_count)
        return err_set(e, ERR_USAGE,
                       "--stage borrowing needs examples, but there are none");
    for (size_t i = 0; i < s->example_count; i++)
        parent[i] =
            (struct prompt_part){s->example[i].name, s->example[i].solution};
    prompts_borrowing(s->prompts, &target, parent, s->example_count, s->a,
                      &s->prompt);
    return 0;
}

static int prompt_build_backfill(struct showing *s, struct str solution,
                                 struct err *e)
{
    const struct prompt_backfill in = {s->pack, prompt_source(s), solution,
                                       s->precision, s->device};

    return prompts_backfill(s->prompts, &in, s->a, &s->prompt, e);
}

static int prompt_build(struct showing *s, struct err *e)
{
    const struct prompt_decompose division = {
        .name = s->task->id,
        .task = prompt_source(s),
        .level = piece_levels[LEVEL_COARSE],
        .pieces = piece_counts[LEVEL_COARSE]};
    const char *stage = s->v->stage;
    struct str solution;

    for (int i = 0; i < 3; i++)
        if (strcmp(stage, prompt_stages[i]) == 0)
            return prompt_build_attempt(s, (enum prompt_stage)i, e);
    if (strcmp(stage, "decompose") == 0) {
        prompts_decompose(s->prompts, &division, s->a, &s->prompt);
        return 0;
    }
    if (!s->v->solution)
        return err_set(e, ERR_USAGE, "--stage %s needs --solution FILE", stage);
    if (prompt_read(s->v->solution, s->a, &solution, e) < 0)
        return -1;
    if (strcmp(stage, "backfill") == 0)
        return prompt_build_backfill(s, solution, e);
    return strcmp(stage, "review") == 0
               ? prompt_build_review(s, solution, e)
               : prompt_build_borrowing(s, solution, e);
}

/* ---- showing it ---- */

static void prompt_print(const struct showing *s)
{
    for (size_t i = 0; i < s->prompt.count; i++) {
        const struct llm_message *m = &s->prompt.message[i];

        printf("==== %s: about %lld tokens, %zu bytes", m->role,
               (long long)llm_estimate_tokens(m->text), m->text.n);
        if (m->shared)
            printf(", the first %zu shared by many prompts", m->shared);
        printf(" ====\n");
        fwrite(m->text.p, 1, m->text.n, stdout);
        putchar('\n');
    }
    printf("==== about %lld tokens, hash %.16s ====\n",
           (long long)s->prompt.tokens, s->prompt.hash);
}

static void prompt_print_json(const struct showing *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->prompt.count; i++) {
        const struct llm_message *m = &s->prompt.message[i];

        json_array_append_new(
            list, json_pack("{s:s, s:o, s:I, s:I}", "role", m->role, "text",
                            jsn_text(m->text.p, m->text.n), "shared",
                            (json_int_t)m->shared, "tokens",
                            (json_int_t)llm_estimate_tokens(m->text)));
    }
    jsn_line(json_pack("{s:s, s:s, s:s, s:s, s:I, s:o}", "task", s->task->id,
                       "dsl", s->pack->id, "stage", s->v->stage, "hash",
                       s->prompt.hash, "tokens", (json_int_t)s->prompt.tokens,
                       "messages", list));
}

static int prompt_open(struct cmd_call *call, struct showing *s, struct err *e)
{
    char *own;

    s->pack = cmd_pack(call, &s->v->packs, s->v->dsl, e);
    s->task = s->pack ? cmd_task(call, s->v->task, &s->v->define, e) : NULL;
    if (!s->task)
        return -1;
    own = fs_join(cmd_home(call, e)->dir, "prompts");
    s->prompts = prompts_load(s->v->prompts ? s->v->prompts : own, e);
    free(own);
    if (s->prompts && s->v->guide)
        prompts_use_guide(s->prompts, s->v->guide);
    return s->prompts ? 0 : -1;
}

static int prompt_show(struct cmd_call *call, struct showing *s, struct err *e)
{
    if (prompt_open(call, s, e) < 0 || prompt_read_examples(s, e) < 0)
        return -1;
    prompt_choose_device(s);
    if (verifying_check_device(s->device, e) < 0 || prompt_build(s, e) < 0)
        return -1;
    if (s->v->json)
        prompt_print_json(s);
    else
        prompt_print(s);
    return 0;
}

/* An option that would change nothing is a mistake. */
static int prompt_check(const struct prompt_values *v, struct err *e)
{
    const struct {
        bool given;
        const char *option, *stages;
    } rules[] = {
        {v->plan != NULL, "--plan", "code"},
        {v->previous != NULL, "--previous", "plan code evolve"},
        {v->diff, "--diff", "evolve"},
        {v->solution != NULL, "--solution", "review borrowing backfill"},
        {v->no_card, "--no-card", "plan code evolve"},
        {v->guide != NULL, "--guide", "plan code evolve"},
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].given && !strstr(rules[i].stages, v->stage))
            return err_set(e, ERR_USAGE,
                           "%s cannot be used with --stage %s (only with: %s)",
                           rules[i].option, v->stage, rules[i].stages);
    if ((v->verdict || v->feedback) && !v->previous)
        return err_set(e, ERR_USAGE,
                       "--verdict and --feedback need --previous FILE");
    return 0;
}

static int prompt_run(struct cmd_call *call, struct err *e)
{
    const struct prompt_values *v = call->values;
    struct showing s = {.v = v, .a = &call->arena};
    int rc;

    if (v->dsl && !v->task)
        return err_set(e, ERR_USAGE,
                       "--task TASK is missing: a file, or a name such as "
                       "starter/04_softmax; 'monkeys tasks list' lists the "
                       "names");
    if (call->r.rest_len)
        return err_set(e, ERR_USAGE, "'%s' is not an option", call->r.rest[0]);
    if (prompt_check(v, e) < 0)
        return -1;
    rc = prompt_show(call, &s, e);
    if (s.prompts)
        prompts_free(s.prompts);
    return rc;
}

static const struct prompt_values prompt_defaults = {
    .stage = "code", .device = "auto", .examples = -1};

const struct cmd cmd_prompt = {
    "prompt",
    "",
    "print the prompt that a model would get",
    "Prints the messages as a run builds them, each with an estimate of its\n"
    "tokens and of how much of it is the same for all tasks. Sends nothing.\n"
    "docs/PROMPTS.md describes the templates.",
    prompt_table,
    prompt_run,
    sizeof(struct prompt_values),
    &prompt_defaults,
};
