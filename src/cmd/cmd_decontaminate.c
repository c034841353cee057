/* cmd_decontaminate.c: monkeys decontaminate: data without a benchmark's tasks. */
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

#define VALUES struct decontaminate_values
static const struct opt decontaminate_table[] = {
    {"against", 0, OPT_LIST, "DIR",
     "a folder of the benchmark's tasks; may be repeated (required)",
     AT(against)},
    {"out", 'o', OPT_TEXT, "PATH",
     "where to write what is kept: a file, or a new folder if IN is one "
     "(required)",
     AT(out)},
    {"policy", 0, OPT_CHOICE, "paper|strict-signal",
     "which n-grams count: all of the benchmark, or only those that a single "
     "task of it has (default: paper)",
     AT(policy)},
    {"tokens", 0, OPT_CHOICE, "qwen|python|words",
     "what an n-gram is made of (default: qwen)", AT(tokens)},
    {"vocab", 0, OPT_TEXT, "FILE",
     "the vocabulary for --tokens qwen: vocab.json, tokenizer.json or a "
     ".tiktoken file of a Qwen model",
     AT(vocab)},
    {"fuzzy-only", 0, OPT_FLAG, NULL, "only look for similar texts",
     AT(fuzzy_only)},
    {"ngram-only", 0, OPT_FLAG, NULL, "only look for common n-grams",
     AT(ngram_only)},
    {"field", 0, OPT_TEXT, "NAME",
     "the member of a row that is its text (default: python_code)", AT(field)},
    {"threads", 0, OPT_INT, "N", "threads (default: one per processor)",
     WITHIN(threads, 1, 1024)},
    {"json", 0, OPT_FLAG, NULL, "print the manifest", AT(json)},
    {0},
};

static int decontaminate_check(const struct decontaminate_values *v,
                               size_t words, struct err *e)
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

static void decontaminate_print_line(const json_t *line, void *arg)
{
    (void)arg;
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
}

static void decontaminate_print(const struct decontaminate_values *v,
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

static int decontaminate_with(const struct decontaminate_values *v,
                              const char *in, const struct vocab *vocab,
                              struct err *e)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct overlap_how how = {.fuzzy = !v->ngram_only,
                              .ngram = !v->fuzzy_only,
                              .tokens = v->tokens,
                              .vocab = vocab,
                              .only_unique = strcmp(v->policy, "paper") != 0};
    struct overlap *o = overlap_load(&how, v->against.item, v->against.len, e);
    struct decontaminate d = {.overlap = o,
                              .in = in,
                              .out = v->out,
                              .field = v->field,
                              .threads = v->threads       ? (int)v->threads
                                         : processors > 0 ? (int)processors
                                                          : 1,
                              .note =
                                  v->json ? decontaminate_print_line : NULL};
    struct decontaminate_sums sums;
    int rc;

    if (!o)
        return -1;
    rc = decontaminate(&d, &sums, e);
    if (rc == 0 && !v->json)
        decontaminate_print(v, o, &sums);
    overlap_free(o);
    return rc;
}

static int decontaminate_run(struct cmd_call *call, struct err *e)
{
    const struct decontaminate_values *v = call->values;
    struct vocab *vocab = NULL;
    int rc;

    if (decontaminate_check(v, call->r.rest_len, e) < 0)
        return -1;
    if (!v->fuzzy_only && strcmp(v->tokens, "qwen") == 0 &&
        !(vocab = vocab_load(v->vocab, e)))
        return -1;
    rc = decontaminate_with(v, call->r.rest[0], vocab, e);
    vocab_free(vocab);
    return rc;
}

static const struct decontaminate_values decontaminate_defaults = {
    .policy = "paper", .tokens = "qwen", .field = "python_code"};

const struct cmd cmd_decontaminate = {
    "decontaminate",
    "IN",
    "copy the rows that have no overlap with a benchmark",
    "A row overlaps if it is similar to a task (the ratio of rapidfuzz is\n"
    "at least 75), or shares 13 consecutive tokens with one. IN is a folder\n"
    "of .py files or a JSONL file. A manifest names the task and the tokens\n"
    "for each row that is dropped.",
    decontaminate_table,
    decontaminate_run,
    sizeof(struct decontaminate_values),
    &decontaminate_defaults,
};
