/* test_store_kill.c: a process that writes is killed, at random moments and at
 * every operation in turn; what it was told to be durable is there, and what is
 * there is a prefix of what it wrote.
 *
 * The process is this program with STORE_CHILD="PATH GROUPS AT_ONCE" in its
 * environment. It writes groups of rows, continuing where the file ends, and
 * says "durable N" for each group it is told of. */
#include "store/db_schema.h"
#include "store/row.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "respawn.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the process that writes ---- */

struct child {
    struct store *s;
    struct loop *loop;
    int64_t answered; /* calls that are stored so already */
    int64_t last, groups, at_once, told;
};

static void text_of(int64_t group, struct buf *out)
{
    struct rng r;
    size_t n;

    rng_init(&r, "group %lld", (long long)group);
    n = 1000 + rng_below(&r, 20000);
    while (out->len < n)
        buf_printf(out, "%llx\n", (unsigned long long)rng_next(&r));
}

static void write_call(struct child *c, int64_t group, const char *hash)
{
    struct row_call r = {.task = 1,
                         .attempt = group,
                         .purpose = "code",
                         .asked = hash,
                         .try = 1,
                         .state = "open",
                         .prompt = hash};

    if (group <= c->answered)
        return;
    store_call(c->s, &r);
    r.state = "answered";
    r.reply = hash;
    store_call(c->s, &r);
}

/* The order of `counts` below. */
static void write_group(struct child *c, int64_t group)
{
    char hash[HASH_HEX];
    struct buf text = BUF_INIT;

    text_of(group, &text);
    store_blob(c->s, (struct str){text.data, text.len}, hash);
    buf_release(&text);
    write_call(c, group, hash);
    store_attempt(c->s, &(struct row_attempt){.task = 1,
                                              .attempt = group,
                                              .method = "sampling",
                                              .code = hash,
                                              .verdict = "correct"});
    store_shown(c->s, &(struct row_shown){1, group, 1, group, 0.25, NULL});
    store_verdict(c->s, &(struct row_verdict){
                            .task = 1, .attempt = group, .verdict = "correct"});
}

static void on_durable(const struct err *e, void *arg)
{
    struct child *c = arg;
    char line[64];
    int n;

    if (e)
        BUG("%s", e->text);
    n = snprintf(line, sizeof(line), "durable %lld\n", (long long)++c->told);
    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        BUG("report");
    while (c->last < c->groups && c->last - c->told < c->at_once) {
        write_group(c, ++c->last);
        store_after(c->s, on_durable, c);
    }
}

static int64_t number(struct store *s, const char *sql)
{
    struct err e = ERR_INIT;
    int64_t n;

    if (store_number(store_reader(s), store_path(s), sql, &n, &e) < 0)
        BUG("%s", e.text);
    return n;
}

static _Noreturn void be_child(const char *spec)
{
    struct err e = ERR_INIT;
    struct child c = {.loop = loop_new(&e)};
    char path[200];
    long long groups, at_once;

    if (sscanf(spec, "%199s %lld %lld", path, &groups, &at_once) != 3)
        BUG("%s", spec);
    c.s =
        store_open(path, fs_is_file(path) ? STORE_OPEN : STORE_NEW, c.loop, &e);
    if (!c.s)
        BUG("%s", e.text);
    c.groups = groups;
    c.at_once = at_once;
    c.told = number(c.s, "SELECT count(*) FROM verdict_time") - 1;
    c.last = c.told + 1;
    c.answered =
        number(c.s, "SELECT count(*) FROM call WHERE state = 'answered'");
    store_after(c.s, on_durable, &c); /* tells what was there before */
    loop_run(c.loop);
    _exit(store_close(c.s, &e) == 0 ? 0 : 1);
}

/* ---- the process that kills ---- */

static struct respawned start(const char *spec, const char *fault)
{
    return respawn("store_kill", "STORE_CHILD", spec, fault);
}

/* The status and the last group it spoke of; kills it `us` after it said
 * `lines` lines, unless that is 0. */
static int64_t finish(struct respawned c, int lines, unsigned us, int *status)
{
    FILE *f = fdopen(c.out, "r");
    char line[64];
    long long n = 0;

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "durable %lld", &n) != 1)
            continue;
        if (lines && --lines == 0) {
            usleep(us);
            kill(c.pid, SIGKILL);
        }
    }
    fclose(f);
    if (waitpid(c.pid, status, 0) != c.pid)
        BUG("waitpid");
    return n;
}

