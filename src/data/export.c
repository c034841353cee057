/* export.c: records in two passes, and the dataset card: the first pass counts and
 * chooses, the second writes. Texts stay in the runs between the two, so memory does not grow with
 * them. */
#include "data/export.h"

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "run/archives.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ID_DIGITS 16

const char *const export_phases[3] = {"plan", "code", "fix"};

/* What the first pass found about a record. */
struct found {
    bool kept;
    char id[HASH_HEX];
    size_t prompt, completion; /* tokens */
};

struct pass {
    const struct export_how *how;
    struct export_sums *sums;
    struct samples samples;
    struct tokenizer *tokenizer; /* NULL: tokens are not counted */
    struct map seen;             /* conversations, by hash */
    struct found *found;         /* in the order of the records */
    size_t len, cap;
    size_t *of;   /* of each sample, how many records are kept */
    bool *chosen; /* of each sample */
    /* the second pass */
    size_t at; /* the record */
    size_t phases;
    bool backfilled;
    struct task *task; /* of the sample */
    struct jsonl *file[EXPORT_FILES];
};

/* ---- the first pass ---- */

static void hash_record(const struct record *r, char out[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    for (size_t i = 0; i < r->messages; i++) {
        hash_add(&h, r->message[i].role.p, r->message[i].role.n + 1);
        hash_add(&h, &r->message[i].content.n, sizeof(size_t));
        hash_add(&h, r->message[i].content.p, r->message[i].content.n);
    }
    hash_finish_hex(&h, out);
}

static bool is_utf8(const struct record *r)
{
    for (size_t i = 0; i < r->messages; i++) {
        struct str s = r->message[i].content;

        if (str_utf8_check(s.p, s.n) != s.n)
            return false;
    }
    return true;
}

/* False: the conversation is too long. */
static bool count_tokens(const struct pass *p, const struct record *r,
                         struct found *f)
{
    size_t all;

    if (!p->tokenizer)
        return true;
    f->prompt = chat_count(p->how->chat, p->tokenizer, r->message,
                           r->messages - 1, true);
    all =
        chat_count(p->how->chat, p->tokenizer, r->message, r->messages, false);
    f->completion = all > f->prompt ? all - f->prompt : 0;
    return all <= (size_t)p->how->max_tokens;
}

/* NULL: the record is kept; else what to count. */
static size_t *judge(struct pass *p, const struct record *r, struct found *f)
{
    if (!r->messages)
        return &p->sums->no_prompt;
    if (!is_utf8(r))
        return &p->sums->not_utf8;
    hash_record(r, f->id);
    if (map_get(&p->seen, str_of(f->id)))
        return &p->sums->repeated;
    map_set(&p->seen, str_of(f->id), p);
    return count_tokens(p, r, f) ? NULL : &p->sums->too_long;
}

static int look_at(const struct record *r, void *arg, struct err *e)
{
    struct pass *p = arg;
    struct found f = {0};
    size_t *why = judge(p, r, &f);

    (void)e;
    f.kept = !why;
    if (why)
        ++*why;
    else
        p->of[r->sample - p->samples.item]++;
    p->found = xgrow(p->found, &p->cap, p->len, sizeof(*p->found));
    p->found[p->len++] = f;
    return 0;
}

/* ---- which problems ---- */

static int by_rank(const void *a, const void *b)
{
    const struct sample *x = *(const struct sample *const *)a,
                        *y = *(const struct sample *const *)b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* A smaller choice is part of a larger one, and the test part is always the
 * same. */
static int export_choose(struct pass *p, struct err *e)
{
    struct samples *s = &p->samples;
    struct sample **order = xcalloc(s->len + 1, sizeof(*order));
    size_t n = 0, most = (size_t)p->how->problems;
    int rc = 0;

    for (size_t i = 0; i < s->len; i++)
        if (p->of[i] && s->item[i].test)
            p->chosen[i] = true;
        else if (p->of[i])
            order[n++] = &s->item[i];
    qsort(order, n, sizeof(*order), by_rank);
    if (most > n)
        rc = err_set(e, ERR_INPUT,
                     "--problems %zu: only %zu task%s for training; run more "
                     "tasks, or ask for fewer",
                     most, n, n == 1 ? " is there" : "s are there");
    for (size_t i = 0; i < n && (!most || i < most); i++)
        p->chosen[order[i] - s->item] = true;
    free(order);
    return rc;
}

/* ---- the second pass ---- */

static json_t *text(struct str s)
{
    return json_stringn(s.p, s.n);
}

static json_t *word(const char *s)
{
    return jsn_text(s ? s : "", s ? strlen(s) : 0);
}

/* "MIT", "MIT, Apache-2.0", or "unknown". */
static json_t *licence_json(const json_t *source)
{
    const json_t *list = json_object_get(source, "licenses"), *item;
    struct buf b = BUF_INIT;
    json_t *v;
    size_t i;

    json_array_foreach(list, i, item) if (json_is_string(item))
        buf_printf(&b, "%s%s", b.len ? ", " : "", json_string_value(item));
    v = b.len ? jsn_text(buf_str(&b), b.len) : word("unknown");
    buf_release(&b);
    return v;
}

/* The set that the task is from: as its sidecar says, else its folder. */
static json_t *dataset_json(const struct task *t, const json_t *source)
{
    const char *name = jsn_str(source, "dataset"), *slash = strchr(t->id, '/');

    if (name[0])
        return word(name);
    return jsn_text(t->id, slash ? (size_t)(slash - t->id) : strlen(t->id));
}

static json_t *source_json(const json_t *source)
{
    char *line = source ? jsn_canonical(source) : NULL;
    json_t *v = word(line);

    free(line);
    return v;
}

static json_t *count_json(const struct pass *p, size_t n)
{
    return p->tokenizer ? json_integer((json_int_t)n) : json_null();
}

/* Everything but the texts. */
static json_t *origin_json(const struct pass *p, const struct record *r,
                           const struct found *f)
{
    const json_t *source = json_object_get(p->task->sidecar, "source");
    const json_t *row = r->sample->row;
    char *id = xasprintf("%s-%.*s", r->phase, ID_DIGITS, f->id);
    json_t *v = json_pack(
        "{s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:O, s:o, s:b, "
        "s:I}",
        "id", id, "phase", r->phase, "problem_id", word(p->task->id),
        "problem_hash", r->sample->hash, "source_dataset",
        dataset_json(p->task, source), "licence", licence_json(source),
        "source", source_json(source), "attempt",
        jsn_int(r->attempt, "attempt"), "iteration",
        jsn_int(r->attempt, "iteration"), "retrieval_mode",
        word(jsn_maybe(r->attempt, "retrieval")), "example_ids",
        json_object_get(r->attempt, "shown"), "model",
        word(r->model ? r->model : jsn_str(row, "model")), "backfilled",
        r->backfilled, "rules", jsn_int(row, "rules"));

    if (r->verdict)
        json_object_set_new(v, "failed_verdict", word(r->verdict));
    free(id);
    return v;
}

static void close_json(const struct pass *p, const struct record *r,
                       const struct found *f, json_t *v)
{
    json_object_set_new(v, "n_tokens_prompt", count_json(p, f->prompt));
    json_object_set_new(v, "n_tokens_completion", count_json(p, f->completion));
    json_object_set_new(v, "split", word(r->sample->test ? "test" : "train"));
}

static json_t *list_json(const struct record *r, size_t from, size_t to)
{
    json_t *list = json_array();

    for (size_t i = from; i < to; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:o}", "role", text(r->message[i].role),
                            "content", text(r->message[i].content)));
    return list;
}

