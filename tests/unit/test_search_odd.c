/* test_search_odd.c: searches that the machinery fails, that run out of money
 * or are stopped in the middle, and are gone on with: they end where one that
 * nobody disturbed does. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/spool.h"
#include "mock.h"
#include "scratch.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS 6

struct odd {
    struct mock m;
    struct search_opts o;
    const char *refused; /* calls of this task are refused */
    int64_t cap;         /* micro-dollars; 0: none */
    int64_t in_flight;
    size_t stop_at[2]; /* search_stop() after so many requests */
    size_t asked;
    struct buf dump;
    enum search_end end;
    struct search_counts count;
    int64_t owed; /* spent, and reserved by calls that are open */
    struct err e;
};

static char *make_dir(void)
{
    char *dir =
        xstrdup(access("/dev/shm", W_OK) == 0 ? "/dev/shm/monkeys-odd-XXXXXX"
                                              : "/tmp/monkeys-odd-XXXXXX");
    struct err e = ERR_INIT;

    if (!mkdtemp(dir) || mock_tasks(dir, TASKS, &e) < 0)
        BUG("no folder: %s", e.text);
    return dir;
}

static void remove_dir(char *dir)
{
    char command[300];

    snprintf(command, sizeof(command), "rm -r '%s'", dir);
    if (system(command) != 0)
        BUG("cannot remove %s", dir);
    free(dir);
}

/* ---- the model ---- */

static void on_reply(const struct llm_request *r, struct buf *out, void *arg)
{
    (void)arg;
    if (strcmp(r->key.stage, "plan") == 0)
        buf_puts(out, "A plan.");
    else if (strncmp(r->key.stage, "review", 6) == 0)
        buf_printf(out, "{\"score\": %s, \"summary\": \"s\", \"reasons\": []}",
                   r->key.attempt % 2 ? "0.2" : "0.9");
    else
        buf_printf(out,
                   "```python\nclass ModelNew:\n    task = \"%s\"\n"
                   "    attempt = %d\n```\n",
                   r->key.task, r->key.attempt);
}

static void stop_now(void *arg)
{
    struct odd *t = arg;

    search_stop(t->m.search);
}

static enum send_outcome on_asked(const struct llm_request *r, void *arg)
{
    struct odd *t = arg;

    t->asked++;
    for (size_t i = 0; i < 2; i++)
        if (t->asked == t->stop_at[i])
            loop_defer(t->m.loop, stop_now, t);
    return t->refused && strcmp(r->key.task, t->refused) == 0 ? SEND_REFUSED
                                                              : SEND_ANSWERED;
}

static const char *judge_right(const struct task *t, struct str code,
                               int attempt, void *arg)
{
    (void)t, (void)code, (void)attempt, (void)arg;
    return "correct";
}

/* ---- one life of a run ---- */

static struct odd odd_of(const char *method)
{
    struct odd t = {.o = mock_opts, .in_flight = 3};

    t.o.method = method;
    return t;
}

static int add_call(const void *row, void *arg)
{
    const struct row_call *r = row;

    *(int64_t *)arg += strcmp(r->state, "open") == 0 ? r->reserved_usd_micro
                                                     : r->cost_usd_micro;
    return 0;
}

/* True when it came to an end; the caller releases the dump. */
static bool live(struct odd *t, const char *dir)
{
    bool ended;
    struct err late = ERR_INIT;

    t->m.rule.reply = on_reply;
    t->m.rule.outcome = on_asked;
    t->m.rule.arg = t;
    if (t->cap) {
        t->m.price =
            (struct price){.known = true, .input = 1000000, .output = 1000000};
        budget_init(&t->m.budget, (struct llm_cost){t->cap, BUDGET_NO_CAP});
    }
    buf_init(&t->dump, BUF_UNLIMITED);
    ended = mock_open(&t->m, dir, &t->o, t->in_flight, &t->e) == 0 &&
            mock_run(&t->m, &t->end, &t->e) == 0 &&
            mock_dump(t->m.store, &t->dump, &t->e) == 0 &&
            store_each(t->m.store, STORE_CALLS, add_call, &t->owed, &t->e) == 0;
    t->count = search_count(t->m.search);
    if (mock_close(&t->m, &late) < 0 && ended)
        ended = false;
    if (!ended)
        printf("# %s %s\n", t->e.text, late.text);
    return ended;
}

/* ---- set aside ---- */

