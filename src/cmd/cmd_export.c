/* cmd_export.c: monkeys export sft|refine|kernels: what runs found, as training
 * data or as a folder to read. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "data/export.h"
#include "prompt/inquiry.h"
#include "run/archives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct export_values {
    struct modeling_values model; /* for the plans */
    const char *plans;
    struct opt_list packs;
    bool backfill;
    const char *out, *format, *policy, *tokens, *vocab, *chat;
    struct opt_list against;
    int64_t max_tokens, problems, seed, test;
    bool drop_overlap, zstd, json;
};

#define VALUES struct export_values
#define OUT_OPTION                                                           \
    {                                                                        \
        "output", 'o', OPT_TEXT, "DIR", "the new folder (required)", AT(out) \
    }
#define DATA_OPTIONS                                                          \
    OPTION("against", OPT_LIST, "DIR",                                        \
           "a folder of the benchmark's tasks, none of which may be in the "  \
           "data; may be repeated (required)",                                \
           against),                                                          \
        OPTION("drop-overlap", OPT_FLAG, NULL,                                \
               "leave out tasks that overlap with the benchmark; without "    \
               "this option, one such task ends the export",                  \
               drop_overlap),                                                 \
        OPTION("policy", OPT_CHOICE, "paper|strict-signal",                   \
               "which n-grams count: all of the benchmark, or only those "    \
               "that a single task of it has (default: strict-signal)",       \
               policy),                                                       \
        OPTION("tokens", OPT_CHOICE, "qwen|python|words",                     \
               "what an n-gram is made of (default: qwen with --vocab, else " \
               "python)",                                                     \
               tokens),                                                       \
        OPTION("vocab", OPT_TEXT, "FILE",                                     \
               "count tokens: vocab.json, tokenizer.json or a .tiktoken "     \
               "file of a Qwen model",                                        \
               vocab),                                                        \
        OPTION("chat", OPT_CHOICE, "qwen3|qwen3-instruct",                    \
               "the template that a conversation is counted with (default: "  \
               "qwen3)",                                                      \
               chat),                                                         \
        NUMBER("max-tokens", "N",                                             \
               "leave longer records out; needs --vocab (default: 24576)",    \
               max_tokens, 1, 1 << 30),                                       \
        NUMBER("problems", "N",                                               \
               "use only N tasks of the training part; a smaller choice is "  \
               "part of a larger one (default: all)",                         \
               problems, 1, 1 << 30),                                         \
        NUMBER("seed", "N",                                                   \
               "of the test part and of the choice of --problems (default: "  \
               "0)",                                                          \
               seed, 0, INT64_MAX),                                           \
        NUMBER("test", "PERCENT",                                             \
               "percentage of tasks for testing (default: 5)", test, 0, 99),  \
        OPTION("zstd", OPT_FLAG, NULL, "compress the files", zstd)
#define JSON_OPTION \
    OPTION("json", OPT_FLAG, NULL, "print the counts as a JSON object", json)

static const struct opt export_sft_table[] = {
    OUT_OPTION,
    {"format", 0, OPT_CHOICE, "messages|prompt-completion",
     "how train.jsonl and test.jsonl store a conversation: in one list or in "
     "two (default: messages)",
     AT(format)},
    DATA_OPTIONS,
    {"backfill-plans", 0, OPT_FLAG, NULL,
     "ask a model for the plans of tasks that were solved in one stage",
     AT(backfill)},
    {"plans", 0, OPT_TEXT, "DIR",
     "where such plans are kept, so that they are paid for once (default: the "
     "output folder with '.plans')",
     AT(plans)},
    {"plan-tokens", 0, OPT_INT, "N",
     "longest plan, reasoning included (default: 16384)",
     WITHIN(model.max_tokens, 1, 10000000)},
    {"packs", 0, OPT_LIST, "DIR", PACKS_HELP, AT(packs)},
    JSON_OPTION,
    MODELING_REACH_OPTIONS,
    {0},
};
static const struct opt export_refine_table[] = {
    OUT_OPTION,
    DATA_OPTIONS,
    JSON_OPTION,
    {0},
};
static const struct opt export_kernels_table[] = {
    OUT_OPTION,
    JSON_OPTION,
    {0},
};

/* ---- sft and refine ---- */

