/* test_store.c: what goes in comes out, in order, once, or the file says why. */
#include "io/co.h"
#include "store/db_schema.h"
#include "store/row.h"

#include "base/mem.h"
#include "fds.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows, there and back ---- */

static const struct row_task task = {
    3,        "level1/19_ReLU", "abc",        "def",
    NULL,     "relu\nsum",      NULL,         "partition",
    "coarse", "scores",         "coarse/q\n", "level1/19_ReLU\n",
    2};
static const struct row_call call = {.task = 3,
                                     .attempt = 1,
                                     .purpose = "plan",
                                     .asked = "q",
                                     .try = 1,
                                     .state = "open",
                                     .prompt = "p",
                                     .prompt_hash = "ph",
                                     .reserved_usd_micro = 900,
                                     .reserved_tokens = 4000,
                                     .asked_at = 17};
static const struct row_call answered = {.task = 3,
                                         .attempt = 1,
                                         .purpose = "plan",
                                         .asked = "q",
                                         .try = 1,
                                         .state = "answered",
                                         .prompt = "p",
                                         .prompt_hash = "ph",
                                         .reply = "r",
                                         .thought = "t",
                                         .finish = "stop",
                                         .model = "m",
                                         .input = 1,
                                         .cached = 2,
                                         .output = 3,
                                         .reasoning = 4,
                                         .estimated = true,
                                         .cost_usd_micro = 5,
                                         .cost_tokens = 6,
                                         .assumed_usd_micro = 2,
                                         .requests = 7,
                                         .wall_us = 8,
                                         .asked_at = 17,
                                         .answered_at = 25};
static const struct row_attempt attempt = {
    3,    1,     "monkeys",      2,    1,   9, "similar", 0, -1, "pl", "co",
    "ch", "ran", "wrong_values", NULL, 0.1, 0, false};
static const struct row_shown shown = {3, 1, 1, 7, 0.123457, "piece"};
static const struct row_verdict verdict = {
    3,    1,     "wrong_values", "ran",       "E0",
    true, false, 1e-300,         (double)NAN, (double)INFINITY,
    "f",  "rec", "{\"run\":1}",  77,          99};
static const struct row_entry entry = {
    7, 4, "run", 3, 1, "level1/19_ReLU", "abc", "p", NULL, "s", "E3", "g", 0};
static const struct row_review review = {"h", 0.75, "rep"};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int check_task(const void *row, void *arg)
{
    const struct row_task *r = row;

    *(int *)arg += r->ord == task.ord && same(r->id, task.id) &&
                   same(r->hash, task.hash) && same(r->source, task.source) &&
                   same(r->path, NULL) && same(r->ops, task.ops) &&
                   same(r->skipped, NULL) && same(r->kind, task.kind) &&
                   same(r->level, task.level) && same(r->title, task.title) &&
                   same(r->needs, task.needs) &&
                   same(r->parents, task.parents) && r->depth == 2;
    return 0;
}

static int check_call(const void *row, void *arg)
{
    const struct row_call *r = row;
    const struct row_call *a = &answered;

    *(int *)arg +=
        r->task == 3 && r->attempt == 1 && same(r->purpose, a->purpose) &&
        same(r->asked, a->asked) && r->assumed_usd_micro == 2 && r->try == 1 &&
        same(r->state, a->state) && same(r->prompt, a->prompt) &&
        same(r->prompt_hash, a->prompt_hash) && same(r->reply, a->reply) &&
        same(r->thought, a->thought) && same(r->finish, a->finish) &&
        same(r->model, a->model) && same(r->error, NULL) && r->input == 1 &&
        r->cached == 2 && r->output == 3 && r->reasoning == 4 && r->estimated &&
        r->reserved_usd_micro == 0 && r->reserved_tokens == 0 &&
        r->cost_usd_micro == 5 && r->cost_tokens == 6 && r->requests == 7 &&
        r->wall_us == 8 && r->asked_at == 17 && r->answered_at == 25;
    return 0;
}

static int check_attempt(const void *row, void *arg)
{
    const struct row_attempt *r = row;
    const struct row_attempt *a = &attempt;

    *(int *)arg +=
        r->task == 3 && r->attempt == 1 && same(r->method, a->method) &&
        r->iteration == 2 && r->batch == 1 && r->archive_version == 9 &&
        same(r->retrieval, a->retrieval) && r->parent == 0 && r->island == -1 &&
        same(r->plan, a->plan) && same(r->code, a->code) &&
        same(r->code_hash, a->code_hash) && same(r->stage, a->stage) &&
        same(r->verdict, a->verdict) && same(r->rule, NULL) &&
        r->fitness == a->fitness && r->same_as == 0 && !r->solved;
    return 0;
}