static json_t *flat_json(const struct pass *p, const struct record *r,
                         const struct found *f)
{
    json_t *v = origin_json(p, r, f);

    for (size_t i = 0; i < r->messages; i++)
        json_object_set_new(v, p->how->kind->field[i],
                            text(r->message[i].content));
    close_json(p, r, f, v);
    return v;
}

static json_t *trainer_json(const struct pass *p, const struct record *r,
                            const struct found *f)
{
    json_t *v = json_object(), *origin = origin_json(p, r, f);

    if (p->how->messages) {
        json_object_set_new(v, "messages", list_json(r, 0, r->messages));
    } else {
        json_object_set_new(v, "prompt", list_json(r, 0, r->messages - 1));
        json_object_set_new(v, "completion",
                            list_json(r, r->messages - 1, r->messages));
    }
    json_object_update(v, origin);
    json_decref(origin);
    close_json(p, r, f, v);
    return v;
}

static void tally_one(json_t *counts, const json_t *v, const char *key)
{
    const char *name = jsn_str(v, key);
    json_int_t n = jsn_int(counts, name);

    json_object_set_new(counts, name, json_integer(n + 1));
}

static void tally(struct pass *p, const struct record *r, const struct found *f,
                  const json_t *v)
{
    for (size_t i = 0; i < 3; i++)
        p->sums->phase[i] += strcmp(r->phase, export_phases[i]) == 0;
    p->sums->prompt_tokens += f->prompt;
    p->sums->completion_tokens += f->completion;
    tally_one(p->sums->licences, v, "licence");
    tally_one(p->sums->datasets, v, "source_dataset");
}

