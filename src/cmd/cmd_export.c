/* cmd_export.c: monkeys export sft|refine|kernels: what runs found, as training
 * data or as a folder to read. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/inquiry.h"
#include "data/export.h"
#include "data/kernels.h"

#include <inttypes.h>
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

#define OUT_OPTION                                                   \
    {                                                                \
        "output", 'o', OPT_TEXT, "DIR", "the new folder (required)", \
            offsetof(struct export_values, out), 0, 0                \
    }
#define DATA_OPTIONS                                                          \
    {"against",                                                               \
     0,                                                                       \
     OPT_LIST,                                                                \
     "DIR",                                                                   \
     "a folder of the benchmark's tasks, none of which may be in the data; "  \
     "may be repeated (required)",                                            \
     offsetof(struct export_values, against),                                 \
     0,                                                                       \
     0},                                                                      \
        {"drop-overlap",                                                      \
         0,                                                                   \
         OPT_FLAG,                                                            \
         NULL,                                                                \
         "leave tasks that overlap with the benchmark out; without it, one "  \
         "such task ends the export",                                         \
         offsetof(struct export_values, drop_overlap),                        \
         0,                                                                   \
         0},                                                                  \
        {"policy",                                                            \
         0,                                                                   \
         OPT_CHOICE,                                                          \
         "paper|strict-signal",                                               \
         "which n-grams count: all of the benchmark, or only those that a "   \
         "single task of it has (default: strict-signal)",                    \
         offsetof(struct export_values, policy),                              \
         0,                                                                   \
         0},                                                                  \
        {"tokens",                                                            \
         0,                                                                   \
         OPT_CHOICE,                                                          \
         "qwen|python|words",                                                 \
         "what an n-gram is made of (default: qwen with --vocab, else "       \
         "python)",                                                           \
         offsetof(struct export_values, tokens),                              \
         0,                                                                   \
         0},                                                                  \
        {"vocab",                                                             \
         0,                                                                   \
         OPT_TEXT,                                                            \
         "FILE",                                                              \
         "count tokens: vocab.json, tokenizer.json or a .tiktoken file of a " \
         "Qwen model",                                                        \
         offsetof(struct export_values, vocab),                               \
         0,                                                                   \
         0},                                                                  \
        {"chat",                                                              \
         0,                                                                   \
         OPT_CHOICE,                                                          \
         "qwen3|qwen3-instruct",                                              \
         "the template that a conversation is counted with (default: qwen3)", \
         offsetof(struct export_values, chat),                                \
         0,                                                                   \
         0},                                                                  \
        {"max-tokens",                                                        \
         0,                                                                   \
         OPT_INT,                                                             \
         "N",                                                                 \
         "leave longer records out; needs --vocab (default: 24576)",          \
         offsetof(struct export_values, max_tokens),                          \
         1,                                                                   \
         1 << 30},                                                            \
        {"problems",                                                          \
         0,                                                                   \
         OPT_INT,                                                             \
         "N",                                                                 \
         "only so many tasks of the training part; a smaller choice is part " \
         "of a larger one (default: all)",                                    \
         offsetof(struct export_values, problems),                            \
         1,                                                                   \
         1 << 30},                                                            \
        {"seed",                                                              \
         0,                                                                   \
         OPT_INT,                                                             \
         "N",                                                                 \
         "of the test part and of the choice of --problems (default: 0)",     \
         offsetof(struct export_values, seed),                                \
         0,                                                                   \
         INT64_MAX},                                                          \
        {"test",                                                              \
         0,                                                                   \
         OPT_INT,                                                             \
         "PERCENT",                                                           \
         "how many of 100 tasks are for testing (default: 5)",                \
         offsetof(struct export_values, test),                                \
         0,                                                                   \
         99},                                                                 \
    {                                                                         \
        "zstd", 0, OPT_FLAG, NULL, "compress the files",                      \
            offsetof(struct export_values, zstd), 0, 0                        \
    }
#define JSON_OPTION                                                     \
    {                                                                   \
        "json", 0, OPT_FLAG, NULL, "print the counts as a JSON object", \
            offsetof(struct export_values, json), 0, 0                  \
    }

static const struct opt sft_table[] = {
    OUT_OPTION,
    {"format", 0, OPT_CHOICE, "messages|prompt-completion",
     "how train.jsonl and test.jsonl have a conversation: as one list, or as "
     "two (default: messages)",
     offsetof(struct export_values, format), 0, 0},
    DATA_OPTIONS,
    {"backfill-plans", 0, OPT_FLAG, NULL,
     "ask a model for the plans of tasks that were solved in one stage",
     offsetof(struct export_values, backfill), 0, 0},
    {"plans", 0, OPT_TEXT, "DIR",
     "where such plans are kept, so that they are paid for once (default: the "
     "output folder with '.plans')",
     offsetof(struct export_values, plans), 0, 0},
    {"plan-tokens", 0, OPT_INT, "N",
     "longest plan, reasoning included (default: 16384)",
     offsetof(struct export_values, model.max_tokens), 1, 10000000},
    {"packs", 0, OPT_LIST, "DIR", PACKS_HELP,
     offsetof(struct export_values, packs), 0, 0},
    JSON_OPTION,
    MODELING_REACH_OPTIONS,
    {0},
};
static const struct opt refine_table[] = {
    OUT_OPTION,
    DATA_OPTIONS,
    JSON_OPTION,
    {0},
};
static const struct opt kernels_table[] = {
    OUT_OPTION,
    JSON_OPTION,
    {0},
};

/* ---- sft and refine ---- */