static int export_check(const struct export_values *v, size_t runs,
                        struct err *e)
{
    if (!v->out || !runs)
        return err_set(e, ERR_USAGE, "give -o DIR and the folder of a run");
    if (!v->against.len)
        return err_set(e, ERR_USAGE,
                       "--against DIR is missing: a folder of the benchmark's "
                       "tasks, which must not be in training data");
    if (v->max_tokens && !v->vocab)
        return err_set(e, ERR_USAGE,
                       "--max-tokens needs --vocab FILE: the vocab.json or the "
                       ".tiktoken file of a Qwen model");
    if (v->tokens && strcmp(v->tokens, "qwen") == 0 && !v->vocab)
        return err_set(e, ERR_USAGE, "--tokens qwen needs --vocab FILE");
    return 0;
}

static void export_print(const char *out, const struct export_sums *s)
{
    printf("tasks:    %zu, %zu of them not solved, %zu retired, %zu "
           "duplicates, %zu of the benchmark\n",
           s->of.tasks, s->of.unsolved, s->of.retired, s->of.duplicates,
           s->of.overlaps);
    if (s->of.pieces)
        printf("pieces:   %zu solved, not exported\n", s->of.pieces);
    printf("exported: %zu tasks, %zu of them for testing", s->problems,
           s->test_problems);
    if (s->one_stage)
        printf(", %zu without a plan", s->one_stage);
    if (s->backfilled)
        printf(", %zu with a plan that was asked for now", s->backfilled);
    printf("\nrecords: ");
    for (size_t i = 0, n = 0; i < 3; i++)
        if (s->phase[i])
            printf("%s %zu %s", n++ ? "," : "", s->phase[i], export_phases[i]);
    printf("\nleft out: %zu too long, %zu the same as another, %zu without a "
           "stored prompt, %zu not UTF-8\n",
           s->too_long, s->repeated, s->no_prompt, s->not_utf8);
    printf("written:  %s\n", out);
}

/* ---- plans that are missing ---- */

/* What is open while a model is asked for them. */
struct planning {
    struct inquiry inquiry;
    struct backfill *backfill;
    char *dir;
};

static void planning_step(const struct ask_progress *done, void *arg)
{
    struct planning *p = arg;
    size_t of = backfill_items(p->backfill);

    if (!p->inquiry.term)
        p->inquiry.term = term_open(STDERR_FILENO, of, 0, "plans");
    inquiry_step(&p->inquiry, done->done, "");
    if (done->done == of) {
        term_close(p->inquiry.term);
        p->inquiry.term = NULL;
    }
}

static int planning_open(struct planning *p, struct cmd_call *call,
                         struct err *e)
{
    const struct export_values *v = call->values;
    const struct packs_path *packs = cmd_packs(call, &v->packs, e);
    struct inquiry_opts o = {.values = &v->model, .file = "plans.db"};
    struct backfill_parts parts;

    if (!packs)
        return -1;
    p->dir = v->plans ? xstrdup(v->plans) : xasprintf("%s.plans", v->out);
    o.home = cmd_home(call, e)->dir;
    o.dir = p->dir;
    if (inquiry_open(&p->inquiry, &o, e) < 0)
        return -1;
    parts = (struct backfill_parts){.ask = inquiry_parts(&p->inquiry),
                                    .prompts = p->inquiry.prompts,
                                    .packs = packs,
                                    .model = v->model.model};
    parts.ask.step = planning_step;
    parts.ask.arg = p;
    p->backfill = backfill_new(&parts);
    return 0;
}

static int planning_close(struct planning *p, struct err *e)
{
    backfill_free(p->backfill);
    free(p->dir);
    return inquiry_close(&p->inquiry, e);
}

/* ---- the command ---- */

static int export_write(const struct cmd_call *call,
                        const struct record_kind *kind,
                        const struct vocab *vocab, struct planning *plans,
                        struct err *e)
{
    const struct export_values *v = call->values;
    const char *tokens = v->tokens ? v->tokens : vocab ? "qwen" : "python";
    struct overlap_how against = {.fuzzy = true,
                                  .ngram = true,
                                  .tokens = tokens,
                                  .vocab = vocab,
                                  .only_unique =
                                      strcmp(v->policy, "paper") != 0};
    struct overlap *o =
        overlap_load(&against, v->against.item, v->against.len, e);
    char how_compared[128];
    struct export_how how = {
        .kind = kind,
        .samples = {.run = call->r.rest,
                    .runs = call->r.rest_len,
                    .against = o,
                    .drop_overlap = v->drop_overlap,
                    .seed = v->seed,
                    .test_percent = v->test},
        .out = v->out,
        .messages = v->format ? strcmp(v->format, "messages") == 0
                              : kind == &record_sft,
        .zstd = v->zstd,
        .vocab = vocab,
        .chat = chat_template_find(v->chat),
        .max_tokens = v->max_tokens ? v->max_tokens : 24576,
        .problems = v->problems,
        .overlap = how_compared,
        .backfill = plans->backfill};
    struct export_sums sums;
    enum ask_end end;

