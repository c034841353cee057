/* test_views.c: what the page shows, from a run made by hand with known
 * answers. */
#include "analyze/views.h"
#include "base/mem.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000

/* ---- a run ---- */

static void put_task(struct store *s, int64_t ord, const char *id,
                     const char *ops, const char *skipped)
{
    char source[HASH_HEX];
    struct row_task r = {.ord = ord,
                         .id = id,
                         .hash = id,
                         .source = source,
                         .ops = ops,
                         .skipped = skipped};

    store_blob(s, STR_LIT("class Model: pass\n"), source);
    store_task(s, &r);
}

static void put_entry(struct store *s, int64_t number, int64_t task,
                      int64_t attempt, const char *name)
{
    char blob[HASH_HEX];
    struct row_entry x = {.entry = number,
                          .version = number,
                          .origin = task < 0 ? "seed" : "run",
                          .task = task,
                          .attempt = attempt,
                          .name = name,
                          .problem = blob,
                          .solution = blob};

    store_blob(s, STR_LIT("text"), blob);
    store_entry(s, &x);
}

struct outcome {
    int64_t task, attempt, second; /* judged then */
    const char *verdict, *record, *times, *code;
    int64_t shown; /* entry, or 0 */
};

static void put_attempt(struct store *s, const struct outcome *o)
{
    bool good = strcmp(o->verdict, "correct") == 0;
    char code[HASH_HEX], record[HASH_HEX], asked[64];
    struct row_attempt a = {.task = o->task,
                            .attempt = o->attempt,
                            .iteration = o->attempt,
                            .method = "monkeys",
                            .island = -1,
                            .code = code,
                            .verdict = o->verdict,
                            .fitness = good ? 1 : 0,
                            .solved = good};
    struct row_verdict v = {.task = o->task,
                            .attempt = o->attempt,
                            .verdict = o->verdict,
                            .evidence = good ? "E3" : NULL,
                            .record = record,
                            .times = o->times ? o->times : "{}",
                            .judged_at = o->second * SECOND};
    struct row_call c = {.purpose = "code",
                         .asked = asked,
                         .try = 1,
                         .task = o->task,
                         .attempt = o->attempt,
                         .state = "answered",
                         .input = 10,
                         .output = 5,
                         .cost_usd_micro = 100,
                         .asked_at = (o->second - 2) * SECOND,
                         .answered_at = (o->second - 1) * SECOND};

    snprintf(asked, sizeof(asked), "%lld/%lld", (long long)o->task,
             (long long)o->attempt);
    store_blob(s, str_of(o->code), code);
    store_blob(s, str_of(o->record), record);
    store_call(s, &c);
    store_verdict(s, &v);
    store_attempt(s, &a);
    if (o->shown)
        store_shown(s, &(struct row_shown){o->task, o->attempt, 1, o->shown,
                                           0.5, NULL});
}

#define GPU ",\"environment\":{\"gpu\":\"NVIDIA H200\"}"
#define TRACE                                            \
    ",\"trace\":{\"launches\":2,\"bytes_read\":3000000," \
    "\"bytes_written\":1000000}"
#define GOOD "{\"verdict\":\"correct\"" GPU TRACE "}"
#define TIMES(ms)                                        \
    "{\"timing\":{\"ms\":{\"median\":" ms                \
    "},\"reference_ms\":{\"median\":2},\"compile_ms\":{" \
    "\"median\":1}}}"
#define BAD(n)                                                             \
    "{\"verdict\":\"compile_error\",\"message\":\"line " n ": bad word\"," \
    "\"feedback\":\"line " n ": bad word\\nHint: no words\"}"
#define WRONG "{\"verdict\":\"wrong_values\",\"message\":\"output differs\"}"