static int check_call(const struct export_values *v, size_t runs, struct err *e)
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

static void print_sums(const char *out, const struct export_sums *s)
{
    printf("tasks:    %zu, %zu of them not solved, %zu retired, %zu "
           "duplicates, %zu of the benchmark\n",
           s->tasks, s->unsolved, s->retired, s->duplicates, s->overlaps);
    if (s->pieces)
        printf("pieces:   %zu solved, not exported\n", s->pieces);
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
    struct packs_path packs;
    struct backfill *backfill;
    char *dir;
};

static void planning_step(const struct ask_progress *done, void *arg)
{
    struct planning *p = arg;
    size_t of = backfill_items(p->backfill);

    if (!p->inquiry.term)
        p->inquiry.term = term_open(STDERR_FILENO, of, 0, "plans");
    inquiry_step(&p->inquiry, done->done);
    if (done->done == of) {
        term_close(p->inquiry.term);
        p->inquiry.term = NULL;
    }
}

static int planning_open(struct planning *p, const struct export_values *v,
                         struct err *e)
{
    struct inquiry *a = &p->inquiry;
    struct backfill_parts parts;

    p->dir = v->plans ? xstrdup(v->plans) : xasprintf("%s.plans", v->out);
    if (inquiry_open(a, &v->model, p->dir, "plans.db", e) < 0)
        return -1;
    packs_path_init(&p->packs, &v->packs, &a->home);
    parts = (struct backfill_parts){
        .ask = paying_parts(&a->asked, a->loop, &v->model),
        .prompts = a->asked.prompts,
        .packs = &p->packs,
        .model = v->model.model};
    parts.ask.step = planning_step;
    parts.ask.arg = p;
    p->backfill = backfill_new(&parts);
    return 0;
}

static int planning_close(struct planning *p, struct err *e)
{
    backfill_free(p->backfill);
    packs_path_release(&p->packs);
    free(p->dir);
    return inquiry_close(&p->inquiry, e);
}

/* ---- the command ---- */

static int finish(enum ask_end end, const char *plans, struct err *e)
{
    if (end == ASK_NO_BUDGET)
        return err_set(e, ERR_BUDGET,
                       "the budget has no room for another plan, so nothing "
                       "was written; %s keeps the others: run the command "
                       "again with a larger budget",
                       plans);
    if (end == ASK_STOPPED) {
        fprintf(stderr,
                "stopped, so nothing was written; %s keeps the plans: run the "
                "command again to continue\n",
                plans);
        return 130;
    }
    return end == ASK_DONE ? 0 : -1;
}