static void test_aside(const char *method)
{
    char *dir = make_dir();
    struct odd first = odd_of(method), second = odd_of(method);

    first.refused = "tasks/t00000"; /* the first of the run's order */
    first.o.batch = second.o.batch = 2;
    first.m.rule.judge = second.m.rule.judge = judge_right;
    ok(live(&first, dir) && first.end == SEARCH_STUCK,
       "%s: a task is set aside, others join the archive", method);
    ok(live(&second, dir) && second.end == SEARCH_DONE &&
           second.count.solved == TASKS,
       "… and when the run goes on it is solved");
    ok(strstr(buf_str(&second.dump), "run 0 1 tasks/t00000"),
       "… and joins the archive behind those that are in it");
    buf_release(&first.dump);
    buf_release(&second.dump);
    remove_dir(dir);
}

/* ---- nobody judges ---- */

static void test_dead(const char *method)
{
    char *dir = make_dir();
    struct odd first = odd_of(method), second = odd_of(method);
    size_t stages = strcmp(method, "evolve") == 0 ? 1 : 2;

    first.in_flight = second.in_flight = 1;
    first.o.batch = second.o.batch = 1;
    first.o.slots = second.o.slots = 1;
    first.m.rule.dead_after = 2;
    first.m.rule.judge = second.m.rule.judge = judge_right;
    ok(live(&first, dir) && first.end == SEARCH_STUCK &&
           first.count.aside == 1 && first.count.attempts == 2,
       "%s: when nobody judges any more, the run ends at the next candidate",
       method);
    ok(live(&second, dir) && second.end == SEARCH_DONE &&
           second.count.solved == TASKS,
       "… and goes on when somebody does");
    ok(first.asked == 3 * stages &&
           first.asked + second.asked == TASKS * stages,
       "… and what was answered is not asked again");
    buf_release(&first.dump);
    buf_release(&second.dump);
    remove_dir(dir);
}

/* ---- duplicates ---- */

static void reply_the_same(const struct llm_request *r, struct buf *out,
                           void *arg)
{
    (void)arg;
    buf_printf(out, "```python\n# %d\nclass ModelNew:\n    pass\n```\n",
               r->key.attempt);
}

static int same_fitness(const void *row, void *arg)
{
    const struct row_attempt *r = row;
    double *first = arg;

    if (r->attempt == 1)
        *first = r->fitness;
    return r->fitness != *first;
}

/* Speed counts without stop; the mock's kernels have a measured one. */
static void test_same_fitness(void)
{
    char *dir = make_dir();
    struct mock m = {.rule = {.reply = reply_the_same, .judge = judge_right}};
    struct search_opts o = mock_opts;
    struct err e = ERR_INIT;
    enum search_end end;
    double first = 0;

    o.method = "evolve";
    o.no_stop = true;
    ok(mock_open(&m, dir, &o, 3, &e) == 0 && mock_run(&m, &end, &e) == 0 &&
           m.judged == TASKS,
       "a kernel that comes again is judged once");
    ok(store_each(m.store, STORE_ATTEMPTS, same_fitness, &first, &e) == 0 &&
           first > 1,
       "and is as fit as it was");
    mock_close(&m, &e);
    remove_dir(dir);
}

/* ---- the reviewer ---- */

/* Money comes in small amounts, and the run is stopped again and again. */
static void test_reviewer(const char *method, const char *reviewer)
{
    char *whole = make_dir(), *dir = make_dir();
    struct odd calm = odd_of(method), t;
    size_t lives = 0, poor = 0, stopped = 0;
    bool good = true;

    calm.o.reviewer = reviewer;
    calm.m.rule.judge = judge_right;
    ok(live(&calm, whole) && calm.end == SEARCH_DONE,
       "%s, reviewer %s: comes to its end", method, reviewer);
    do {
        t = odd_of(method);
        t.o.reviewer = reviewer;
        t.m.rule.judge = judge_right;
        t.cap = 8000 + 7000 * (int64_t)lives;
        if (lives % 3 == 1)
            t.stop_at[0] = t.stop_at[1] = 3 + lives % 4;
        if (lives % 3 == 2)
            t.stop_at[0] = 2;
        good = live(&t, dir);
        poor += t.end == SEARCH_NO_BUDGET;
        stopped += t.end == SEARCH_INTERRUPTED;
        if (good && t.end == SEARCH_DONE)
            is(buf_str(&t.dump), buf_str(&calm.dump),
               "… and where money is short and it is stopped");
        buf_release(&t.dump);
    } while (good && t.end != SEARCH_DONE && lives++ < 200);
    ok(good && t.end == SEARCH_DONE && poor > 0 && stopped > 0,
       "… after %zu lives, %zu of them poor, %zu stopped", lives, poor,
       stopped);
    buf_release(&calm.dump);
    remove_dir(whole);
    remove_dir(dir);
}