static int write_one(const struct record *r, void *arg, struct err *e)
{
    struct pass *p = arg;
    const struct found *f = &p->found[p->at++];
    json_t *flat;

    p->phases++;
    p->backfilled |= r->backfilled;
    if (!f->kept)
        return 0;
    if (!p->chosen[r->sample - p->samples.item]) {
        p->sums->not_chosen++;
        return 0;
    }
    flat = flat_json(p, r, f);
    tally(p, r, f, flat);
    if (jsonl_add(p->file[EXPORT_RECORDS], flat, e) < 0)
        return -1;
    return jsonl_add(p->file[r->sample->test ? EXPORT_TEST : EXPORT_TRAIN],
                     trainer_json(p, r, f), e);
}

static int write_sample(struct pass *p, size_t i, struct err *e)
{
    const struct sample *x = &p->samples.item[i];
    int rc;

    p->task = archives_task(x->store, x->row, e);
    if (!p->task)
        return -1;
    p->phases = 0;
    p->backfilled = false;
    rc = p->how->kind->each(x, p->how->backfill, write_one, p, e);
    task_free(p->task);
    p->task = NULL;
    if (!p->chosen[i])
        return rc;
    p->sums->problems++;
    p->sums->test_problems += x->test;
    p->sums->one_stage += p->how->kind == &record_sft && p->phases == 1;
    p->sums->backfilled += p->backfilled;
    return rc;
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
    put_row(out, s->of.tasks, "in the runs");
    put_row(out, s->of.unsolved, "not solved");
    put_row(out, s->of.retired, "solved by a kernel that was retired since");
    put_row(out, s->of.duplicates, "the same program as an earlier one");
    put_row(out, s->of.overlaps, "left out: overlap with the benchmark");
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
    if (s->of.pieces)
        put_row(out, s->of.pieces,
                "solved pieces of a curriculum, not included");
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

static void put_card(const struct export_how *how, const struct export_sums *s,
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

/* ---- files ---- */

static int open_files(struct pass *p, const char *dir, struct err *e)
{
    static const char *const stem[EXPORT_FILES] = {"records", "train", "test"};
    bool wanted[EXPORT_FILES] = {true, false, false};

    for (size_t i = 0; i < p->samples.len; i++)
        if (p->chosen[i])
            wanted[p->samples.item[i].test ? EXPORT_TEST : EXPORT_TRAIN] = true;
    for (size_t i = 0; i < EXPORT_FILES; i++) {
        char *path;

        if (!wanted[i])
            continue;
        p->sums->name[i] =
            xasprintf("%s.jsonl%s", stem[i], p->how->zstd ? ".zst" : "");
        path = fs_join(dir, p->sums->name[i]);
        p->file[i] = jsonl_open(path, p->how->zstd, e);
        free(path);
        if (!p->file[i])
            return -1;
    }
    return 0;
}

static int end_files(struct pass *p, const char *dir, struct err *e)
{
    struct buf card = BUF_INIT;
    char *path = fs_join(dir, "README.md");
    int rc = 0;

    for (size_t i = 0; i < EXPORT_FILES; i++) {
        if (rc == 0 && p->file[i])
            rc = jsonl_end(p->file[i], &p->sums->file[i], e);
        else
            jsonl_drop(p->file[i]);
        p->file[i] = NULL;
    }
    put_card(p->how, p->sums, &card);
    if (rc == 0)
        rc = fs_replace(path, buf_str(&card), card.len, e);
    buf_release(&card);
    free(path);
    return rc;
}

static int write_all(struct pass *p, struct err *e)
{
    struct fs_fresh f;
    int rc = fs_fresh_begin(&f, p->how->out, false, e);

    if (rc == 0)
        rc = open_files(p, f.dir, e);
    for (size_t i = 0; rc == 0 && i < p->samples.len; i++)
        rc = write_sample(p, i, e);
    if (rc == 0)
        rc = end_files(p, f.dir, e);
    if (rc == 0)
        rc = fs_fresh_end(&f, e);
    for (size_t i = 0; i < EXPORT_FILES; i++)
        jsonl_drop(p->file[i]);
    fs_fresh_drop(&f);
    return rc;
}

/* ---- all of it ---- */

static int nothing_to_write(const struct pass *p, struct err *e)
{
    const struct export_sums *s = p->sums;

    return err_set(e, ERR_INPUT,
                   "no record can be made: of %zu tasks, %zu are not solved, "
                   "%zu retired, %zu duplicates, %zu of the benchmark; of %zu "
                   "records, %zu are too long (--max-tokens)",
                   s->of.tasks, s->of.unsolved, s->of.retired, s->of.duplicates,
                   s->of.overlaps, p->len, s->too_long);
}

static int run_passes(struct pass *p, struct err *e)
{
    bool any = false;

    p->of = xcalloc(p->samples.len + 1, sizeof(*p->of));
    p->chosen = xcalloc(p->samples.len + 1, sizeof(*p->chosen));
    for (size_t i = 0; i < p->samples.len; i++) {
        if (p->how->kind->each(&p->samples.item[i], p->how->backfill, look_at,
                               p, e) < 0)
            return -1;
        any |= p->of[i] > 0;
    }
    if (!any)
        return nothing_to_write(p, e);
    return export_choose(p, e) < 0 ? -1 : write_all(p, e);
}

enum ask_end export_records(const struct export_how *how,
                            struct export_sums *out, struct err *e)
{
    struct pass p = {.how = how, .sums = out};
    enum ask_end end = ASK_DONE;
    int rc;

    *out = (struct export_sums){.licences = json_object(),
                                .datasets = json_object()};
    if (how->vocab)
        p.tokenizer = tokenizer_new(how->vocab);
    rc = samples_open(&p.samples, &how->samples, e);
    out->of = p.samples.count;
    if (rc == 0 && how->backfill)
        end = backfill_run(how->backfill, &p.samples, e);
    if (rc == 0 && end == ASK_DONE)
        rc = run_passes(&p, e);
    samples_close(&p.samples);
    tokenizer_free(p.tokenizer);
    map_release(&p.seen);
    free(p.found);
    free(p.of);
    free(p.chosen);
    return rc < 0 ? ASK_FAILED : end;
}

void export_release(struct export_sums *s)
{
    for (size_t i = 0; i < EXPORT_FILES; i++)
        free(s->name[i]);
    json_decref(s->licences);
    json_decref(s->datasets);
    *s = (struct export_sums){0};
}

/* ---- the counts ---- */

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
        "tasks", number(s->of.tasks), "unsolved", number(s->of.unsolved),
        "retired", number(s->of.retired), "duplicates",
        number(s->of.duplicates), "overlaps", number(s->of.overlaps), "pieces",
        number(s->of.pieces), "problems", number(s->problems), "test_problems",
        number(s->test_problems), "one_stage", number(s->one_stage),
        "backfilled", number(s->backfilled), "plan", number(s->phase[0]),
        "code", number(s->phase[1]), "fix", number(s->phase[2]), "too_long",
        number(s->too_long), "repeated", number(s->repeated), "no_prompt",
        number(s->no_prompt), "not_utf8", number(s->not_utf8), "not_chosen",
        number(s->not_chosen), "tokens_prompt", number(s->prompt_tokens),
        "tokens_completion", number(s->completion_tokens), "licences",
        s->licences, "datasets", s->datasets, "files", files);
}
