/* test_run_view.c: a run put together from its rows: what a page or a report
 * reads, without SQL. */
#include "run/query.h"
#include "run/summary.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    struct row_shown shown = {task, attempt, 1, 1, 0.5, NULL};

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

static void test_record(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *record = run_view_record(v, run_view_attempt(&v->task[0], 1), &e);

    ok(json_is_array(json_object_get(record, "trace")) &&
           json_is_integer(json_object_get(record, "wall_s")),
       "a record has its trace and its times");
    json_decref(record);
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
    ok(m.verdict[VERDICT_CORRECT] == 1 && m.verdict[VERDICT_WRONG_VALUES] == 1,
       "attempts are counted by verdict");
    ok(m.untried == 1 && m.errors == 0, "a task without attempts is untried");
    summary_release(&m);
}

static void test_lists(struct run_view *v)
{
    struct err e = ERR_INIT;
    json_t *tasks = query_list(v->store, "run/tasks", NULL, &e),
           *entries = query_list(v->store, "run/examples", NULL, &e),
           *one = json_array_get(tasks, 0);

    ok(json_array_size(tasks) == 2 && jsn_int(one, "solved_at") == 2,
       "a task stands for the attempt that solved it: %s", e.text);
    ok(jsn_int(json_object_get(one, "verdicts"), "correct") == 1 &&
           json_is_null(json_object_get(one, "error")) &&
           !json_object_get(one, "piece") && !json_object_get(one, "why"),
       "its attempts are counted by verdict");
    is(json_string_value(json_array_get(json_object_get(one, "shown"), 0)),
       "a seed", "examples have names");
    one = json_object_get(json_object_get(json_array_get(entries, 0), "stages"),
                          "plan");
    ok(jsn_int(one, "shown") == 2 && jsn_int(one, "solved") == 1,
       "an example knows how often it helped");
    json_decref(tasks);
    json_decref(entries);
}

/* ---- refresh ---- */

static void put_row(struct buf *b, const struct row_call *c)
{
    buf_printf(b, " call %s %s %lld %s %lld\n", c->purpose, c->asked,
               (long long)c->try, c->state, (long long)c->cost_usd_micro);
}

/* All that a view says, so that two can be compared. */
static char *told(const struct run_view *v)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s, %zu events\n", run_states[v->state], v->events);
    for (size_t i = 0; i < v->calls; i++)
        put_row(&b, &v->call[i]);
    for (size_t i = 0; i < v->entries; i++)
        buf_printf(&b, "%s left %lld\n", v->entry[i].name,
                   (long long)v->entry[i].withdrawn);
    for (size_t i = 0; i < v->tasks; i++) {
        const struct run_task *t = &v->task[i];

        buf_printf(&b, "%s, %zu calls\n", t->row.id, t->calls);
        for (size_t c = 0; c < t->calls; c++)
            put_row(&b, &t->call[c]);
        for (size_t k = 0; k < t->attempts; k++) {
            const struct run_attempt *a = &t->attempt[k];

            buf_printf(&b, " %lld %s, %s, %zu calls, %zu shown\n",
                       (long long)a->row.attempt, a->row.verdict,
                       a->verdict ? a->verdict->verdict : "none", a->calls,
                       a->shown_len);
            for (size_t c = 0; c < a->calls; c++)
                put_row(&b, &a->call[c]);
        }
    }
    return buf_take(&b, NULL);
}

static void is_up_to_date(struct run_view *v, int want, const char *what)
{
    struct err e = ERR_INIT;
    struct run_view again;
    int rc = run_view_refresh(v, &e);
    char *got, *expected;

    if (!ok(rc == want, "%s: %d %s", what, rc, e.text) ||
        run_view_open(v->dir, &again, &e) < 0)
        return;
    got = told(v);
    expected = told(&again);
    is(got, expected, "and the view is the same as a new one");
    free(got);
    free(expected);
    run_view_close(&again);
}

static void sync_store(struct store *s)
{
    struct err e = ERR_INIT;

    ok(store_sync(s, &e) == 0, "rows are stored: %s", e.text);
}

static void unlink_run(const char *dir)
{
    char *file = scratch_text("%s/run.db", dir);

    ok(unlink(file) == 0, "the run is removed");
}

static void test_refresh(const char *dir)
{
    struct store *s = db_open(dir, STORE_OPEN, NULL);
    struct row_entry x = {.entry = 2,
                          .version = 2,
                          .origin = "run",
                          .name = "set/one",
                          .problem = "p",
                          .solution = "s"};
    struct row_call c = {.task = 1,
                         .attempt = 3,
                         .purpose = "code",
                         .asked = "1/3",
                         .try = 1,
                         .state = "open",
                         .reserved_usd_micro = 9,
                         .asked_at = 50};
    struct row_recheck again = {.pass = 1,
                                .problem = "p",
                                .solution = "s",
                                .under = "u",
                                .verdict = "v"};
    struct err e = ERR_INIT;
    struct run_view v;
    int64_t version;

    if (!ok(run_view_open(dir, &v, &e) == 0, "a run is followed: %s", e.text))
        return;
    is_up_to_date(&v, 0, "no news");
    put_call(s, 1, 1, "code", 16);
    put_attempt(s, 1, 1, "wrong_values");
    sync_store(s);
    is_up_to_date(&v, 1, "an attempt in the middle");
    ok(v.version == 2 && v.task[0].version == 1 && v.task[1].version == 2,
       "a task knows when it changed");
    store_call(s, &c);
    put_attempt(s, 1, 4, "no_code");
    sync_store(s);
    is_up_to_date(&v, 1, "an open call, and attempts out of order");
    c.state = "answered";
    c.cost_usd_micro = 8;
    c.asked_at = 5;
    store_call(s, &c);
    put_attempt(s, 1, 2, "correct");
    put_attempt(s, 0, 3, "correct");
    sync_store(s);
    is_up_to_date(&v, 1, "a call that is answered");
    put_task(s, 2, "set/three");
    put_task(s, 3, "set/four");
    put_call(s, 3, 1, "code", 60);
    put_call(s, -1, 0, "embed", 61);
    store_entry(s, &x);
    store_entry_leaves(s, 1, 2, "doubted");
    store_recheck(s, &again);
    store_event(s, "ended", -1, 0, "finished");
    sync_store(s);
    is_up_to_date(&v, 1, "tasks, entries, events and calls of no task");
    ok(v.state == RUN_FINISHED, "and how the run ended");
    version = v.version;
    is_up_to_date(&v, 0, "nothing after that");
    db_close(s);
    unlink_run(dir);
    ok(run_view_refresh(&v, &e) == 0, "a folder that is removed says nothing");
    put_run(dir);
    is_up_to_date(&v, 1, "a folder that was made again");
    ok(v.version > version && v.task[0].version == v.version,
       "all of its tasks are news");
    run_view_close(&v);
}

SUITE(run_view)
{
    char *dir = scratch_dir();
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
    test_record(&v);
    test_summary(&v);
    test_lists(&v);
    run_view_close(&v);
    test_refresh(dir);
}
