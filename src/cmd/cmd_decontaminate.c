/* cmd_decontaminate.c: monkeys decontaminate: data without a benchmark's tasks. */
#include "base/json.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "data/decontaminate.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct decontaminate_values {
    struct opt_list against;
    const char *out, *policy, *tokens, *vocab, *field;
    bool fuzzy_only, ngram_only, json;
    int64_t threads;
};

static const struct opt decontaminate_table[] = {
    {"against", 0, OPT_LIST, "DIR",
     "a folder of the benchmark's tasks; may be repeated (required)",
     offsetof(struct decontaminate_values, against), 0, 0},
    {"out", 'o', OPT_TEXT, "PATH",
     "where to write what is kept: a file, or a new folder if IN is one "
     "(required)",
     offsetof(struct decontaminate_values, out), 0, 0},
    {"policy", 0, OPT_CHOICE, "paper|strict-signal",
     "which n-grams count: all of the benchmark, or only those that a single "
     "task of it has (default: paper)",
     offsetof(struct decontaminate_values, policy), 0, 0},
    {"tokens", 0, OPT_CHOICE, "qwen|python|words",
     "what an n-gram is made of (default: qwen)",
     offsetof(struct decontaminate_values, tokens), 0, 0},
    {"vocab", 0, OPT_TEXT, "FILE",
     "the vocabulary for --tokens qwen: vocab.json, tokenizer.json or a "
     ".tiktoken file of a Qwen model",
     offsetof(struct decontaminate_values, vocab), 0, 0},
    {"fuzzy-only", 0, OPT_FLAG, NULL, "only look for similar texts",
     offsetof(struct decontaminate_values, fuzzy_only), 0, 0},
    {"ngram-only", 0, OPT_FLAG, NULL, "only look for common n-grams",
     offsetof(struct decontaminate_values, ngram_only), 0, 0},
    {"field", 0, OPT_TEXT, "NAME",
     "the member of a row that is its text (default: python_code)",
     offsetof(struct decontaminate_values, field), 0, 0},
    {"threads", 0, OPT_INT, "N", "threads (default: one per processor)",
     offsetof(struct decontaminate_values, threads), 1, 1024},
    {"json", 0, OPT_FLAG, NULL, "print the manifest",
     offsetof(struct decontaminate_values, json), 0, 0},
    {0},
};

static int check_call(const struct decontaminate_values *v, size_t words,
                      struct err *e)
{
    if (!v->against.len)
        return err_set(e, ERR_USAGE,
                       "--against DIR is missing: a folder of the benchmark's "
                       "tasks");
    if (!v->out)
        return err_set(e, ERR_USAGE, "-o PATH is missing");
    if (words != 1)
        return err_set(e, ERR_USAGE,
                       "name one IN: a folder of .py files, or a JSONL file");
    if (v->fuzzy_only && v->ngram_only)
        return err_set(e, ERR_USAGE,
                       "--fuzzy-only and --ngram-only exclude each other");
    if (!v->fuzzy_only && strcmp(v->tokens, "qwen") == 0 && !v->vocab)
        return err_set(e, ERR_USAGE,
                       "--vocab FILE is missing: the vocab.json or the "
                       ".tiktoken file of a Qwen model; or choose --tokens "
                       "python or words");
    return 0;
}

static void print_line(const json_t *line, void *arg)
{
    (void)arg;
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
}

static void print_sums(const struct decontaminate_values *v,
                       const struct overlap *o,
                       const struct decontaminate_sums *s)
{
    printf("against:  %zu files\n", overlap_files(o));
    printf("rows:     %zu (%zu of them the same as an earlier one)\n", s->rows,
           s->duplicates);
    if (!v->ngram_only)
        printf("similar:  %zu (ratio at least 75)\n", s->fuzzy);
    if (!v->fuzzy_only)
        printf("n-grams:  %zu (%d %s tokens, policy %s)\n", s->ngram,
               NGRAM_TOKENS, v->tokens, v->policy);
    if (!v->fuzzy_only && !v->ngram_only)
        printf("both:     %zu\n", s->both);
    printf("kept:     %zu\n", s->kept);
}

static int run_with_vocab(const struct decontaminate_values *v, const char *in,
                          const struct vocab *vocab, struct err *e)
{
    struct overlap_how how = {
        .fuzzy = !v->ngram_only,
        .ngram = !v->fuzzy_only,
        .grams = {v->tokens, vocab, strcmp(v->policy, "paper") != 0}};
    struct overlap *o = overlap_load(&how, v->against.item, v->against.len, e);
    struct decontaminate d = {.overlap = o,
                              .in = in,
                              .out = v->out,
                              .field = v->field,
                              .threads = (int)v->threads,
                              .note = v->json ? print_line : NULL};
    struct decontaminate_sums sums;
    int rc;

    if (!o)
        return -1;
    rc = decontaminate(&d, &sums, e);
    if (rc == 0 && !v->json)
        print_sums(v, o, &sums);
    overlap_free(o);
    return rc;
}

static int run_decontaminate(const struct cmd *c, int argc, char **argv,
                             struct err *e)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct decontaminate_values v = {.policy = "paper",
                                     .tokens = "qwen",
                                     .field = "python_code",
                                     .threads =
                                         processors > 0 ? processors : 1};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);
    struct vocab *vocab = NULL;

    if (rc > 0) {
        rc = 0;
        goto out;
    }
    if (rc == 0)
        rc = check_call(&v, call.r.rest_len, e);
    if (rc == 0 && !v.fuzzy_only && strcmp(v.tokens, "qwen") == 0) {
        vocab = vocab_load(v.vocab, e);
        rc = vocab ? 0 : -1;
    }
    if (rc == 0)
        rc = run_with_vocab(&v, call.r.rest[0], vocab, e);
out:
    vocab_free(vocab);
    cmd_end(&call);
    return rc;
}

extern const struct cmd cmd_decontaminate;
const struct cmd cmd_decontaminate = {
    "decontaminate",
    "IN",
    "copy the rows that have no overlap with a benchmark",
    "A row overlaps if it is similar to a task (the ratio of rapidfuzz is at\n"
    "least 75), or has 13 tokens in a row of one. IN is a folder of .py files\n"
    "or a JSONL file. Beside the rows that are kept, a manifest names, for "
    "each\n"
    "row that is not, the task and the tokens.",
    decontaminate_table,
    run_decontaminate,
};
