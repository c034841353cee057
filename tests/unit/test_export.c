/* test_export.c: what records are made of, and files that are written whole. */
#include "base/fs.h"
#include "base/log.h"
#include "data/export.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define TASK                                                \
    "import torch\nclass Model(torch.nn.Module):\n    def " \
    "forward(self, %s):\n        return torch.%s(%s)\ndef " \
    "get_inputs():\n    return [torch.randn(3)]\ndef "      \
    "get_init_inputs():\n    return []\n"

/* ---- a run ---- */

static void put_task(struct store *s, int64_t ord, const char *id,
                     const char *name, const char *op)
{
    char source[HASH_HEX], *text = scratch_text(TASK, name, op, name);
    struct row_task r = {
        .ord = ord, .id = id, .hash = id, .source = source, .path = "x/1_x.py"};

    store_blob(s, str_of(text), source);
    store_task(s, &r);
}

static void put_call(struct store *s, int64_t task, int64_t attempt,
                     const char *purpose, const char *reply)
{
    char one[HASH_HEX], two[HASH_HEX], list[HASH_HEX], said[HASH_HEX];
    char asked[64], text[512];
    struct row_call c = {.task = task,
                         .attempt = attempt,
                         .purpose = purpose,
                         .asked = asked,
                         .try = 1,
                         .state = "answered",
                         .prompt = list,
                         .reply = said,
                         .model = "m"};

    snprintf(asked, sizeof(asked), "%s/%lld/%lld", purpose, (long long)task,
             (long long)attempt);
    store_blob(s, STR_LIT("guide"), one);
    store_blob(s, str_of(asked), two);
    snprintf(text, sizeof(text),
             "[{\"role\":\"system\",\"parts\":[\"%s\"]},"
             "{\"role\":\"user\",\"parts\":[\"%s\",\"%s\"]}]",
             one, one, two);
    store_blob(s, str_of(text), list);
    store_blob(s, str_of(reply), said);
    store_call(s, &c);
}

static void put_attempt(struct store *s, int64_t task, int64_t attempt,
                        const char *code, bool good)
{
    char text[HASH_HEX], plan[HASH_HEX], feedback[HASH_HEX];
    struct row_attempt a = {.task = task,
                            .attempt = attempt,
                            .method = "monkeys",
                            .island = -1,
                            .plan = task == 1 ? NULL : plan,
                            .code = text,
                            .code_hash = text,
                            .verdict = good ? "correct" : "wrong_values",
                            .solved = good};
    struct row_verdict v = {.task = task,
                            .attempt = attempt,
                            .verdict = a.verdict,
                            .evidence = good ? "E3" : "E0",
                            .feedback = feedback};

    store_blob(s, str_of(code), text);
    store_blob(s, STR_LIT("the plan"), plan);
    store_blob(s, STR_LIT("not so"), feedback);
    store_verdict(s, &v);
    store_attempt(s, &a);
    if (task != 1)
        put_call(s, task, attempt, "plan", "<think>t</think>the plan");
    put_call(s, task, attempt, task == 1 ? "evolve" : "code",
             "<think>so</think>\nSEARCH");
}

#define BENCHMARK "x = 1\n"

/* An example of this origin, which is of the benchmark, in the prompt of task 1. */
static void put_shown(struct store *s, const char *origin)
{
    char blob[HASH_HEX];
    struct row_entry x = {.entry = 1,
                          .version = 1,
                          .origin = origin,
                          .task = -1,
                          .name = "known",
                          .problem = blob,
                          .solution = blob};
    struct row_shown shown = {1, 1, 1, 1, -2, NULL};

    store_blob(s, STR_LIT(BENCHMARK), blob);
    store_entry(s, &x);
    store_shown(s, &shown);
}

/* Task 0 is solved by its fourth attempt; two of the others failed alike. Task 1
 * is solved by evolution, task 2 is task 0 with other names, 3 is not solved,
 * the code of 4 is not UTF-8. */
