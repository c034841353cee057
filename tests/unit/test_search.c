/* The search: five methods, the same run whatever the machine does. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "mock.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS 11

struct outcome {
    enum search_end end;
    struct search_counts count;
    struct buf dump;
    size_t asked, judged, peak;
    bool failed;
    struct err e;
};

/* One whole run in a folder of its own, or one that is there already. */
static struct outcome run_in(const char *dir, const struct search_opts *o,
                             const struct mock_rule *rule, int64_t in_flight)
{
    struct mock m = {.rule = rule ? *rule : (struct mock_rule){0}};
    struct outcome r = {.failed = true};
    struct err late = ERR_INIT;

    buf_init(&r.dump, BUF_UNLIMITED);
    if (mock_open(&m, dir, o, in_flight, &r.e) == 0 &&
        mock_run(&m, &r.end, &r.e) == 0 &&
        mock_dump(m.store, &r.dump, &r.e) == 0)
        r.failed = false;
    if (m.search)
        r.count = search_count(m.search);
    r.asked = m.asked;
    r.judged = m.judged;
    r.peak = m.peak;
    if (mock_close(&m, &late) < 0)
        r.failed = true;
    if (r.failed)
        printf("# %s %s\n", r.e.text, late.text);
    return r;
}

static struct outcome run_new(const struct search_opts *o,
                              const struct mock_rule *rule, int64_t in_flight)
{
    char dir[] = "/tmp/monkeys-search-XXXXXX";
    struct err e = ERR_INIT;
    struct outcome r;

    if (!mkdtemp(dir) || mock_tasks(dir, TASKS, &e) < 0)
        BUG("no folder: %s", e.text);
    r = run_in(dir, o, rule, in_flight);
    fs_remove_tree(dir);
    return r;
}

/* ---- methods ---- */

static size_t expected_attempts(int64_t limit, size_t *solved)
{
    size_t attempts = 0;

    *solved = 0;
    for (int t = 0; t < TASKS; t++) {
        char id[32];
        int n = 0;
        bool right = false;

        snprintf(id, sizeof(id), "tasks/t%05d", t);
        while (n < limit && !right)
            right = mock_solves(id, ++n);
        attempts += (size_t)n;
        *solved += right;
    }
    return attempts;
}

static void test_methods(void)
{
    size_t solved, attempts = expected_attempts(5, &solved);

    for (const char *const *name = method_names; *name; name++) {
        struct search_opts o = mock_opts;
        bool two = strcmp(*name, "evolve") != 0 && strcmp(*name, "combined");
        struct outcome r;

        o.method = *name;
        r = run_new(&o, NULL, 8);
        ok(!r.failed && r.end == SEARCH_DONE, "%s comes to its end", *name);
        ok(r.count.solved == solved && r.count.attempts == attempts,
           "%s solves what can be solved, and stops there (%zu of %zu, %zu "
           "of %zu attempts)",
           *name, r.count.solved, solved, r.count.attempts, attempts);
        ok(r.asked == attempts * (two ? 2 : 1), "%s asks %s an attempt", *name,
           two ? "twice" : "once");
        buf_release(&r.dump);
    }
}

static void test_no_stop(void)
{
    struct search_opts o = mock_opts;
    struct outcome r;

    o.no_stop = true;
    r = run_new(&o, NULL, 8);
    ok(!r.failed && r.count.attempts == (size_t)TASKS * 5,
       "without stop every attempt is made");
    buf_release(&r.dump);
}

static void test_same_run(void)
{
    for (const char *const *name = method_names; *name; name++) {
        struct search_opts o = mock_opts;
        struct mock_rule slow = {.latency_ns = 300000};
        struct outcome one, many, more;

        o.method = *name;
        one = run_new(&o, NULL, 1);
        o.slots = 16;
        many = run_new(&o, &slow, 4);
        more = run_new(&o, &slow, 16);
        is(buf_str(&many.dump), buf_str(&one.dump),
           "1 and 4 calls at once give the same tables");
        is(buf_str(&more.dump), buf_str(&one.dump), "so do 16");
        ok(one.dump.len > 1000 && one.peak == 1 && more.peak >= 4,
           "%s: there are rows, and calls did overlap", *name);
        buf_release(&one.dump);
        buf_release(&many.dump);
        buf_release(&more.dump);
    }
}

/* ---- what goes wrong ---- */

static void reply_rubbish(const struct llm_request *r, struct buf *out,
                          void *arg)
{
    (void)arg;
    buf_printf(out, "I am sorry (%s).", r->key.stage);
}

static void test_no_code(void)
{
    struct mock_rule rule = {.reply = reply_rubbish};
    struct outcome r = run_new(&mock_opts, &rule, 8);

    ok(!r.failed && r.end == SEARCH_DONE &&
           r.count.verdict[VERDICT_NO_CODE] == (size_t)TASKS * 5 &&
           r.judged == 0,
       "an answer without code is an attempt, and nothing is verified");
    buf_release(&r.dump);
}