    if (!o)
        return -1;
    snprintf(how_compared, sizeof(how_compared),
             "%zu files; similarity below 75, no %d %s tokens in a row, policy "
             "%s",
             overlap_files(o), NGRAM_TOKENS, tokens, v->policy);
    end = export_records(&how, &sums, e);
    if (end == ASK_DONE && v->json)
        jsn_line(export_json(&sums));
    else if (end == ASK_DONE)
        export_print(v->out, &sums);
    export_release(&sums);
    overlap_free(o);
    return inquiry_ended(end, plans->dir, "the plans, and nothing was written",
                         e);
}

static int export_run(struct cmd_call *call, struct err *e)
{
    const struct export_values *v = call->values;
    const struct record_kind *kind =
        call->cmd->table == export_sft_table ? &record_sft : &record_refine;
    struct planning plans = {0};
    struct err late = ERR_INIT;
    struct vocab *vocab = NULL;
    int rc = export_check(v, call->r.rest_len, e);

    if (rc == 0 && v->vocab)
        rc = (vocab = vocab_load(v->vocab, e)) ? 0 : -1;
    if (rc == 0 && v->backfill)
        rc = planning_open(&plans, call, e);
    if (rc == 0)
        rc = export_write(call, kind, vocab, &plans, e);
    rc = err_late(e, rc, planning_close(&plans, &late), &late);
    vocab_free(vocab);
    return rc;
}

static int export_kernels_run(struct cmd_call *call, struct err *e)
{
    const struct export_values *v = call->values;
    struct archives_copied n;

    if (!v->out || !call->r.rest_len)
        return err_set(e, ERR_USAGE, "give -o DIR and the folder of a run");
    if (archives_list(call->r.rest, call->r.rest_len, v->out, &n, e) < 0)
        return -1;
    if (v->json)
        jsn_line(json_pack("{s:I, s:I, s:I}", "written", (json_int_t)n.written,
                           "known", (json_int_t)n.known, "retired",
                           (json_int_t)n.retired));
    else
        printf("%zu kernel%s written to %s, %zu for a task that has one, %zu "
               "retired and left out\n",
               n.written, n.written == 1 ? "" : "s", v->out, n.known,
               n.retired);
    return 0;
}

static const struct export_values export_defaults = {.model = MODELING_DEFAULTS,
                                                     .policy = "strict-signal",
                                                     .chat = "qwen3",
                                                     .test = 5};

const struct cmd cmd_export_sft = {
    "export sft",
    "RUN...",
    "write training data: prompts, plans and kernels",
    "Writes two records for each solved task: the planning prompt and the\n"
    "plan, the coding prompt and the code. Prompts are exactly those that\n"
    "were sent. A task solved in one stage gives only the second, unless\n"
    "--backfill-plans asks a model for the plan: then it gives both, with\n"
    "the prompts that two stages would have had, marked as backfilled. A\n"
    "task that overlaps with the benchmark ends the export before anything\n"
    "is written. Beside the records, README.md has counts, licences and\n"
    "hashes.",
    export_sft_table,
    export_run,
    sizeof(struct export_values),
    &export_defaults,
};
const struct cmd cmd_export_refine = {
    "export refine",
    "RUN...",
    "write training data: failures and their fixes",
    "A record for each different program that failed before its task was\n"
    "solved: the prompt, the program, the verifier's feedback, and as the\n"
    "completion the kernel that solved the task. The benchmark is kept out as\n"
    "in 'export sft'.",
    export_refine_table,
    export_run,
    sizeof(struct export_values),
    &export_defaults,
};
const struct cmd cmd_export_kernels = {
    "export kernels",
    "RUN...",
    "write solved kernels to a folder for reading",
    "Writes a folder for each kernel, with its task, plan, verdict and\n"
    "timing, and a README.md that lists them. The output is an archive,\n"
    "too.",
    export_kernels_table,
    export_kernels_run,
    sizeof(struct export_values),
    &export_defaults,
};
