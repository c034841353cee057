/* export_card.c: the counts of an export, as JSON and as a dataset card. */
#include "data/export.h"

#include <inttypes.h>

static json_t *number(size_t n)
{
    return json_integer((json_int_t)n);
}

json_t *export_json(const struct export_sums *s)
{
    json_t *files = json_array();

    for (size_t i = 0; i < EXPORT_FILES; i++)
        if (s->name[i])
            json_array_append_new(
                files, json_pack("{s:s, s:I, s:I, s:s}", "file", s->name[i],
                                 "records", (json_int_t)s->file[i].lines,
                                 "bytes", (json_int_t)s->file[i].bytes,
                                 "sha256", s->file[i].hash));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O, s:O, s:o}",
        "tasks", number(s->tasks), "unsolved", number(s->unsolved), "retired",
        number(s->retired), "duplicates", number(s->duplicates), "overlaps",
        number(s->overlaps), "pieces", number(s->pieces), "problems",
        number(s->problems), "test_problems", number(s->test_problems),
        "one_stage", number(s->one_stage), "backfilled", number(s->backfilled),
        "plan", number(s->phase[0]), "code", number(s->phase[1]), "fix",
        number(s->phase[2]), "too_long", number(s->too_long), "repeated",
        number(s->repeated), "no_prompt", number(s->no_prompt), "not_utf8",
        number(s->not_utf8), "not_chosen", number(s->not_chosen),
        "tokens_prompt", number(s->prompt_tokens), "tokens_completion",
        number(s->completion_tokens), "licences", s->licences, "datasets",
        s->datasets, "files", files);
}

/* ---- the card ---- */

static void put_row(struct buf *out, size_t n, const char *what)
{
    buf_printf(out, "| %zu | %s |\n", n, what);
}

/* So that a loader of datasets takes the right files for the splits. */
static void put_header(struct buf *out, const struct export_sums *s)
{
    buf_puts(out, "---\nconfigs:\n- config_name: default\n  data_files:\n");
    for (size_t i = EXPORT_TRAIN; i < EXPORT_FILES; i++)
        if (s->name[i])
            buf_printf(out, "  - split: %s\n    path: %s\n",
                       i == EXPORT_TEST ? "test" : "train", s->name[i]);
    buf_puts(out, "---\n");
}

static void put_counts(struct buf *out, const char *title, const json_t *counts)
{
    const char *name;
    const json_t *n;

    buf_printf(out, "\n| %s | records |\n|---|---|\n", title);
    json_object_foreach((json_t *)counts, name, n)
    {
        buf_puts(out, "| ");
        for (const char *p = name; *p; p++) { /* as a cell of the table */
            if (*p == '|')
                buf_putc(out, '\\');
            buf_putc(out, *p == '\n' ? ' ' : *p);
        }
        buf_printf(out, " | %" JSON_INTEGER_FORMAT " |\n",
                   json_integer_value(n));
    }
}

static void put_tasks(struct buf *out, const struct export_sums *s)
{
    buf_puts(out, "\n| tasks | |\n|---|---|\n");
    put_row(out, s->tasks, "in the runs");
    put_row(out, s->unsolved, "not solved");
    put_row(out, s->retired, "solved by a kernel that was retired since");
    put_row(out, s->duplicates, "the same program as an earlier one");
    put_row(out, s->overlaps, "left out: overlap with the benchmark");
    put_row(out, s->problems, "in this data");
    put_row(out, s->test_problems, "of these in the test part");
    if (s->one_stage)
        put_row(out, s->one_stage,
                "of these solved in one stage: code without a plan");
    if (s->backfilled)
        put_row(out, s->backfilled,
                "of these solved in one stage: a model was asked for the plan "
                "afterwards, and the prompts of both records are those that "
                "would have been sent in two stages (`backfilled`)");
    if (s->pieces)
        put_row(out, s->pieces, "solved pieces of a curriculum, not included");
}

static void put_records(struct buf *out, const struct export_how *how,
                        const struct export_sums *s)
{
    buf_puts(out, "\n| records | |\n|---|---|\n");
    for (size_t i = 0; i < 3; i++)
        if (s->phase[i])
            put_row(out, s->phase[i], export_phases[i]);
    if (how->vocab)
        put_row(out, s->too_long, "left out: too long");
    if (s->repeated)
        put_row(out, s->repeated, "left out: the same as another");
    if (s->no_prompt)
        put_row(out, s->no_prompt, "left out: the prompt is not stored");
    if (s->not_utf8)
        put_row(out, s->not_utf8, "left out: not UTF-8");
    if (s->not_chosen)
        put_row(out, s->not_chosen, "left out by the choice of tasks");
    if (how->vocab)
        buf_printf(out,
                   "\nTokens (%s): %" PRIu64 " of prompts, %" PRIu64
                   " of completions; at most %" PRId64 " in a record. No "
                   "record is cut.\n",
                   how->chat->name, s->prompt_tokens, s->completion_tokens,
                   how->max_tokens);
    else
        buf_puts(out, "\nTokens were not counted.\n");
}

void export_card(const struct export_how *how, const struct export_sums *s,
                 struct buf *out)
{
    put_header(out, s);
    buf_printf(out, "# Kernels as training data: %s\n\n%s\n\nFormat: %s.\n",
               how->kind->name, how->kind->what,
               how->messages ? "`messages`" : "`prompt` and `completion`");
    put_tasks(out, s);
    put_records(out, how, s);
    put_counts(out, "licence", s->licences);
    put_counts(out, "source", s->datasets);
    buf_printf(out,
               "\nTasks are divided into parts by the hash of their program "
               "(seed %" PRId64 "): all records of a task are in the same "
               "part.\nNo task overlaps with the benchmark (%s), and no "
               "example in a prompt does, seeds of the language's pack "
               "aside.\n",
               how->samples.seed, how->overlap);
    buf_puts(out,
             "\n| file | records | bytes | SHA-256 |\n|---|---|---|---|\n");
    for (size_t i = 0; i < EXPORT_FILES; i++)
        if (s->name[i])
            buf_printf(out, "| `%s` | %zu | %" PRIu64 " | `%s` |\n", s->name[i],
                       s->file[i].lines, s->file[i].bytes, s->file[i].hash);
}