/* Attempts are judged in the order of `second`, not of the tasks. */
static const struct outcome outcomes[] = {
    {0, 1, 10, "correct", GOOD, TIMES("1"), "one", 1},
    {1, 1, 14, "compile_error", BAD("7"), NULL, "a\nb\n", 1},
    {1, 2, 40, "correct", GOOD, TIMES("4"), "a\nc\n", 2},
    {2, 1, 12, "compile_error", BAD("9"), NULL, "three", 0},
    {2, 2, 30, "wrong_values", WRONG, NULL, "three", 2},
};

#define INI "[run]\ntasks = a.py\ntasks = b.py\nbudget-usd = 2.5\n"

static void put_run(const char *dir)
{
    struct store *s = db_open(dir, STORE_NEW, NULL);

    store_set(s, "method", "monkeys");
    store_set(s, "model", "<b>m</b>");
    store_set(s, "dsl", "quill");
    store_set(s, "rules", "2");
    store_set(s, "attempts", "3");
    put_task(s, 0, "L1/19", "ReLU", NULL);
    put_task(s, 1, "L1/2", "Linear\nReLU", NULL);
    put_task(s, 2, "L2/3", "Conv2d\nLinear", NULL);
    put_task(s, 3, "alone", NULL, "not finite");
    put_entry(s, 1, -1, 0, "01_seed");
    put_entry(s, 2, 0, 1, "L1/19");
    put_entry(s, 3, 1, 2, "L1/2");
    for (size_t i = 0; i < COUNT(outcomes); i++)
        put_attempt(s, &outcomes[i]);
    db_close(s);
    scratch_put(dir, "run.ini", INI);
}

/* ---- looking ---- */

/* The value at "runs/0/curve/1/0"; borrowed. */
static json_t *at(json_t *j, const char *path)
{
    struct str rest = str_of(path), key;
    bool more = true;

    while (more) {
        char name[64];
        int64_t i;

        more = str_cut(&rest, '/', &key);
        key = more ? key : rest;
        snprintf(name, sizeof(name), "%.*s", (int)key.n, key.p);
        j = json_is_array(j) && str_to_i64(key, 0, 1000000, &i)
                ? json_array_get(j, (size_t)i)
                : json_object_get(j, name);
    }
    return j;
}

/* As JSON, for comparison. */
static const char *text_at(json_t *j, const char *path)
{
    static char out[4096];
    char *text = json_dumps(at(j, path), JSON_ENCODE_ANY | JSON_COMPACT |
                                             JSON_REAL_PRECISION(6));

    snprintf(out, sizeof(out), "%s", text ? text : "nothing");
    free(text);
    return out;
}

static json_t *made(json_t *j, const struct err *e, const char *what)
{
    ok(j != NULL, "%s: %s", what, e->text);
    return j;
}

/* ---- the views ---- */

static void test_overview(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *j = made(views_overview(&v, 1, &e), &e, "an overview");

    is(text_at(j, "headline"),
       "\"2 of 3 PyTorch programs now have a verified quill kernel. <b>m</b>, "
       "with the method monkeys, took 5 attempts and $0.0005. 1 task is "
       "unsolved.\"",
       "a sentence says what happened");
    is(text_at(j, "runs/0/curve"),
       "[[1,1,100,15,2.0],[2,1,200,30,4.0],[3,1,300,45,6.0],"
       "[4,1,400,60,22.0],[5,2,500,75,32.0]]",
       "the curve is in order of time, and counts what was paid by then");
    is(text_at(j, "runs/0/by_attempt"), "[1,2,2]",
       "tasks solved by attempt 1, 2, 3");
    is(text_at(j, "runs/0/rounds"),
       "[[1,1,[1,0,0,0,2,0,0,0,0,0,0,0,0,0,0]],"
       "[2,2,[1,0,0,0,0,0,0,0,0,0,0,0,1,0,0]]]",
       "verdicts by iteration");
    is(text_at(j, "runs/0/attempts_left"), "1", "an attempt is left");
    is(text_at(j, "runs/0/cap_usd_micro"), "2500000", "the cap of the run");
    is(text_at(j, "runs/0/cap_tokens"), "null",
       "a cap that it does not have is null");
    is(text_at(j, "runs/0/unsolved/errors/0/error"), "\"output differs\"",
       "why a task is unsolved");
    json_decref(j);
}