static void reply_the_same(const struct llm_request *r, struct buf *out,
                           void *arg)
{
    (void)arg;
    buf_printf(out, "```python\n# %d\nclass ModelNew:\n    pass\n```\n",
               r->key.attempt);
}

static const char *judge_wrong(const struct task *t, struct str code,
                               int attempt, void *arg)
{
    (void)t, (void)code, (void)attempt, (void)arg;
    return "wrong_values";
}

static void test_duplicates(void)
{
    struct mock_rule rule = {.reply = reply_the_same, .judge = judge_wrong};
    struct outcome r = run_new(&mock_opts, &rule, 8);

    ok(!r.failed && r.count.attempts == (size_t)TASKS * 5 && r.judged == TASKS,
       "the same code but for a comment is verified once a task");
    buf_release(&r.dump);
}

static enum send_outcome refuse_one(const struct llm_request *r, void *arg)
{
    (void)arg;
    return strcmp(r->key.task, "tasks/t00003") == 0 ? SEND_REFUSED
                                                    : SEND_ANSWERED;
}

static void test_set_aside(void)
{
    struct mock_rule rule = {.outcome = refuse_one};
    struct outcome r = run_new(&mock_opts, &rule, 8);

    ok(!r.failed && r.end == SEARCH_STUCK && r.count.aside == 1,
       "a task whose calls are refused is set aside");
    ok(!strstr(buf_str(&r.dump), "attempt 3 "),
       "and has no attempt: it is not the task's fault");
    buf_release(&r.dump);
}

/* ---- the reviewer ---- */

struct review_rule {
    size_t asked, repaired;
    bool rubbish; /* the first answer is no JSON */
};

/* Kernels of odd tasks are refused. */
static void reply_reviews(const struct llm_request *r, struct buf *out,
                          void *arg)
{
    struct review_rule *rule = arg;
    bool odd = (r->key.task[strlen(r->key.task) - 1] - '0') % 2;

    if (strcmp(r->key.stage, "review-repair") == 0)
        rule->repaired++;
    if (strncmp(r->key.stage, "review", 6) == 0) {
        rule->asked++;
        if (rule->rubbish && strcmp(r->key.stage, "review") == 0)
            buf_puts(out, "It looks fine to me.");
        else
            buf_printf(out,
                       "{\"score\": %s, \"summary\": \"s\", \"reasons\": "
                       "[\"it calls torch\"]}",
                       odd ? "0.2" : "0.9");
    } else if (strcmp(r->key.stage, "plan") == 0) {
        buf_puts(out, "A plan.");
    } else {
        buf_printf(out, "```python\nclass ModelNew:\n    n = %d\n```\n",
                   r->key.attempt);
    }
}

static void reply_as_twins(const struct llm_request *r, struct buf *out,
                           void *arg)
{
    (void)arg;
    if (strcmp(r->key.stage, "review") == 0)
        buf_printf(out,
                   "{\"score\": 0.9, \"summary\": \"%s\", \"reasons\": []}",
                   r->key.task);
    else
        buf_puts(out, "```python\nclass ModelNew:\n    pass\n```\n");
}

static const char *judge_right(const struct task *t, struct str code,
                               int attempt, void *arg)
{
    (void)t, (void)code, (void)attempt, (void)arg;
    return "correct";
}

static void test_reviewer(void)
{
    struct review_rule rule = {0};
    struct mock_rule mock = {
        .reply = reply_reviews, .judge = judge_right, .arg = &rule};
    struct search_opts o = mock_opts;
    struct outcome r;

    o.reviewer = "loop";
    o.attempts = 2;
    r = run_new(&o, &mock, 8);
    ok(!r.failed && r.count.solved == 6 && r.count.verdict[VERDICT_HACK] == 10,
       "in the loop a refused kernel is an attempt that failed (%zu solved)",
       r.count.solved);
    ok(rule.asked == 16, "each kernel is read once (%zu)", rule.asked);
    buf_release(&r.dump);
    rule = (struct review_rule){.rubbish = true};
    o.reviewer = "end";
    r = run_new(&o, &mock, 8);
    ok(!r.failed && r.count.solved == 11 && r.count.doubted == 5,
       "at the end both counts are told: %zu solved, %zu of them refused",
       r.count.solved, r.count.doubted);
    ok(rule.repaired == 11, "an answer that is no JSON is asked for once more");
    buf_release(&r.dump);
}