static int check_shown(const void *row, void *arg)
{
    const struct row_shown *r = row;

    *(int *)arg += r->task == 3 && r->attempt == 1 && r->rank == 1 &&
                   r->entry == 7 && r->cosine == shown.cosine &&
                   same(r->reason, "piece");
    return 0;
}

static int check_verdict(const void *row, void *arg)
{
    const struct row_verdict *r = row;
    const struct row_verdict *v = &verdict;

    *(int *)arg +=
        r->task == 3 && r->attempt == 1 && same(r->verdict, v->verdict) &&
        same(r->stage, v->stage) && same(r->evidence, v->evidence) &&
        r->compiled && !r->kernelbench_pass && r->max_abs == v->max_abs &&
        isnan(r->max_rel) && isinf(r->error_ratio) &&
        same(r->feedback, v->feedback) && same(r->record, v->record) &&
        same(r->times, v->times) && r->wall_us == 77 && r->judged_at == 99;
    return 0;
}

static int check_entry(const void *row, void *arg)
{
    const struct row_entry *r = row;
    const struct row_entry *x = &entry;

    if (r->entry == 8) {
        *(int *)arg += 10 * (r->withdrawn == 6);
        return 0;
    }
    *(int *)arg += r->entry == 7 && r->version == 4 && r->withdrawn == 0 &&
                   same(r->origin, x->origin) && r->task == 3 &&
                   r->attempt == 1 && same(r->name, x->name) &&
                   same(r->task_hash, x->task_hash) &&
                   same(r->problem, x->problem) && same(r->plan, NULL) &&
                   same(r->solution, x->solution) &&
                   same(r->evidence, x->evidence) && same(r->ported, x->ported);
    return 0;
}

static int check_review(const void *row, void *arg)
{
    const struct row_review *r = row;

    *(int *)arg +=
        same(r->hash, "h") && r->score == 0.75 && same(r->reply, "rep");
    return 0;
}

static int check_vector(const void *row, void *arg)
{
    const struct row_vector *r = row;

    *(int *)arg += same(r->source, "hash/1") && same(r->hash, "t1") &&
                   r->dim == 3 && r->v[0] == 0.5F && r->v[2] == -2.0F;
    return 0;
}

/* Their attempts, as the digits of a number. */
static int64_t check_events(struct store *s)
{
    struct store_list l = {0};
    struct err e = ERR_INIT;
    struct arena a = {0};
    int64_t n = 0;

    ok(store_list(s, STORE_EVENTS, STORE_ALL, &l, &a, &e) == 0,
       "events are listed");
    for (size_t i = 0; i < l.len; i++) {
        const struct row_event *x = (const struct row_event *)l.row + i;

        n = n * 10 + x->attempt;
        if (!same(x->kind, "infra") || x->task != 3 || !same(x->text, "why") ||
            x->at <= (int64_t)1600000000 * 1000000)
            n = -1;
    }
    free(l.row);
    arena_release(&a);
    return n;
}

static void put_all(struct store *s)
{
    static const float v[] = {0.5F, 1, -2};
    struct row_entry second = entry;

    second.entry = 8;
    store_set(s, "seed", "42");
    store_task(s, &task);
    store_call(s, &answered);
    store_attempt(s, &attempt);
    store_shown(s, &shown);
    store_verdict(s, &verdict);
    store_entry(s, &entry);
    store_entry(s, &second);
    store_entry_leaves(s, 8, 6, "refused");
    store_review(s, &review);
    store_vector(s, &(struct row_vector){"hash/1", "t1", v, 3});
    store_vector(s, &(struct row_vector){"other", "t1", v, 2});
}