static void put_run(const char *dir, const char *origin)
{
    struct store *s = db_open(dir, STORE_NEW, NULL);

    if (origin)
        put_shown(s, origin);
    put_task(s, 0, "a/one", "x", "relu");
    put_task(s, 1, "a/two", "x", "tanh");
    put_task(s, 2, "a/three", "value", "relu");
    put_task(s, 3, "a/four", "x", "exp");
    put_task(s, 4, "a/five", "x", "sin");
    put_attempt(s, 0, 1, "bad = 1", false);
    put_attempt(s, 0, 2, "bad = 1", false);
    put_attempt(s, 0, 3, "bad = 2\n", false);
    put_attempt(s, 0, 4, "good = '```'\n", true);
    put_attempt(s, 0, 5, "bad = 3\n", false);
    put_attempt(s, 1, 1, "two = 2\n", true);
    put_attempt(s, 2, 1, "three = 3\n", true);
    put_attempt(s, 3, 1, "bad = 4\n", false);
    put_attempt(s, 4, 1, "x = '\xff'\n", true);
    db_close(s);
}

/* ---- records ---- */

static int put_record(const struct record *r, void *arg, struct err *e)
{
    struct buf *out = arg;

    (void)e;
    buf_printf(out, "%s:", r->phase);
    for (size_t i = 1; i < r->messages; i++)
        buf_printf(out, " %.*s[%.*s]", (int)r->message[i].role.n,
                   r->message[i].role.p, (int)r->message[i].content.n,
                   r->message[i].content.p);
    buf_putc(out, '\n');
    return 0;
}

static const char *all(const struct record_kind *k, const struct sample *x,
                       struct buf *out)
{
    struct err e = ERR_INIT;

    buf_reset(out);
    ok(k->each(x, NULL, put_record, out, &e) == 0, "records are made");
    return buf_str(out);
}

static void test_records(const struct samples_how *how)
{
    struct err e = ERR_INIT;
    struct samples s;
    struct buf b = BUF_INIT;

    ok(samples_open(&s, how, &e) == 0 && s.len == 3 && s.count.tasks == 5 &&
           s.count.duplicates == 1 && s.count.unsolved == 1,
       "samples: solved tasks; other names make no other program");
    is(all(&record_sft, &s.item[0], &b),
       "plan: user[guideplan/0/4] assistant[the plan]\n"
       "code: user[guidecode/0/4] "
       "assistant[````python\ngood = '```'\n````]\n",
       "plan and code of the attempt that solved it");
    is(all(&record_sft, &s.item[1], &b),
       "code: user[guideevolve/1/1] assistant[SEARCH]\n",
       "evolution: what was answered, without thoughts");
    is(all(&record_refine, &s.item[0], &b),
       "fix: user[guidecode/0/1] assistant[```python\nbad = 1\n```] "
       "user[not so] assistant[````python\ngood = '```'\n````]\n"
       "fix: user[guidecode/0/3] assistant[```python\nbad = 2\n```] "
       "user[not so] assistant[````python\ngood = '```'\n````]\n",
       "each different failure before the fix");
    is(all(&record_refine, &s.item[1], &b), "", "no failure, no record");
    samples_close(&s);
    buf_release(&b);
}

static void test_export(const struct samples_how *samples, const char *dir)
{
    struct err e = ERR_INIT;
    char *out = fs_join(dir, "out");
    struct export_how how = {.kind = &record_sft,
                             .samples = *samples,
                             .out = out,
                             .messages = true,
                             .overlap = "so"};
    struct export_sums s;
    struct fs_fresh there = {.to = out};

    ok(export_records(&how, &s, &e) == ASK_DONE, "an export");
    ok(s.problems == 3 && s.one_stage == 1 && s.phase[0] == 2 &&
           s.phase[1] == 2 && s.not_utf8 == 1,
       "its counts; code that is not UTF-8 is left out, not changed");
    ok(s.file[EXPORT_TRAIN].lines == 4 && !s.name[EXPORT_TEST],
       "no file for a part without tasks");
    export_release(&s);
    ok(export_records(&how, &s, &e) == ASK_FAILED && e.kind == ERR_INPUT,
       "a folder that exists is not replaced");
    export_release(&s);
    there.dir = out; /* to remove it */
    fs_fresh_drop(&there);
}

/* ---- the benchmark in a prompt ---- */