static int run_with_vocab(const struct record_kind *kind,
                          const struct export_values *v,
                          const struct cmd_call *call,
                          const struct vocab *vocab, struct planning *plans,
                          struct err *e)
{
    const char *tokens = v->tokens ? v->tokens : vocab ? "qwen" : "python";
    struct overlap_how against = {
        .fuzzy = true,
        .ngram = true,
        .grams = {tokens, vocab, strcmp(v->policy, "paper") != 0}};
    struct overlap *o =
        overlap_load(&against, v->against.item, v->against.len, e);
    char how_compared[128];
    struct export_how how = {.kind = kind,
                             .samples = {.run = call->r.rest,
                                         .runs = call->r.rest_len,
                                         .against = o,
                                         .drop_overlap = v->drop_overlap,
                                         .seed = v->seed,
                                         .test_percent = v->test},
                             .out = v->out,
                             .messages = strcmp(v->format, "messages") == 0,
                             .zstd = v->zstd,
                             .vocab = vocab,
                             .chat = chat_template_find(v->chat),
                             .max_tokens =
                                 v->max_tokens ? v->max_tokens : 24576,
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
        print_sums(v->out, &sums);
    export_release(&sums);
    overlap_free(o);
    return finish(end, plans->dir, e);
}

static int run_records(const struct record_kind *kind, const struct cmd *c,
                       int argc, char **argv, struct err *e)
{
    struct export_values v = {
        .model = MODELING_DEFAULTS,
        .format = kind == &record_sft ? "messages" : "prompt-completion",
        .policy = "strict-signal",
        .chat = "qwen3",
        .test = 5};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);
    struct planning plans = {0};
    struct err late = ERR_INIT;
    struct vocab *vocab = NULL;

    if (rc > 0) {
        rc = 0;
        goto out;
    }
    if (rc == 0)
        rc = check_call(&v, call.r.rest_len, e);
    if (rc == 0 && v.vocab) {
        vocab = vocab_load(v.vocab, e);
        rc = vocab ? 0 : -1;
    }
    if (rc == 0 && v.backfill)
        rc = planning_open(&plans, &v, e);
    if (rc == 0)
        rc = run_with_vocab(kind, &v, &call, vocab, &plans, e);
    if (planning_close(&plans, &late) < 0 && rc >= 0) {
        *e = late;
        rc = -1;
    }
out:
    vocab_free(vocab);
    cmd_end(&call);
    return rc;
}

static int run_sft(const struct cmd *c, int argc, char **argv, struct err *e)
{
    return run_records(&record_sft, c, argc, argv, e);
}

static int run_refine(const struct cmd *c, int argc, char **argv, struct err *e)
{
    return run_records(&record_refine, c, argc, argv, e);
}

/* ---- kernels ---- */

static int run_kernels(const struct cmd *c, int argc, char **argv,
                       struct err *e)
{
    struct export_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    struct archives_copied n;
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && (!v.out || !call.r.rest_len))
        rc = err_set(e, ERR_USAGE, "give -o DIR and the folder of a run");
    if (rc == 0)
        rc = kernels_write(call.r.rest, call.r.rest_len, v.out, &n, e);
    if (rc == 0 && v.out && v.json)
        jsn_line(json_pack("{s:I, s:I, s:I}", "written", (json_int_t)n.written,
                           "known", (json_int_t)n.known, "retired",
                           (json_int_t)n.retired));
    else if (rc == 0 && v.out)
        printf("%zu kernel%s written to %s, %zu for a task that has one, %zu "
               "retired and left out\n",
               n.written, n.written == 1 ? "" : "s", v.out, n.known, n.retired);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

extern const struct cmd cmd_export_sft, cmd_export_refine, cmd_export_kernels;
const struct cmd cmd_export_sft = {
    "export sft",
    "RUN...",
    "write training data: prompts, plans and kernels",
    "Two records for each solved task: the planning prompt and the plan, the\n"
    "coding prompt and the code. Prompts are what was sent, byte for byte. A\n"
    "task solved in one stage gives the second only, unless --backfill-plans\n"
    "asks a model for the plan: then it gives both, with the prompts that two\n"
    "stages would have had, marked as backfilled. A task that overlaps with\n"
    "the benchmark ends the export before anything is written. Beside the\n"
    "records, README.md has counts, licences and hashes.",
    sft_table,
    run_sft,
};
const struct cmd cmd_export_refine = {
    "export refine",
    "RUN...",
    "write training data: failures and their fixes",
    "A record for each different program that failed before its task was\n"
    "solved: the prompt, the program, the verifier's feedback, and as the\n"
    "completion the kernel that solved the task. The benchmark is kept out as\n"
    "in 'export sft'.",
    refine_table,
    run_refine,
};
const struct cmd cmd_export_kernels = {
    "export kernels",
    "RUN...",
    "write solved kernels to a folder to read",
    "A folder for each kernel, with its task, plan, verdict and timing, and a\n"
    "README.md that lists them. The folder is an archive, too.",
    kernels_table,
    run_kernels,
};