static void check_all(struct store *s, const char *when)
{
    struct err e = ERR_INIT;
    struct buf text = {.limit = 100};
    int n = 0, entries = 0;

    ok(store_get(s, "seed", &text, &e) == 1 && same(buf_str(&text), "42") &&
           store_get(s, "sede", &text, &e) == 0,
       "facts, %s", when);
    store_each(s, STORE_TASKS, check_task, &n, &e);
    store_each(s, STORE_CALLS, check_call, &n, &e);
    store_each(s, STORE_ATTEMPTS, check_attempt, &n, &e);
    store_each(s, STORE_SHOWN, check_shown, &n, &e);
    store_each(s, STORE_VERDICTS, check_verdict, &n, &e);
    store_each(s, STORE_REVIEWS, check_review, &n, &e);
    store_each(s, STORE_VECTORS, check_vector, &n, &e);
    ok(n == 7 && e.kind == ERR_NONE, "every row as it was given, %s (%d)", when,
       n);
    store_each(s, STORE_ENTRIES, check_entry, &entries, &e);
    ok(entries == 11, "an entry, and one that left, %s", when);
    buf_release(&text);
}

static void test_rows(void)
{
    char *dir = scratch_dir();
    struct store *s = db_open(dir, STORE_NEW, NULL);
    struct err e = ERR_INIT;
    int64_t mode = 0;

    store_call(s, &call);
    put_all(s);
    ok(store_sync(s, &e) == 0, "rows are written");
    check_all(s, "while it is open");
    put_all(s);
    ok(store_sync(s, &e) == 0, "the same rows again are passed over");
    ok(store_number(store_writing(s), "", "PRAGMA synchronous", &mode, &e) ==
               0 &&
           mode == 2,
       "a commit waits for the disk");
    store_event(s, "infra", 3, 1, "why");
    store_event(s, "infra", 3, 2, "why");
    db_close(s);
    s = db_open(dir, STORE_OPEN, NULL);
    store_event(s, "infra", 3, 3, "why");
    store_sync(s, &e);
    check_all(s, "after opening it again");
    ok(check_events(s) == 123, "events in their order, across runs");
    db_close(s);
    s = db_open(dir, STORE_READ, NULL);
    check_all(s, "opened for reading");
    ok(store_sync(s, &e) == 0, "nothing waits there");
    db_close(s);
}

/* ---- readings ---- */

static int count_up_to_two(const void *row, void *arg)
{
    (void)row;
    return ++*(int *)arg == 2 ? 7 : 0;
}

struct nested {
    struct store *s;
    int64_t last;
    int inner;
};

static int read_inside(const void *row, void *arg)
{
    const struct row_shown *r = row;
    struct nested *x = arg;
    struct err e = ERR_INIT;
    int n = 0;

    if (r->rank <= x->last)
        return 1;
    x->last = r->rank;
    x->inner += store_each(x->s, STORE_SHOWN, count_up_to_two, &n, &e) == 7;
    store_shown(x->s, &(struct row_shown){9, 9, r->rank, 1, -2, NULL});
    return store_sync(x->s, &e);
}

static void test_reading(void)
{
    char *dir = scratch_dir();
    struct store *s = db_open(dir, STORE_NEW, NULL);
    struct nested x = {.s = s};
    struct err e = ERR_INIT;
    int n = 0;

    for (int64_t i = 5; i >= 1; i--)
        store_shown(s, &(struct row_shown){1, 1, i, i, -2, NULL});
    store_sync(s, &e);
    ok(store_each(s, STORE_SHOWN, count_up_to_two, &n, &e) == 7 && n == 2,
       "a callback ends the reading with its own number");
    ok(store_each(s, STORE_SHOWN, read_inside, &x, &e) == 0 && x.last == 5 &&
           x.inner == 5,
       "rows come by key; a reading inside a reading, and writing, go well");
    db_close(s);
}

/* ---- waiting ---- */

struct waiter {
    struct store *s;
    struct loop *loop;
    char order[16];
    int errors;
    int64_t seen; /* rows readable in the first callback */
};

static int count_shown(const void *row, void *arg)
{
    (void)row;
    ++*(int64_t *)arg;
    return 0;
}

static void note(struct waiter *w, const struct err *e, char c)
{
    w->order[strlen(w->order)] = c;
    w->errors += e != NULL;
}

static void told_b(const struct err *e, void *arg)
{
    note(arg, e, 'b');
}

static void told_c(const struct err *e, void *arg)
{
    note(arg, e, 'c');
}

static void told_a(const struct err *e, void *arg)
{
    struct waiter *w = arg;
    struct err ignored;

    note(w, e, 'a');
    store_each(w->s, STORE_SHOWN, count_shown, &w->seen, &ignored);
    store_shown(w->s, &(struct row_shown){1, 3, 1, 1, 0, NULL});
    store_after(w->s, told_c, w);
}

