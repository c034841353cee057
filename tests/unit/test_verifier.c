/* test_verifier.c: what a candidate meets on its way to a verdict: the static rules,
 * a worker, the pack's hint; and who stops the loop. */
#include "verify/verifier.h"

#include "base/log.h"
#include "base/mem.h"
#include "pack_fixture.h"
#include "tap.h"
#include "verify/verdict.h"
#include "verify/verifying.h"

#include <stdlib.h>
#include <string.h>

struct bench {
    struct fixture fixture;
    struct pack *pack;
    struct task *task;
    struct loop *loop;
    struct verifier *verifier;
    struct home home;
    struct opt_list packs;
    struct verifier_opts opts;
    struct job_opts job;
    json_t *record; /* the last */
    int told, steps;
};

static struct task *make_task(const char *path)
{
    static const char source[] = "class Model: ...\n"
                                 "def get_inputs(): ...\n"
                                 "def get_init_inputs(): ...\n";
    struct err e = ERR_INIT;
    struct task *t = task_from(path, str_of(source), &e);

    if (!t)
        BUG("%s", e.text);
    return t;
}

static void begin(struct bench *b)
{
    static char worker[] = "tests/servers/mortal_worker.py",
                python[] = "python3";
    struct problems problems;
    struct err e = ERR_INIT;

    *b = (struct bench){0};
    fixture_open(&b->fixture);
    problems_init(&problems);
    b->pack = pack_load(&b->fixture.path, b->fixture.demo, &problems);
    problems_release(&problems);
    b->task = make_task("a/b");
    b->home = (struct home){b->fixture.root, worker, python};
    b->opts = (struct verifier_opts){.home = &b->home,
                                     .verifier = "local",
                                     .device = "cpu",
                                     .box = "none",
                                     .packs = &b->packs};
    b->job = (struct job_opts){
        .device = "cpu", .precision = "fp32", .protocol = "hardened"};
    b->loop = loop_new(&e);
    b->verifier = b->loop ? verifier_open(b->loop, &b->opts, &e) : NULL;
    if (!b->pack || !b->verifier)
        BUG("%s", e.text);
}

static void end(struct bench *b)
{
    verifier_close(b->verifier);
    loop_free(b->loop);
    json_decref(b->record);
    task_free(b->task);
    pack_free(b->pack);
}

typedef void record_fn(struct bench *b, const struct verifier_answer *a);

/* A question, and who hears the answer. */
struct ask {
    struct bench *b;
    const char *code;
    record_fn *fn;
};

static void on_record(struct bench *b, const struct verifier_answer *a)
{
    if (!a->record)
        BUG("%s", a->why);
    json_decref(b->record);
    b->record = json_deep_copy(a->record);
    b->told++;
}

static void ask_run(void *arg)
{
    struct ask *q = arg;
    struct bench *b = q->b;
    struct candidate c = {.pack = b->pack,
                          .task = b->task,
                          .code = str_of(q->code),
                          .job = &b->job};
    struct verifier_answer a = {0};
    struct err e = ERR_INIT;

    if (verifier_ask(b->verifier, &c, &a, &e) == 0)
        q->fn(b, &a);
    else if (e.kind)
        BUG("%s", e.text);
    else
        b->steps++; /* cancelled */
    verifier_answer_release(&a);
    free(q);
}

/* The worker's answer to a task is its sidecar. */
static void answer_with(struct bench *b, json_t *answer)
{
    json_decref(b->task->sidecar);
    b->task->sidecar = answer;
}

static struct co *judge(struct bench *b, const char *code, record_fn *fn)
{
    struct ask *q = xmalloc(sizeof(*q));

    *q = (struct ask){b, code, fn};
    return co_start(ask_run, q);
}

static bool waits_for(struct bench *b, int told)
{
    while (b->told < told)
        loop_run_for(b->loop, 5000000);
    return b->told == told;
}

