/* cmd_tokens.c: monkeys tokens: exact counts of Qwen tokens. */
#include "base/json.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "data/chat.h"
#include "data/tally.h"
#include "data/texts.h"

#include <stdio.h>
#include <stdlib.h>

struct tokens_values {
    const char *vocab, *field, *chat, *table, *root;
    bool encode, files, json;
};

#define VALUES struct tokens_values
static const struct opt tokens_table[] = {
    {"vocab", 0, OPT_TEXT, "FILE",
     "the vocabulary: vocab.json, tokenizer.json or a .tiktoken file of a Qwen "
     "model (required)",
     AT(vocab)},
    {"encode", 0, OPT_FLAG, NULL, "print the ids of the tokens", AT(encode)},
    {"files", 0, OPT_FLAG, NULL, "print a line for each file or row",
     AT(files)},
    {"field", 0, OPT_TEXT, "NAME",
     "files are JSONL; count this member of each row", AT(field)},
    {"chat", 0, OPT_CHOICE, "qwen3|qwen3-instruct",
     "files are JSONL with \"messages\" (or \"prompt\" and \"completion\"); "
     "count each conversation as this chat template renders it",
     AT(chat)},
    {"table", 0, OPT_TEXT, "FILE",
     "count the documents that this sources.json of a pack names", AT(table)},
    {"root", 0, OPT_TEXT, "DIR",
     "with --table: where the documents are, as DIR/OWNER/NAME/PATH or "
     "DIR/NAME/PATH",
     AT(root)},
    {"json", 0, OPT_FLAG, NULL,
     "print a JSON object for each file, row or source", AT(json)},
    {0},
};

/* ---- files and rows ---- */

static void tokens_print_row_json(const struct text_row *row,
                                  const struct tally *one,
                                  const struct token_ids *ids)
{
    json_t *list = ids ? json_array() : NULL;

    for (size_t i = 0; ids && i < ids->len; i++)
        json_array_append_new(list, json_integer(ids->id[i]));
    jsn_line(json_pack(
        "{s:o, s:o*, s:I, s:I, s:I, s:o*}", "file", jsn_of(row->path), "line",
        row->line ? json_integer((json_int_t)row->line) : NULL, "bytes",
        (json_int_t)one->bytes, "characters", (json_int_t)one->characters,
        "tokens", (json_int_t)one->tokens, "ids", list));
}

static void tokens_print_row(const struct tokens_values *v,
                             const struct text_row *row,
                             const struct tally *one,
                             const struct token_ids *ids)
{
    if (v->json) {
        tokens_print_row_json(row, one, v->encode ? ids : NULL);
    } else if (v->encode) {
        for (size_t i = 0; i < ids->len; i++)
            printf("%s%u", i ? " " : "", ids->id[i]);
        putchar('\n');
    } else if (v->files) {
        printf("%10zu  %s", one->tokens, row->path);
        if (row->line)
            printf(":%zu", row->line);
        putchar('\n');
    }
}

/* The text to count: of a conversation, what its template makes of it. */
static int tokens_text(const struct tokens_values *v,
                       const struct text_row *row, struct buf *chat,
                       struct str *text, struct err *e)
{
    struct chat_message *m;
    size_t n;

    *text = row->text;
    if (!v->chat)
        return 0;
    if (chat_messages(row->object, &m, &n, e) < 0)
        return err_wrap(e, "%s:%zu", row->path, row->line);
    buf_reset(chat);
    chat_render(chat_template_find(v->chat), m, n, false, chat);
    *text = buf_view(chat);
    free(m);
    return 0;
}

static int tokens_count_path(const struct tokens_values *v, const char *path,
                             struct tokenizer *t, struct tallies *sum,
                             struct err *e)
{
    struct texts_how how = {.jsonl = v->field || v->chat, .field = v->field};
    struct token_ids ids = {0};
    struct texts *rows;
    struct text_row row;
    struct buf chat = BUF_INIT;
    int rc;

    how.suffix = how.jsonl ? ".jsonl" : NULL;
    rows = texts_open(path, &how, e);
    if (!rows)
        return -1;
    while ((rc = texts_next(rows, &row, e)) > 0) {
        struct str text;
        struct tally one;

        if (tokens_text(v, &row, &chat, &text, e) < 0) {
            rc = -1;
            break;
        }
        ids.len = 0;
        one = tally_text(t, text, v->encode ? &ids : NULL);
        tokens_print_row(v, &row, &one, &ids);
        tallies_add(sum, path[0] == '-' && !path[1] ? "" : row.path, &one);
    }
    if (rc == 0 && texts_skipped(rows))
        log_warn("%s: %zu file%s not counted: not text", path,
                 texts_skipped(rows), texts_skipped(rows) == 1 ? "" : "s");
    buf_release(&chat);
    token_ids_release(&ids);
    texts_close(rows);
    return rc;
}