static void test_waiting(void)
{
    char *dir = scratch_dir();
    struct err e = ERR_INIT;
    struct waiter w = {.loop = loop_new(&e)};

    w.s = db_open(dir, STORE_NEW, w.loop);
    store_after(w.s, told_b, &w);
    loop_run(w.loop);
    is(w.order, "b", "who waits for nothing is told");
    memset(w.order, 0, sizeof(w.order));
    for (int i = 1; i <= 100; i++)
        store_shown(w.s, &(struct row_shown){1, 1, i, i, -2, NULL});
    store_after(w.s, told_a, &w);
    store_shown(w.s, &(struct row_shown){1, 2, 1, 1, 0, NULL});
    store_after(w.s, told_b, &w);
    loop_run(w.loop);
    is(w.order, "abc", "in the order of asking, from inside a callback, too");
    ok(w.errors == 0, "all is well");
    ok(w.seen >= 100, "what was waited for can be read then");
    store_after(w.s, told_a, &w);
    db_close(w.s);
    loop_run(w.loop);
    is(w.order, "abc", "after the end nobody is told");
    loop_free(w.loop);
}

static void wait_here(void *arg)
{
    struct waiter *w = arg;
    struct err e = ERR_INIT;
    int rc = store_wait(w->s, &e);

    note(w, rc < 0 && e.kind != ERR_INTERRUPT ? &e : NULL, rc < 0 ? 'x' : 'w');
}

static void test_coroutine_waits(void)
{
    char *dir = scratch_dir();
    struct err e = ERR_INIT;
    struct waiter w = {.loop = loop_new(&e)};

    w.s = db_open(dir, STORE_NEW, w.loop);
    store_shown(w.s, &(struct row_shown){1, 1, 1, 1, -2, NULL});
    co_cancel(co_start(wait_here, &w));
    is(w.order, "x",
       "a coroutine that is cancelled does not wait for the disk");
    co_start(wait_here, &w);
    loop_run(w.loop);
    is(w.order, "xw", "one that is not goes on when its rows are there");
    store_shown(w.s, &(struct row_shown){1, 1, 1, 2, -2, NULL});
    co_start(wait_here, &w);
    loop_run(w.loop);
    ok(strcmp(w.order, "xwx") == 0 && w.errors == 1,
       "or when they cannot be written");
    co_cancel(co_start(wait_here, &w));
    store_close(w.s, &e);
    ok(co_alive() == 0, "the store may be closed before it has told");
    loop_free(w.loop);
}

/* ---- what fails ---- */

static void test_conflict(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    char *want = scratch_text("%s: BUG: shown with task 1 attempt 1 rank 1 is "
                              "already stored with other contents",
                              path);
    struct err e = ERR_INIT;
    struct waiter w = {.loop = loop_new(&e)};

    w.s = db_open(dir, STORE_NEW, w.loop);
    store_shown(w.s, &(struct row_shown){1, 1, 1, 1, -2, NULL});
    store_after(w.s, told_b, &w);
    store_sync(w.s, &e);
    store_shown(w.s, &(struct row_shown){1, 1, 1, 2, -2, NULL});
    store_after(w.s, told_c, &w);
    loop_run(w.loop);
    ok(strcmp(w.order, "bc") == 0 && w.errors == 1,
       "a key that says something else fails, and only who waited for it "
       "hears");
    store_shown(w.s, &(struct row_shown){1, 2, 1, 1, -2, NULL});
    ok(store_sync(w.s, &e) < 0, "after a failure nothing is written");
    is(e.text, want, "and the first failure is told");
    ok(store_close(w.s, &e) < 0, "by the end as well");
    is(e.text, want, "the same one");
    ok(db_number(path, "SELECT count(*) FROM shown") == 1,
       "what was durable before stays, nothing comes after it");
    loop_free(w.loop);
}

static bool fails(void (*put)(struct store *), const char *what)
{
    char *dir = scratch_dir();
    struct store *s = db_open(dir, STORE_NEW, NULL);
    struct err e = ERR_INIT;
    bool bad;

    put(s);
    bad = store_close(s, &e) < 0 && strstr(e.text, what);
    if (!bad)
        printf("# %s\n", e.text);
    return bad;
}

static void reopen_answered(struct store *s)
{
    store_call(s, &answered);
    store_call(s, &call);
}