/* The same run twice, as an example of several. */
static void test_several(struct run_view *v)
{
    struct run_view *const both[] = {v, v};
    struct err e = ERR_INIT;
    json_t *j = made(views_overview(both, 2, &e), &e, "an overview of two");

    is(text_at(j, "runs/1/solved"), "2", "has both");
    ok(strstr(text_at(j, "headline"),
              "2 runs ported PyTorch programs to quill: ") &&
           strstr(text_at(j, "headline"),
                  " solved 2 of 3 tasks in 5 attempts, ") &&
           strstr(text_at(j, "headline"), " 2 in 5."),
       "and a sentence about them: %s", text_at(j, "headline"));
    json_decref(j);
}

static void test_grid(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *j = made(views_grid(&v, 1, &e), &e, "a grid");

    is(text_at(j, "runs/0/operators"), "[\"ReLU\",\"Linear\",\"Conv2d\"]",
       "operators are listed once");
    is(text_at(j, "runs/0/tasks/0"),
       "[\"L1/19\",\"L1\",\"element-wise\",[0],\"a\",1,2.0,null,0]",
       "a solved task");
    is(text_at(j, "runs/0/tasks/1"),
       "[\"L1/2\",\"L1\",\"matrix product\",[1,0],\"ea\",2,0.5,null,0]",
       "one that was solved later");
    is(text_at(j, "runs/0/tasks/2"),
       "[\"L2/3\",\"L2\",\"convolution\",[2,1],\"em\",0,null,null,0]",
       "an unsolved one");
    is(text_at(j, "runs/0/tasks/3"),
       "[\"alone\",\"\",\"unknown\",[],\"\",0,null,\"not finite\",0]",
       "a skipped one");
    json_decref(j);
    v->task[1].version = 5;
    j = made(views_grid_since(&v, 1, (int64_t[]){4}), &e, "what is new in it");
    is(text_at(j, "runs/0/places"), "[1]", "the task that changed");
    is(text_at(j, "runs/0/tasks"),
       "[[\"L1/2\",\"L1\",\"matrix product\",[0,1],\"ea\",2,0.5,null,0]]",
       "with operators of its own");
    is(text_at(j, "runs/0/operators"), "[\"Linear\",\"ReLU\"]", "a list");
    json_decref(j);
}

static void test_archive(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *j = made(views_archive(&v, 1, &e), &e, "an archive");

    is(text_at(j, "runs/0/entries/0/depth"), "0", "a seed has depth 0");
    is(text_at(j, "runs/0/entries/0/places"), "[[0,1,true],[1,1,false]]",
       "where it was shown, and what came of it");
    is(text_at(j, "runs/0/entries/1/parents"), "[1]",
       "a kernel descends from what its attempt was shown");
    is(text_at(j, "runs/0/entries/2/depth"), "2", "and so on outward");
    is(text_at(j, "runs/0/entries/1/solved"), "1", "solves are counted");
    json_decref(j);
}

static void test_clusters(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *j = made(views_clusters(&v, 1, &e), &e, "clusters");

    is(text_at(j, "runs/0/failed"), "3", "all failed attempts");
    is(text_at(j, "runs/0/clusters/0"),
       "{\"verdict\":\"compile_error\",\"error\":\"line 7: bad word\","
       "\"hint\":\"no words\",\"attempts\":2,\"tasks\":2,\"solved\":1,"
       "\"task\":\"L1/2\",\"attempt\":1}",
       "errors that differ in a line number are one, with the hint");
    is(text_at(j, "runs/0/clusters/1/hint"), "null", "without a hint: null");
    json_decref(j);
}

