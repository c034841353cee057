/* test_attempt_view.c: an attempt put together from what a run stored: what it
 * was asked and shown, what it answered, what came of it. */
#include "run/query.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

#define HOSTILE "x\x1b[2J\xe2\x80\xae\xff"

static void put_task(struct store *s, int64_t ord, const char *id)
{
    char source[HASH_HEX];
    struct row_task r = {.ord = ord, .id = id, .hash = "h", .source = source};

    store_blob(s, STR_LIT("class Model: pass\n"), source);
    store_task(s, &r);
}

static void put_entry(struct store *s, int64_t number, const char *name)
{
    char blob[HASH_HEX];
    struct row_entry x = {.entry = number,
                          .version = 1,
                          .origin = "seed",
                          .task = -1,
                          .name = name,
                          .problem = blob,
                          .solution = blob};

    store_blob(s, STR_LIT("text"), blob);
    store_entry(s, &x);
}

/* A prompt of two messages; the user's has two parts. */
static void put_call(struct store *s, int64_t task, int64_t attempt,
                     const char *purpose, int64_t at)
{
    char one[HASH_HEX], two[HASH_HEX], list[HASH_HEX], reply[HASH_HEX];
    char asked[64], text[512];
    struct row_call c = {.task = task,
                         .attempt = attempt,
                         .purpose = purpose,
                         .asked = asked,
                         .try = 1,
                         .state = "answered",
                         .prompt = list,
                         .reply = reply,
                         .input = 10,
                         .output = 5,
                         .cost_usd_micro = 7,
                         .asked_at = at};

    snprintf(asked, sizeof(asked), "%lld/%lld", (long long)task,
             (long long)attempt);
    store_blob(s, STR_LIT("the guide. "), one);
    store_blob(s, STR_LIT("the task."), two);
    snprintf(text, sizeof(text),
             "[{\"role\":\"system\",\"parts\":[\"%s\"]},"
             "{\"role\":\"user\",\"parts\":[\"%s\",\"%s\"]}]",
             one, one, two);
    store_blob(s, str_of(text), list);
    store_blob(s, str_of(purpose), reply);
    store_call(s, &c);
}

static void put_attempt(struct store *s, int64_t task, int64_t attempt,
                        bool good, double fitness)
{
    static const char bad_record[] =
        "{\"verdict\":\"compile_error\",\"message\":\"In f:\\n\\n  x is not "
        "y\\nmore\",\"feedback\":\"no\",\"trials\":[]}";
    char code[HASH_HEX], feedback[HASH_HEX], record[HASH_HEX];
    struct row_attempt a = {.task = task,
                            .attempt = attempt,
                            .method = "monkeys",
                            .retrieval = "similar",
                            .island = -1,
                            .code = code,
                            .stage = good ? "done" : "compile",
                            .verdict = good ? "correct" : "compile_error",
                            .fitness = fitness,
                            .solved = good};
    struct row_verdict v = {.task = task,
                            .attempt = attempt,
                            .verdict = a.verdict,
                            .stage = a.stage,
                            .evidence = good ? "E3" : NULL,
                            .feedback = feedback,
                            .record = record,
                            .times = good
                                         ? "{\"timing\":{\"ms\":{\"median\":2},"
                                           "\"reference_ms\":{\"median\":3}}}"
                                         : "{}"};
    struct row_shown shown[] = {{task, attempt, 1, 3, 0.25, NULL},
                                {task, attempt, 2, 1, -2, NULL}};

    store_blob(s, STR_LIT(HOSTILE), code);
    store_blob(s, STR_LIT("no"), feedback);
    store_blob(s, str_of(good ? "{\"verdict\":\"correct\"}" : bad_record),
               record);
    store_verdict(s, &v);
    store_attempt(s, &a);
    store_shown(s, &shown[0]);
    store_shown(s, &shown[1]);
    put_call(s, task, attempt, "plan", 10 * attempt);
    put_call(s, task, attempt, "code", 10 * attempt + 1);
    put_call(s, task, attempt, "review", 10 * attempt + 2);
}

static void put_run(const char *dir)
{
    struct store *s = db_open(dir, STORE_NEW, NULL);

    for (int64_t i = 0; i < 3; i++)
        put_task(s, i, (const char *[]){"a/one", "a/two", "b/two"}[i]);
    put_entry(s, 1, "first");
    put_entry(s, 2, "second");
    put_entry(s, 3, HOSTILE);
    put_attempt(s, 0, 1, false, 0.1);
    put_attempt(s, 1, 1, false, 0.1);
    put_attempt(s, 1, 2, true, 1.1);
    put_attempt(s, 1, 3, true, 1.2);
    put_attempt(s, 1, 4, false, 0.3);
    db_close(s);
}

/* ---- lines ---- */

static void is_number(const json_t *o, const char *key, double want,
                      const char *claim)
{
    const json_t *v = json_object_get(o, key);

    ok(json_is_number(v) && json_number_value(v) == want, "%s", claim);
}