/* ---- answers from others ---- */

static void answer(const char *spool, const char *question, struct err *e)
{
    json_t *v = jsn_read(question, e), *key = json_object_get(v, "key");
    struct llm_request r = {
        .key = {jsn_maybe(key, "task"), NULL, jsn_maybe(key, "stage"),
                (int)json_integer_value(json_object_get(key, "attempt"))}};
    struct buf b = BUF_INIT;
    struct send_result result = {.usage = {.input = 100, .output = 50}};

    on_reply(&r, &b, NULL);
    result.text = (struct str){buf_str(&b), b.len};
    if (spool_put_answer(spool, jsn_maybe(v, "id"), &result, e) < 0)
        BUG("%s", e->text);
    buf_release(&b);
    json_decref(v);
}

/* Answers what is asked in the folder; returns how many were new. */
static size_t answer_all(const char *spool)
{
    char *dir = scratch_path(spool, "requests"), id[33];
    struct fs_names names;
    struct err e = ERR_INIT;
    size_t n = 0;

    if (fs_list(dir, true, &names, &e) < 0)
        BUG("%s", e.text);
    for (size_t i = 0; i < names.len; i++) {
        char *question = scratch_path(dir, names.name[i]);

        snprintf(id, sizeof(id), "%.32s", names.name[i]);
        if (!spool_has_answer(spool, id)) {
            answer(spool, question, &e);
            n++;
        }
    }
    fs_names_release(&names);
    return n;
}

/* Codes of the first tasks are asked before the plans of others that wait
 * since the life before: those count all the same. */
static void test_held(void)
{
    char *dir = make_dir(), *spool = scratch_path(dir, "spool");

    for (int i = 0; i < 3; i++) {
        struct odd t = odd_of("sampling");
        bool ended;

        t.o.no_wait = true;
        t.o.slots = TASKS;
        t.m.spool = spool;
        t.in_flight = 0;
        t.cap = 120000;
        ended = live(&t, dir);
        ok(ended && t.end == SEARCH_WAITING && t.owed > t.cap / 4 &&
               t.owed <= t.cap,
           "what the folder may cost stays within the cap: %lld of %lld",
           (long long)t.owed, (long long)t.cap);
        buf_release(&t.dump);
        if (i == 0)
            answer_all(spool);
    }
    remove_dir(dir);
}

/* `in_flight` questions at a time, within `cap`: each life takes what was
 * answered and ends when the rest is asked. */
static void test_no_wait(const char *reviewer, int64_t in_flight, int64_t cap)
{
    char *whole = make_dir(), *dir = make_dir(),
         *spool = scratch_path(dir, "spool");
    struct odd calm = odd_of("sampling"), t = calm;
    size_t lives = 0;
    bool good = true;

    calm.o.reviewer = reviewer;
    calm.m.rule.judge = judge_right;
    ok(live(&calm, whole) && calm.end == SEARCH_DONE,
       "reviewer %s: comes to its end", reviewer);
    do {
        buf_release(&t.dump);
        t = odd_of("sampling");
        t.o.reviewer = reviewer;
        t.o.no_wait = true;
        t.m.rule.judge = judge_right;
        t.m.spool = spool;
        t.in_flight = in_flight;
        t.cap = cap;
        good = live(&t, dir);
    } while (good && t.end == SEARCH_WAITING && answer_all(spool) > 0 &&
             lives++ < 100);
    ok(good && t.end == SEARCH_DONE && lives > 1,
       "… and through a folder, in %zu lives, without a wait", lives);
    is(buf_str(&t.dump), buf_str(&calm.dump), "… with the same tables");
    buf_release(&t.dump);
    buf_release(&calm.dump);
    remove_dir(whole);
    remove_dir(dir);
}

SUITE(search_odd)
{
    log_set_level(LOG_QUIET);
    test_aside("monkeys");
    test_aside("combined");
    test_aside("sampling");
    test_dead("monkeys");
    test_dead("evolve");
    test_same_fitness();
    test_reviewer("monkeys", "loop");
    test_reviewer("evolve", "loop");
    test_reviewer("sampling", "end");
    test_held();
    test_no_wait("off", 0, 0);
    test_no_wait("loop", 3, 0);
    test_no_wait("end", 0, 0);
    test_no_wait("off", 0, 120000);
}