static void change_fact(struct store *s)
{
    store_set(s, "seed", "1");
    store_set(s, "seed", "2");
}

static void no_id(struct store *s)
{
    store_task(s, &(struct row_task){.ord = 1, .hash = "x", .source = "y"});
}

static void other_vector(struct store *s)
{
    store_vector(s, &(struct row_vector){"m", "h", (float[]){1, 2}, 2});
    store_vector(s, &(struct row_vector){"m", "h", (float[]){1, 3}, 2});
}

static void test_mistakes(void)
{
    ok(fails(reopen_answered, "call with purpose plan asked q try 1"),
       "an answered call never changes");
    ok(fails(change_fact, "fact with name seed"), "a fact is set once");
    ok(fails(no_id, "task.id"), "what must be there is missed by name");
    ok(fails(other_vector, "vector with source m hash h"),
       "bytes are compared");
}

static void later_times(struct store *s)
{
    struct row_verdict later = verdict;

    later.times = "{\"run\":2}";
    later.judged_at = 100;
    store_verdict(s, &verdict);
    store_verdict(s, &later);
}

static void test_times_may_differ(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    struct store *s = db_open(dir, STORE_NEW, NULL);

    later_times(s);
    db_close(s);
    ok(db_number(path, "SELECT judged_at FROM verdict_time") == 99,
       "a row that differs in times alone is passed over");
}

/* ---- blobs ---- */

static void test_blobs(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    struct store *s = db_open(dir, STORE_NEW, NULL);
    char a[HASH_HEX], b[HASH_HEX], none[HASH_HEX], want[HASH_HEX];
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT, small = {.limit = 3};

    hash_hex("te\0xt", 5, want);
    store_blob(s, (struct str){"te\0xt", 5}, a);
    store_blob(s, (struct str){"te\0xt", 5}, b);
    store_blob(s, STR_LIT(""), none);
    ok(strcmp(a, want) == 0 && strcmp(a, b) == 0, "a text's name is its hash");
    store_sync(s, &e);
    ok(store_read_blob(s, a, &out, &e) == 0 && out.len == 5 &&
           memcmp(out.data, "te\0xt", 5) == 0,
       "a text comes back");
    ok(store_read_blob(s, none, &out, &e) == 0 && out.len == 5,
       "and an empty one");
    ok(store_read_blob(s, a, &small, &e) < 0 && e.kind == ERR_LIMIT,
       "not past the reader's limit");
    a[0] = a[0] == 'f' ? 'e' : 'f';
    ok(store_read_blob(s, a, &out, &e) < 0 && strstr(e.text, "is missing"),
       "one that is not there is an error");
    db_close(s);
    s = db_open(dir, STORE_OPEN, NULL);
    store_blob(s, (struct str){"te\0xt", 5}, a);
    db_close(s);
    ok(db_number(path, "SELECT count(*) FROM blob") == 2,
       "each is stored once, in a later run, too");
    db_exec(path, "UPDATE blob SET data = (SELECT data FROM blob WHERE "
                  "size = 0) WHERE size = 5");
    s = db_open(dir, STORE_READ, NULL);
    ok(store_read_blob(s, b, &out, &e) < 0 && strstr(e.text, "is damaged"),
       "a text that is not what its name says is refused");
    db_close(s);
    buf_release(&out);
    buf_release(&small);
}

static void test_queue_is_bounded(void)
{
    char *dir = scratch_dir();
    struct store *s = db_open(dir, STORE_NEW, NULL);
    size_t n = (size_t)8 << 20, most = 0;
    char *text = xcalloc(1, n), hash[HASH_HEX];
    struct err e = ERR_INIT;

    for (char i = 0; i < 12; i++) {
        text[0] = i;
        store_blob(s, (struct str){text, n}, hash);
        most = store_queued(s) > most ? store_queued(s) : most;
    }
    ok(store_sync(s, &e) == 0 && most <= (size_t)64 << 20,
       "at most 64 MiB wait (%zu)", most >> 20);
    free(text);
    db_close(s);
}

SUITE(store)
{
    size_t before = fds_open();

    test_rows();
    test_reading();
    test_waiting();
    test_coroutine_waits();
    test_conflict();
    test_mistakes();
    test_times_may_differ();
    test_blobs();
    test_queue_is_bounded();
    ok(fds_open() == before, "no descriptor is left open");
}