static void test_shown(const struct samples_how *how, const char *origin,
                       bool refused)
{
    char *dir = scratch_dir();
    const char *runs[] = {dir};
    struct samples_how here = *how;
    struct err e = ERR_INIT;
    struct samples s;

    put_run(dir, origin);
    here.run = runs;
    log_set_level(LOG_QUIET);
    ok((samples_open(&s, &here, &e) < 0) == refused,
       "an example of the benchmark from: %s", origin);
    samples_close(&s);
    if (refused)
        ok(e.kind == ERR_INPUT &&
               strstr(e.text, "a/two: its prompt shows known, which is 100.0 % "
                              "similar to "),
           "the message names task and example: %s", e.text);
    here.drop_overlap = true;
    ok(samples_open(&s, &here, &e) == 0 && s.count.overlaps == refused &&
           s.len == (refused ? 2 : 3),
       "or the task is left out");
    samples_close(&s);
    log_set_level(LOG_INFO);
}

/* ---- files ---- */

static void test_jsonl(const char *dir)
{
    char *path = scratch_path(dir, "x.zst"), hash[HASH_HEX], text[64];
    struct err e = ERR_INIT;
    struct jsonl *j = jsonl_open(path, true, &e);
    struct jsonl_sums s;
    struct buf b = BUF_INIT;
    size_t n;

    jsonl_add(j, json_pack("{s:s}", "a", "\xc3\xa9\n"), &e);
    jsonl_add(j, json_pack("{s:i}", "b", 1), &e);
    ok(jsonl_end(j, &s, &e) == 0 && s.lines == 2, "lines are written");
    ok(fs_read(path, &b, &e) == 0 && b.len == s.bytes, "their size");
    hash_hex(b.data, b.len, hash);
    is(s.hash, hash, "their hash");
    n = ZSTD_decompress(text, sizeof(text) - 1, b.data, b.len);
    text[ZSTD_isError(n) ? 0 : n] = '\0';
    is(text, "{\"a\":\"\xc3\xa9\\n\"}\n{\"b\":1}\n", "their text");
    ok(!jsonl_open("/nowhere/x", false, &e), "a place that does not exist");
    buf_release(&b);
}

static void test_fresh(const char *dir)
{
    char *path = scratch_path(dir, "new"), *sub;
    struct err e = ERR_INIT;
    struct fs_fresh f;

    ok(fs_fresh_begin(&f, path, false, &e) == 0 && !fs_is_dir(path) &&
           fs_is_dir(f.dir),
       "a folder is filled under another name");
    sub = scratch_path(f.dir, "a/b");
    ok(fs_mkdirs(sub, &e) == 0, "and may have others");
    fs_fresh_drop(&f);
    ok(!fs_is_dir(sub) && !fs_is_dir(path), "dropped: nothing is left");
    ok(fs_fresh_begin(&f, path, false, &e) == 0 && fs_fresh_end(&f, &e) == 0 &&
           fs_is_dir(path),
       "ended: it has its name");
    ok(fs_fresh_begin(&f, path, false, &e) < 0 && e.kind == ERR_INPUT,
       "it must not exist");
    fs_fresh_drop(&f);
    rmdir(path);
}

SUITE(export)
{
    char *dir = scratch_dir(), *bench = scratch_path(dir, "bench"),
         *file = scratch_path(bench, "1_b.py");
    struct overlap_how how = {.fuzzy = true, .ngram = true, .tokens = "words"};
    const char *runs[] = {dir}, *against[] = {bench};
    struct samples_how samples = {.run = runs, .runs = 1};
    struct err e = ERR_INIT;
    struct overlap *o;

    put_run(dir, NULL);
    ok(fs_mkdirs(bench, &e) == 0 &&
           fs_replace(file, BENCHMARK, strlen(BENCHMARK), &e) == 0,
       "a benchmark");
    o = overlap_load(&how, against, 1, &e);
    samples.against = o;
    test_records(&samples);
    test_export(&samples, dir);
    test_shown(&samples, "archive", true);
    test_shown(&samples, "run", true);
    test_shown(&samples, "seed", false);
    overlap_free(o);
    test_jsonl(dir);
    test_fresh(dir);
    unlink(file);
    rmdir(bench);
}