static void tokens_print_tally(const char *name, const struct tally *t)
{
    printf("%-12s %9zu %13zu %13zu %13zu", name, t->files, t->bytes,
           t->characters, t->tokens);
    if (t->tokens)
        printf("  %6.2f", (double)t->characters / (double)t->tokens);
    putchar('\n');
}

static int tokens_count_paths(const struct tokens_values *v,
                              const struct opt_result *words,
                              struct tokenizer *t, struct err *e)
{
    struct tallies sum = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < words->rest_len; i++)
        rc = tokens_count_path(v, words->rest[i], t, &sum, e);
    if (rc == 0 && !v->json && !v->encode) {
        tallies_sort(&sum);
        printf("%-12s %9s %13s %13s %13s  %6s\n", "extension",
               v->field || v->chat ? "rows" : "files", "bytes", "characters",
               "tokens", "ch/tok");
        for (size_t i = 0; i < sum.len; i++)
            tokens_print_tally(sum.item[i].name, &sum.item[i]);
        tokens_print_tally("total", &sum.total);
    }
    tallies_release(&sum);
    return rc;
}

/* ---- the documents of a pack ---- */

static int tokens_count_table(const struct tokens_values *v,
                              struct tokenizer *t, struct err *e)
{
    json_t *list = documents_count(v->table, v->root, t, e), *s, *path;
    json_int_t files = 0, bytes = 0, tokens = 0;
    bool missing = false;
    size_t i, k;

    if (!list)
        return -1;
    if (!v->json)
        printf("%9s %13s %13s  %s\n", "files", "bytes", "tokens", "source");
    json_array_foreach(list, i, s)
    {
        if (v->json)
            jsn_line(json_incref(s));
        else
            printf("%9lld %13lld %13lld  %s %.12s\n",
                   (long long)jsn_int(s, "files"),
                   (long long)jsn_int(s, "bytes"),
                   (long long)jsn_int(s, "tokens"), jsn_str(s, "repo"),
                   jsn_str(s, "commit"));
        json_array_foreach(json_object_get(s, "missing"), k, path)
        {
            log_warn("not found below %s: %s of %s", v->root,
                     json_string_value(path), jsn_str(s, "repo"));
            missing = true;
        }
        files += jsn_int(s, "files");
        bytes += jsn_int(s, "bytes");
        tokens += jsn_int(s, "tokens");
    }
    if (!v->json)
        printf("%9lld %13lld %13lld  total\n", (long long)files,
               (long long)bytes, (long long)tokens);
    json_decref(list);
    return missing;
}

/* ---- the command ---- */

static int tokens_check(const struct tokens_values *v, size_t words,
                        struct err *e)
{
    if (!v->vocab)
        return err_set(e, ERR_USAGE,
                       "--vocab FILE is missing: the vocab.json or the "
                       ".tiktoken file of a Qwen model");
    if (v->field && v->chat)
        return err_set(e, ERR_USAGE, "--field and --chat exclude each other");
    if (!v->table != !v->root)
        return err_set(e, ERR_USAGE, "--table FILE and --root DIR go together");
    if (v->table && (words || v->encode || v->field || v->chat || v->files))
        return err_set(e, ERR_USAGE,
                       "--table counts only what the file names; leave out "
                       "the rest");
    if (!v->table && !words)
        return err_set(e, ERR_USAGE,
                       "no PATH given: a file, a folder, or '-' for standard "
                       "input");
    return 0;
}

static int tokens_run(struct cmd_call *call, struct err *e)
{
    const struct tokens_values *v = call->values;
    struct tokenizer *t;
    struct vocab *vocab;
    int rc;

    if (tokens_check(v, call->r.rest_len, e) < 0)
        return -1;
    vocab = vocab_load(v->vocab, e);
    if (!vocab)
        return -1;
    t = tokenizer_new(vocab);
    rc = v->table ? tokens_count_table(v, t, e)
                  : tokens_count_paths(v, &call->r, t, e);
    tokenizer_free(t);
    vocab_free(vocab);
    return rc;
}

const struct cmd cmd_tokens = {
    "tokens",
    "PATH...",
    "count the Qwen tokens of files, exactly",
    "Counts what the tokenizers of Qwen2 and Qwen3 make of each file, and\n"
    "sums up by extension. Folders are read with all folders below, except\n"
    "hidden files and files that are not text. The vocabulary is not part\n"
    "of this program.\n"
    "Exit status: 0, or 1 if --table names documents that are missing.",
    tokens_table,
    tokens_run,
    sizeof(struct tokens_values),
    NULL,
};