static void test_kernels(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *j = made(views_kernels(&v, 1, &e), &e, "kernels");

    is(text_at(j, "runs/0/kernels/0"),
       "[\"L1/19\",1,2.0,1.0,2,3000000,1000000,1.0,4e9,null]",
       "a kernel: speed-ups, launches, bytes, time, bandwidth");
    is(text_at(j, "runs/0/fast_p/0"), "[0.0,0.666667,0.666667]",
       "fast_0 is a share of all tasks");
    is(text_at(j, "runs/0/fast_p/10"), "[1.0,0.333333,0.0]",
       "a tie at 1 is not faster");
    is(text_at(j, "runs/0/geomean"), "1.0", "2x and 0.5x have the mean 1x");
    is(text_at(j, "runs/0/peak_bytes_per_s"), "4.8e12",
       "the peak of a known GPU");
    is(text_at(j, "runs/0/implausible"), "0", "nothing is implausible");
    json_decref(j);
}

static void test_task(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *j =
        made(views_task(v, &v->task[1], 0, &e), &e, "the best of a task");

    is(text_at(j, "attempt/attempt"), "2", "it is the one that is correct");
    is(text_at(j, "diff"),
       "\"--- attempt 1\\n+++ attempt 2\\n@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n\"",
       "with what changed since the one before");
    json_decref(j);
    j = made(views_task(v, &v->task[1], 1, &e), &e, "an attempt");
    is(text_at(j, "diff"), "null", "the first has no diff");
    json_decref(j);
    j = made(views_task(v, &v->task[3], 0, &e), &e, "a task without attempts");
    is(text_at(j, "attempt"), "null", "it has none to show");
    json_decref(j);
    ok(!views_task(v, &v->task[1], 9, &e) && e.kind == ERR_NONE,
       "an attempt that is not there is no error");
}

/* ---- texts ---- */

static void test_cut(void)
{
    size_t n = (size_t)10 << 20;
    char *line = xmalloc(n + 1);
    json_t *j;

    memset(line, 'x', n);
    line[n] = '\0';
    memcpy(line + VIEWS_LONGEST_LINE - 1, "\xc3\xa9", 2);
    j = views_cut(json_pack("{s:[s, s]}", "a", "short", line));
    is(text_at(j, "a/0"), "\"short\"", "a short text stays");
    ok(json_string_length(at(j, "a/1")) < VIEWS_LONGEST_LINE + 100 &&
           strstr(json_string_value(at(j, "a/1")),
                  "x … [10481761 more bytes in this line]"),
       "a line of 10 MB is cut between characters, with a note");
    json_decref(j);
    for (size_t i = 0; i < n; i += 10)
        line[i] = '\n';
    j = views_text(line);
    ok(json_string_length(j) < VIEWS_LONGEST_TEXT + 100 &&
           strstr(json_string_value(j), "more bytes]"),
       "so is a text of 10 MB with short lines");
    json_decref(j);
    free(line);
}

static void test_words(void)
{
    struct buf b = BUF_INIT;

    headline_number(1234567, &b);
    buf_putc(&b, ' ');
    headline_number(12, &b);
    buf_putc(&b, ' ');
    headline_time(59.6, &b);
    buf_putc(&b, ' ');
    headline_time(7500, &b);
    is(buf_str(&b), "1,234,567 12 60 s 2 h 5 min", "numbers for people");
    buf_release(&b);
    is(views_family("ReLU\nmatmul"), "matrix product",
       "a family is what a program is mostly about");
    is(views_family("matmul\nsoftmax"), "attention",
       "attention may be written out");
}

SUITE(views)
{
    char *dir = scratch_dir();
    struct err e = ERR_INIT;
    struct run_view v;

    put_run(dir);
    if (!ok(run_view_open(dir, &v, &e) == 0, "opened: %s", e.text))
        return;
    test_overview(&v);
    test_several(&v);
    test_grid(&v);
    test_archive(&v);
    test_clusters(&v);
    test_kernels(&v);
    test_task(&v);
    run_view_close(&v);
    test_cut();
    test_words();
}