/* Both are asked about before either is answered; the answers differ. */
static void test_twins_reviewed(void)
{
    char dir[] = "/tmp/monkeys-search-XXXXXX", command[200];
    struct mock_rule rule = {.reply = reply_as_twins, .judge = judge_right};
    struct search_opts o = mock_opts;
    struct err e = ERR_INIT;
    struct outcome r;

    if (!mkdtemp(dir) || mock_tasks(dir, 1, &e) < 0)
        BUG("no folder: %s", e.text);
    snprintf(command, sizeof(command),
             "cp '%s/tasks/t00000.py' '%s/tasks/twin.py'", dir, dir);
    if (system(command) != 0)
        BUG("no twin");
    o.reviewer = "loop";
    r = run_in(dir, &o, &rule, 8);
    ok(!r.failed && r.end == SEARCH_DONE && r.count.solved == 2,
       "a kernel that two tasks have in common may be reviewed twice");
    buf_release(&r.dump);
    fs_remove_tree(dir);
}

static const char *judge_and_stop(const struct task *t, struct str code,
                                  int attempt, void *arg)
{
    struct mock *m = arg;

    (void)t, (void)code, (void)attempt;
    if (m->judged == 0)
        search_stop(m->search);
    return "correct";
}

static void test_stopped_before_review(void)
{
    char dir[] = "/tmp/monkeys-search-XXXXXX";
    struct mock m = {
        .rule = {.reply = reply_as_twins, .judge = judge_and_stop, .arg = &m}};
    struct mock_rule rule = {.reply = reply_as_twins, .judge = judge_right};
    struct search_opts o = mock_opts;
    enum search_end end;
    struct err e = ERR_INIT;
    struct outcome r;

    if (!mkdtemp(dir) || mock_tasks(dir, 1, &e) < 0)
        BUG("no folder: %s", e.text);
    o.reviewer = "loop";
    ok(mock_open(&m, dir, &o, 8, &e) == 0 && mock_run(&m, &end, &e) == 0 &&
           end == SEARCH_INTERRUPTED && m.asked == 2,
       "a run that is stopped asks no reviewer either (%zu)", m.asked);
    mock_close(&m, &e);
    r = run_in(dir, &o, &rule, 8);
    ok(!r.failed && r.end == SEARCH_DONE && r.asked == 1 && r.count.solved == 1,
       "it is asked when the run goes on, and nobody else is");
    buf_release(&r.dump);
    fs_remove_tree(dir);
}

/* ---- the cap ---- */

struct asked {
    int plans, codes;
};

static int count_answered(const void *row, void *arg)
{
    const struct row_call *r = row;
    struct asked *n = arg;

    n->plans +=
        strcmp(r->purpose, "plan") == 0 && strcmp(r->state, "answered") == 0;
    n->codes +=
        strcmp(r->purpose, "code") == 0 && strcmp(r->state, "answered") == 0;
    return 0;
}

static void test_budget(void)
{
    char dir[] = "/tmp/monkeys-search-XXXXXX";
    struct mock m = {
        .price = {.known = true, .input = 1000000, .output = 1000000}};
    struct llm_cost cap = {75000, BUDGET_NO_CAP};
    enum search_end end;
    struct err e = ERR_INIT;
    struct outcome r;
    struct mock_rule none = {0};
    struct asked n = {0};
    size_t first;

    if (!mkdtemp(dir) || mock_tasks(dir, TASKS, &e) < 0)
        BUG("no folder");
    budget_init(&m.budget, cap);
    ok(mock_open(&m, dir, &mock_opts, 8, &e) == 0 &&
           mock_run(&m, &end, &e) == 0 && end == SEARCH_NO_BUDGET,
       "the run ends when the budget does (%s)", e.text);
    ok(m.budget.spent.usd_micro > 0 &&
           m.budget.spent.usd_micro + m.budget.reserved.usd_micro <= 75000,
       "and has not passed it: %lld of 75000",
       (long long)m.budget.spent.usd_micro);
    ok(store_each(m.store, STORE_CALLS, count_answered, &n, &e) == 0 &&
           n.plans > 0 && n.plans == n.codes,
       "every plan that was paid for has its code (%d, %d)", n.plans, n.codes);
    ok(search_need(m.search).usd_micro >
           75000 - m.budget.spent.usd_micro - m.budget.reserved.usd_micro,
       "and it says what the next attempt may cost: %lld",
       (long long)search_need(m.search).usd_micro);
    first = m.asked;
    mock_close(&m, &e);
    r = run_in(dir, &mock_opts, &none, 8);
    ok(!r.failed && r.end == SEARCH_DONE && r.asked > 0 && first > 0,
       "with a higher one it goes on");
    buf_release(&r.dump);
    fs_remove_tree(dir);
}

SUITE(search)
{
    test_methods();
    test_no_stop();
    test_same_run();
    test_no_code();
    test_duplicates();
    test_set_aside();
    test_reviewer();
    test_twins_reviewed();
    test_stopped_before_review();
    test_budget();
}
