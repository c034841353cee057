/* test_run_view.c: a run put together from its rows: what a page or a report
 * reads, without SQL. */
#include "base/mem.h"
#include "run/summary.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void suite_run_view(void);

static const char program[] = "import torch\n"
                              "class Model(torch.nn.Module):\n"
                              "    def forward(self, x):\n"
                              "        return x\n"
                              "def get_inputs():\n"
                              "    return []\n"
                              "def get_init_inputs():\n"
                              "    return []\n";

static void put_task(struct store *s, int64_t ord, const char *id)
{
    char source[HASH_HEX];
    struct row_task r = {
        .ord = ord, .id = id, .hash = "h", .source = source, .path = "a/b.py"};

    store_blob(s, STR_LIT(program), source);
    store_task(s, &r);
}

static void put_attempt(struct store *s, int64_t task, int64_t attempt,
                        const char *verdict)
{
    bool good = strcmp(verdict, "correct") == 0;
    char code[HASH_HEX], record[HASH_HEX];
    struct row_attempt a = {.task = task,
                            .attempt = attempt,
                            .method = "monkeys",
                            .retrieval = "similar",
                            .island = -1,
                            .code = code,
                            .stage = "done",
                            .verdict = verdict,
                            .solved = good};
    struct row_verdict v = {.task = task,
                            .attempt = attempt,
                            .verdict = verdict,
                            .stage = "done",
                            .evidence = good ? "E3" : "E0",
                            .record = record,
                            .times = "{\"wall_s\":2}"};
    struct row_shown shown = {task, attempt, 1, 1, 0.5};

    store_blob(s, STR_LIT("class ModelNew: pass\n"), code);
    store_blob(s, STR_LIT("{\"verdict\":\"x\",\"trace\":[1]}"), record);
    store_verdict(s, &v);
    store_attempt(s, &a);
    store_shown(s, &shown);
}

static void put_call(struct store *s, int64_t task, int64_t attempt,
                     const char *purpose, int64_t at)
{
    char asked[64];
    struct row_call c = {.task = task,
                         .attempt = attempt,
                         .purpose = purpose,
                         .asked = asked,
                         .try = 1,
                         .state = "answered",
                         .input = 10,
                         .output = 5,
                         .cost_usd_micro = 7,
                         .asked_at = at,
                         .answered_at = at + 1};

    snprintf(asked, sizeof(asked), "%lld/%lld", (long long)task,
             (long long)attempt);
    store_call(s, &c);
}

static void put_run(const char *dir)
{
    struct store *s = db_open(dir, STORE_NEW, NULL);
    char blob[HASH_HEX];
    struct row_entry x = {.entry = 1,
                          .version = 1,
                          .origin = "seed",
                          .task = -1,
                          .name = "a seed",
                          .task_hash = "h",
                          .problem = blob,
                          .solution = blob};

    store_set(s, "method", "monkeys");
    store_blob(s, STR_LIT("text"), blob);
    put_task(s, 0, "set/one");
    put_task(s, 1, "set/two");
    store_entry(s, &x);
    put_call(s, 0, 1, "plan", 10);
    put_call(s, 0, 1, "code", 20);
    put_attempt(s, 0, 1, "wrong_values");
    put_call(s, 0, 2, "plan", 30);
    put_call(s, 0, 2, "code", 40);
    put_attempt(s, 0, 2, "correct");
    put_call(s, 1, 1, "plan", 15); /* under way */
    store_event(s, "begun", -1, 0, "process 1");
    db_close(s);
}

static void test_rows(struct run_view *v)
{
    struct run_task *t = run_view_task(v, "set/one");
    struct run_attempt *a = t ? run_view_attempt(t, 2) : NULL;

    ok(v->tasks == 2 && t == &v->task[0], "tasks are found by their id");
    ok(t && t->attempts == 2 && t->calls == 4, "a task has its attempts");
    ok(a && strcmp(a->row.verdict, "correct") == 0 && a->verdict &&
           strcmp(a->verdict->evidence, "E3") == 0,
       "an attempt has its verdict");
    ok(a && a->calls == 2 && strcmp(a->call[0].purpose, "plan") == 0 &&
           strcmp(a->call[1].purpose, "code") == 0,
       "and its calls, in the order of asking");
    ok(a && a->shown_len == 1 && a->shown[0].entry == 1, "and its examples");
    t = run_view_task(v, "set/two");
    ok(t && t->attempts == 0 && t->calls == 1,
       "a task has also the calls of the attempt under way");
    ok(!run_view_task(v, "set/three") && !run_view_attempt(t, 1),
       "what is not there is not found");
    is(run_view_fact(v, "method"), "monkeys", "facts are told by name");
    is(run_view_fact(v, "model"), "", "what is not known is empty");
}

static void test_texts(struct run_view *v)
{
    struct run_attempt *a = run_view_attempt(&v->task[0], 1);
    struct err e = ERR_INIT;
    struct task *t;
    json_t *record;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    ok(run_view_text(v, a->row.code, &b, &e) == 0,
       "a text is read by its hash");
    is(buf_str(&b), "class ModelNew: pass\n", "as it was stored");
    buf_release(&b);
    record = run_view_record(v, a, &e);
    ok(json_is_array(json_object_get(record, "trace")) &&
           json_is_integer(json_object_get(record, "wall_s")),
       "a record has its trace and its times");
    json_decref(record);
    t = run_view_program(v, &v->task[1], &e);
    ok(t && strcmp(t->id, "set/two") == 0 && strcmp(t->source, program) == 0,
       "a task is what it was");
    if (t)
        task_free(t);
}

static void test_summary(struct run_view *v)
{
    struct err e = ERR_INIT;
    struct summary m;

    if (!ok(summary_make(v, &m, &e) == 0, "a summary: %s", e.text))
        return;
    ok(m.tasks == 2 && m.solved == 1 && m.attempts == 2 && m.calls == 5,
       "a summary counts tasks, attempts and calls");
    ok(m.usd_micro == 35 && m.assumed_usd_micro == 0, "and what they cost");
    ok(m.task[0].solved_at == 2 && m.task[0].shown_len == 1,
       "a task stands for the attempt that solved it");
    ok(m.task[0].count[VERDICT_CORRECT] == 1 &&
           m.task[0].count[VERDICT_WRONG_VALUES] == 1 && !m.task[0].error,
       "its attempts are counted by verdict");
    ok(m.untried == 1 && m.errors == 0, "a task without attempts is untried");
    is(m.task[0].shown[0], "a seed", "examples have names");
    ok(m.entry[0].count[0].shown == 2 && m.entry[0].count[0].solved == 1,
       "an example knows how often it helped");
    summary_release(&m);
}

void suite_run_view(void)
{
    char *dir = db_dir();
    struct err e = ERR_INIT;
    struct run_view v;

    ok(run_view_open(dir, &v, &e) < 0 && e.kind == ERR_INPUT,
       "a folder without a run is refused");
    put_run(dir);
    e = (struct err)ERR_INIT;
    if (!ok(run_view_open(dir, &v, &e) == 0, "a run is opened: %s", e.text))
        return;
    ok(v.state == RUN_KILLED, "one that began, and is not there, was killed");
    test_rows(&v);
    test_texts(&v);
    test_summary(&v);
    run_view_close(&v);
    db_rmdir(dir);
}