static const char *const counts[] = {
    "SELECT count(*) FROM blob",
    "SELECT count(*) FROM call",
    "SELECT count(*) FROM call WHERE state = 'answered'",
    "SELECT count(*) FROM attempt",
    "SELECT count(*) FROM shown",
    "SELECT count(*) FROM verdict",
    "SELECT count(*) FROM verdict_time",
};

static bool texts_are_whole(struct store *s, int64_t n)
{
    struct buf want = BUF_INIT, got = BUF_INIT;
    char hash[HASH_HEX];
    struct err e = ERR_INIT;
    bool whole = true;

    for (int64_t i = 1; whole && i <= n; i++) {
        buf_reset(&want);
        buf_reset(&got);
        text_of(i, &want);
        hash_hex(want.data, want.len, hash);
        whole = store_read_blob(s, hash, &got, &e) == 0;
    }
    buf_release(&want);
    buf_release(&got);
    return whole;
}

/* Whether the rows are the first ones that were written: each table has as many
 * groups as the one written before it, or, after one point, one less. */
static bool is_prefix(const char *path, int64_t reported)
{
    struct err e = ERR_INIT;
    struct store *s = store_open(path, STORE_OPEN, NULL, &e);
    int64_t first, n, before;
    bool good;

    if (!s)
        return false;
    first = before = n = number(s, counts[0]);
    good = texts_are_whole(s, first) &&
           number(s, "SELECT count(*) = coalesce(max(attempt), 0) FROM "
                     "verdict") == 1 &&
           number(s, "SELECT count(*) FROM pragma_integrity_check WHERE "
                     "integrity_check <> 'ok'") == 0;
    for (size_t i = 1; i < COUNT(counts); i++) {
        n = number(s, counts[i]);
        good = good && n <= before && n >= first - 1;
        before = n;
    }
    good = good && n >= reported;
    db_close(s);
    return good;
}

static void test_random_kills(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    char *spec = scratch_text("%s 1000000 4", path);
    int good = 0, killed = 0, status, ends = 0;
    int64_t before = 0;
    struct rng r;

    rng_init(&r, "kills");
    for (int i = 0; i < 30; i++) {
        int64_t told = finish(start(spec, ""), 1 + (int)rng_below(&r, 12),
                              (unsigned)rng_below(&r, 3000), &status);

        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        good += is_prefix(path, told);
        ends += told >= before;
        before = told;
    }
    ok(killed == 30, "30 times killed");
    ok(good == 30, "what was durable is there, and the rows are a prefix (%d)",
       good);
    ok(ends == 30 && before > 30, "each goes on from the last (%lld groups)",
       (long long)before);
}

/* What must not depend on how often a run was stopped. */
static void dump(const char *path, struct buf *out)
{
    db_query(path, "SELECT * FROM attempt ORDER BY task, attempt", out);
    db_query(path, "SELECT * FROM shown ORDER BY task, attempt, rank", out);
    db_query(path, "SELECT hash, size, hex(data) FROM blob ORDER BY hash", out);
    db_query(path, "SELECT * FROM verdict ORDER BY task, attempt", out);
}

/* Stops the child at its operation `n`, then lets another finish; false when
 * there was no such operation. */
static bool stop_at(int n, const char *dir, const char *want, int *good)
{
    char *path = scratch_path(dir, "run.db"),
         *spec = scratch_text("%s 2 1", path);
    char fault[16];
    struct buf got = BUF_INIT;
    int stopped, ended;
    int64_t told;

    snprintf(fault, sizeof(fault), "%d", n);
    told = finish(start(spec, fault), 0, 0, &stopped);
    if (is_prefix(path, told)) {
        finish(start(spec, ""), 0, 0, &ended);
        dump(path, &got);
        *good += WIFEXITED(stopped) && ended == 0 &&
                 strcmp(buf_str(&got), want) == 0;
        buf_release(&got);
    }
    unlink(path);
    return WIFEXITED(stopped) && WEXITSTATUS(stopped) == 9;
}

static void test_every_operation(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    char *spec = scratch_text("%s 2 1", path);
    int good = 0, n = 1, status;
    struct buf want = BUF_INIT;

    ok(finish(start(spec, ""), 0, 0, &status) == 2 && status == 0,
       "a run that nobody stops");
    dump(path, &want);
    unlink(path);
    while (n < 200 && stop_at(n, dir, buf_str(&want), &good))
        n++;
    ok(n > 18 && n < 200, "stopped at each of its operations (%d)", n - 1);
    ok(good == n, "each time a prefix, and in the end the same rows (%d)",
       good);
    buf_release(&want);
}

SUITE(store_kill)
{
    const char *spec = getenv("STORE_CHILD");

    if (spec)
        be_child(spec);
    test_random_kills();
    test_every_operation();
}