static void test_rules(struct bench *b)
{
    judge(b, "not ( Python", on_record);
    ok(b->told == 1,
       "what the rules refuse is answered at once, and no worker is asked");
    is(jsn_str(b->record, "verdict"), "static_reject", "as static_reject");
}

static void on_refusal(struct bench *b, const struct verifier_answer *a)
{
    b->told++;
    ok(!a->record && strstr(a->why, "rules of truth"),
       "a worker of other rules of truth gives no verdict");
}

static void test_other_rules(struct bench *b, const char *good)
{
    answer_with(b, json_pack("{s:s, s:i}", "verdict", "correct", "rules",
                             VERDICT_RULES - 1));
    judge(b, good, on_refusal);
    ok(waits_for(b, 2), "and ends nothing else");
}

static void test_hint(struct bench *b, const char *good)
{
    answer_with(b, json_pack("{s:s, s:s, s:i}", "verdict", "compile_error",
                             "feedback", "shape 4 is not 8", "rules",
                             VERDICT_RULES));
    judge(b, good, on_record);
    ok(waits_for(b, 3), "an answer can be waited for");
    is(jsn_str(b->record, "feedback"),
       "shape 4 is not 8\nHint: make 4 equal to 8",
       "and has the pack's hint behind the feedback");
}

/* If the loop were stopped by the answer, this would not get to its end. */
static void step(void *arg)
{
    struct bench *b = arg;

    if (++b->steps == 5)
        loop_stop(b->loop);
    else
        loop_defer(b->loop, step, b);
}

static void on_record_step(struct bench *b, const struct verifier_answer *a)
{
    on_record(b, a);
    step(b);
}

static void test_loop(struct bench *b, const char *good)
{
    b->job.call_ms = 1; /* another question */
    judge(b, good, on_record_step);
    loop_run(b->loop);
    ok(b->steps == 5, "an answer does not stop a loop that others started");
}

static void on_gate(void *arg)
{
    ++*(int *)arg;
}

static void test_gate(struct bench *b)
{
    struct task *list[2] = {b->task, make_task("a/c")};
    struct collection tasks = {.task = list, .len = 2};
    char *why[2] = {NULL, NULL};
    struct err e = ERR_INIT;
    int steps = 0;
    struct gate_opts o = {.job = &b->job, .step = on_gate, .arg = &steps};

    answer_with(b, json_pack("{s:b, s:[s, s]}", "usable", 0, "reasons",
                             "constant", "not finite"));
    list[1]->sidecar = json_pack("{s:b}", "usable", 1);
    ok(gate_tasks(b->verifier, &tasks, &o, why, &e) == 0 && steps == 2,
       "the gate asks about every task");
    is(why[0], "constant; not finite", "what is refused has its reasons");
    ok(!why[1], "what passes has none");
    free(why[0]);
    task_free(list[1]);
}

static void test_cancelled(struct bench *b, const char *good)
{
    answer_with(b, json_pack("{s:s, s:i}", "verdict", "correct", "rules",
                             VERDICT_RULES));
    b->told = b->steps = 0;
    b->job.call_ms = 2; /* other questions */
    judge(b, good, on_record);
    b->job.call_ms = 3;
    co_cancel(judge(b, good, on_record));
    ok(b->steps == 1 && b->told == 0 && co_alive() == 1,
       "a coroutine that is cancelled does not wait for its verdict");
    ok(waits_for(b, 1) && co_alive() == 0, "one that is not has it");
    is(jsn_str(b->record, "verdict"), "correct", "as the worker gave it");
}

SUITE(verifier)
{
    static const char good[] = "@jit\ndef k(): return 1\n";
    struct bench b;

    begin(&b);
    test_rules(&b);
    test_other_rules(&b, good);
    test_hint(&b, good);
    test_loop(&b, good);
    test_gate(&b);
    test_cancelled(&b, good);
    end(&b);
}