static void test_lines(struct store *s)
{
    struct err e = ERR_INIT;
    json_t *t = query_task(s, 1, &e), *lines, *line;

    if (!ok(t != NULL, "a task: %s", e.text))
        return;
    lines = json_object_get(t, "attempts");
    is(jsn_str(t, "reference"), "class Model: pass\n", "a task has its file");
    ok(json_array_size(lines) == 4, "and a line for each attempt");
    line = json_array_get(lines, 0);
    is(jsn_str(line, "error"), "x is not y", "a failed attempt has its error");
    ok(json_is_null(json_object_get(line, "speedup")) &&
           json_is_null(json_object_get(line, "evidence")),
       "and no speed-up");
    line = json_array_get(lines, 1);
    ok(json_is_null(json_object_get(line, "error")), "a correct one has none");
    is_number(line, "speedup", 1.5, "and a speed-up");
    is_number(line, "tokens_in", 30, "tokens are those of its calls");
    is_number(line, "tokens_out", 15, "in both directions");
    is_number(line, "usd_micro", 21, "so is the cost");
    is(json_string_value(json_array_get(json_object_get(line, "shown"), 1)),
       "first", "examples have names");
    ok(json_is_null(json_object_get(t, "attempt")), "none is shown in full");
    json_decref(t);
}

/* ---- the whole ---- */

static void test_json(struct store *s)
{
    struct err e = ERR_INIT;
    json_t *j, *one, *call;
    int64_t best;

    ok(query_task_best(s, 1, &best, &e) == 0 && best == 3,
       "the best attempt is the fittest that solved the task");
    ok(query_task_best(s, 2, &best, &e) == 0 && best == 0,
       "without attempts there is none");
    one = query_task_attempt(s, 1, 3, &e);
    if (!ok(one != NULL, "an attempt in full: %s", e.text))
        return;
    ok(json_array_size(json_object_get(one, "calls")) == 3, "with its calls");
    is(jsn_str(one, "code"), "x\x1b[2J\xe2\x80\xae\xef\xbf\xbd",
       "bytes that are not UTF-8 are replaced");
    is(jsn_str(json_array_get(json_object_get(one, "examples"), 0), "name"),
       "x\x1b[2J\xe2\x80\xae\xef\xbf\xbd", "in names, too");
    ok(json_is_null(json_object_get(one, "plan")), "what is not there is null");
    call = json_array_get(json_object_get(one, "calls"), 0);
    is(jsn_str(json_array_get(json_object_get(call, "prompt"), 1), "text"),
       "the guide. the task.", "a prompt is put together from its parts");
    ok(json_object_get(json_object_get(one, "record"), "timing"),
       "a record has its times");
    json_decref(one);
    ok(!query_task_attempt(s, 1, 9, &e) && e.kind == ERR_NONE,
       "an attempt that is not there is none");
    j = query_task_diff(s, 1, 3, &e);
    ok(json_integer_value(json_object_get(j, "before")) == 2,
       "an attempt follows the one before");
    is(jsn_str(j, "diff"), "", "equal programs do not differ");
    json_decref(j);
}

static void test_plan(const char *dir)
{
    char path[4096];
    struct buf out = BUF_INIT;

    snprintf(path, sizeof(path), "%s/run.db", dir);
    db_query(path,
             "EXPLAIN QUERY PLAN SELECT reply FROM call WHERE task = 1 "
             "ORDER BY purpose, asked, try",
             &out);
    ok(strstr(buf_str(&out), "SEARCH call USING INDEX call_task"),
       "the calls of a task are looked up: %s", buf_str(&out));
    buf_release(&out);
}

static void test_damage(const char *dir)
{
    char path[4096];
    struct err e = ERR_INIT;
    struct store *s;

    snprintf(path, sizeof(path), "%s/run.db", dir);
    db_exec(path, "DELETE FROM blob WHERE hash IN (SELECT record FROM verdict "
                  "WHERE task = 1)");
    s = query_open(dir, &e);
    if (!ok(s != NULL, "a damaged run is opened: %s", e.text))
        return;
    ok(!query_task(s, 1, &e) && e.kind == ERR_INPUT &&
           strstr(e.text, "run.db: text "),
       "a record that is gone is an error: %s", e.text);
    query_close(s);
}

SUITE(attempt_view)
{
    char *dir = scratch_dir();
    struct err e = ERR_INIT;
    struct store *s;

    ok(!query_open(dir, &e) && e.kind == ERR_INPUT,
       "a folder without a run is refused");
    put_run(dir);
    e = (struct err)ERR_INIT;
    s = query_open(dir, &e);
    if (!ok(s != NULL, "opened: %s", e.text))
        return;
    test_lines(s);
    test_json(s);
    query_close(s);
    test_plan(dir);
    test_damage(dir);
}
