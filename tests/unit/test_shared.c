/* test_shared.c: archives on a real PostgreSQL server, which the suite starts
 * for itself: the same as in a folder, bad rows, versions, and a run's end of it
 * while the server is killed. Without a server, or without PG=1, only addresses
 * and rows. */
#include "run/shared.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/tick.h"
#include "run/archives.h"
#include "scratch.h"
#include "store/pg.h"
#include "store_fixture.h"
#include "tap.h"
#include "verify/verdict.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

static struct task *make_task(const char *op)
{
    char *path = scratch_text("%s/task.py", op),
         *text = scratch_text("import torch\n"
                              "class Model(torch.nn.Module):\n"
                              "    def forward(self, x):\n"
                              "        return torch.%s(x)\n"
                              "def get_inputs():\n"
                              "    return []\n"
                              "def get_init_inputs():\n"
                              "    return []\n",
                              op);
    struct err e = ERR_INIT;
    struct task *t = task_from(path, str_of(text), &e);

    if (!t)
        BUG("%s", e.text);
    return t;
}

static struct kernel make_kernel(const char *op, const char *solution)
{
    return (struct kernel){.name = op,
                           .task = make_task(op),
                           .plan = STR_LIT("Plan.\n"),
                           .solution = str_of(solution),
                           .origin = "a test",
                           .licence = "MIT",
                           .dtype = "fp32",
                           .dsl = "x",
                           .verified = true,
                           .verified_on = "here",
                           .rules = VERDICT_RULES};
}

static struct shared_row make_row(const char *op, const char *solution)
{
    struct kernel k = make_kernel(op, solution);
    struct shared_row row;

    shared_row_of(&k, &row);
    task_free(k.task);
    return row;
}

/* ---- addresses ---- */

static void test_addresses(void)
{
    static const struct {
        const char *address, *shown;
        bool good;
    } is_shown[] = {
        {"postgres://u:geheim@h:1/d", "postgres://u@h:1/d", true},
        {"postgresql://u:geheim@h", "postgresql://u@h", true},
        {"postgres://u@h/d?sslmode=require", "postgres://u@h/d?sslmode=require",
         true},
        {"postgres://u@h/d?password=geheim&a=b", "postgres://u@h/d?a=b", true},
        {"postgres://u@h/d?a=b&p%61ssword=geheim", "postgres://u@h/d?a=b",
         true},
        {"postgres://u@h/d?sslpassword=geheim", "postgres://u@h/d", true},
        {"postgres://u:ge@heim@h/d", "postgres://u@h/d", false},
        {"postgres://u:ge/heim@h/d", "postgres://u@h/d", false},
        {"postgres://u:ge?heim@h/d", "postgres://u@h/d", false},
        {"postgres://u:ge heim@h/d", "postgres://u@h/d", false},
        {"postgres:///d?host=/tmp", "postgres:///d?host=/tmp", true},
        {"a/folder", "a/folder", false},
    };

    for (size_t i = 0; i < COUNT(is_shown); i++) {
        struct err e = ERR_INIT;
        char *shown = pg_shown(is_shown[i].address);
        int rc = pg_check_address(is_shown[i].address, &e);

        is(shown, is_shown[i].shown, "an address is shown without password");
        ok((rc == 0) == is_shown[i].good && !strstr(e.text, "heim"),
           "… and is %s", is_shown[i].good ? "accepted" : "refused");
        free(shown);
    }
}

/* ---- rows ---- */

static void refuse(struct shared_row *row, bool seal, const char *why)
{
    struct err e = ERR_INIT;
    struct kernel k;

    if (seal)
        shared_row_seal(row);
    ok(shared_kernel_of(row, &k, &e) < 0 && strstr(e.text, why),
       "refused: %s (%s)", why, e.text);
}

static void put(struct str *field, const char *text)
{
    free((char *)field->p);
    *field = (struct str){xstrdup(text), strlen(text)};
}

static void test_rows(void)
{
    struct shared_row row = make_row("erf", "class ModelNew: pass\n");
    struct err e = ERR_INIT;
    struct kernel k;

    ok(shared_kernel_of(&row, &k, &e) == 0, "a row is a kernel again");
    is(k.name, "erf", "… with its name");
    is(k.task->id, "erf/task", "… its task");
    ok(str_eq(k.plan, "Plan.\n") &&
           str_eq(k.solution, "class ModelNew: pass\n"),
       "… its texts");
    ok(k.verified && strcmp(k.verified_on, "here") == 0 &&
           strcmp(k.dsl, "x") == 0,
       "… and what is known of it");
    kernel_release(&k);
    row.hash[0] = row.hash[0] == 'a' ? 'b' : 'a';
    refuse(&row, false, "do not have its hash");
    shared_row_seal(&row);
    put(&row.solution, "another");
    refuse(&row, false, "do not have its hash");
    put(&row.name, "../../etc");
    refuse(&row, true, "its name");
    put(&row.name, ".hidden");
    refuse(&row, true, "its name");
    put(&row.name, "a\033[2Jb");
    refuse(&row, true, "its name");
    put(&row.name, "erf");
    put(&row.sidecar, "[1]");
    refuse(&row, true, "not an object");
    put(&row.sidecar, "{");
    refuse(&row, true, "task.json");
    put(&row.sidecar, "{}");
    put(&row.meta, "not JSON");
    refuse(&row, true, "meta.json");
    put(&row.meta, "{\"dsl\": \"y\"}");
    refuse(&row, true, "another pack");
    put(&row.meta, "{\"dsl\": \"x\"}");
    put(&row.task, "print(1)\n");
    refuse(&row, true, "Model");
    shared_row_release(&row);
}

/* ---- a server ---- */

static void shell(const char *what, const char *dir)
{
    char *command =
        xasprintf("sh tests/cli/shared/postgres.sh %s %s", what, dir);

    if (system(command) != 0) // NOLINT(concurrency-mt-unsafe)
        BUG("%s failed", command);
    free(command);
}

static char *read_address(const char *dir)
{
    char *path = scratch_path(dir, "address");
    struct err e = ERR_INIT;
    struct buf b = {.limit = 4096};

    if (fs_read(path, &b, &e) < 0)
        BUG("%s", e.text);
    return buf_take(&b, NULL);
}

static void run_sql(const char *address, const char *sql)
{
    struct err e = ERR_INIT;
    struct pg *p = pg_open(address, -1, &e);
    struct pg_rows *r = p ? pg_run(p, sql, NULL, 0, &e) : NULL;

    if (!r)
        BUG("%s", e.text);
    pg_free(r);
    pg_close(p);
}

/* ---- the same suite for both back ends ---- */

static int count_one(struct kernel *k, void *arg, struct err *e)
{
    (void)e;
    (void)k;
    ++*(size_t *)arg;
    return 0;
}

static size_t count(const char *archive)
{
    struct err e = ERR_INIT;
    size_t n = 0;

    if (archives_each(archive, count_one, &n, &e) != 0)
        BUG("%s", e.text);
    return n;
}

static int same_texts(struct kernel *k, void *arg, struct err *e)
{
    (void)e;
    *(bool *)arg = strcmp(k->name, "erf") == 0 && str_eq(k->plan, "Plan.\n") &&
                   str_eq(k->solution, "class ModelNew: pass\n") &&
                   k->verified && strcmp(k->dsl, "x") == 0 &&
                   k->task->sidecar != NULL;
    return 1;
}

static void make_folder(const char *dir)
{
    struct kernel a = make_kernel("erf", "class ModelNew: pass\n"),
                  b = make_kernel("sinh", "class ModelNew: pass\n");
    struct err e = ERR_INIT;
    char *retired = scratch_path(dir, "sinh");
    json_t *meta;

    a.task->sidecar = json_pack("{s:[]}", "variants");
    if (kernel_write(dir, &a, (struct str){a.task->source, a.task->len}, &e) <
            0 ||
        kernel_write(dir, &b, (struct str){b.task->source, b.task->len}, &e) <
            0)
        BUG("%s", e.text);
    meta = kernel_meta(retired, &e);
    json_object_set_new(meta, "retired_on", json_string("2026-01-01"));
    if (kernel_put_meta(retired, meta, &e) < 0)
        BUG("%s", e.text);
    json_decref(meta);
    task_free(a.task);
    task_free(b.task);
}

static void test_archive(const char *kind, const char *archive,
                         const char *work)
{
    char *from = scratch_path(work, "from"),
         *back = scratch_text("%s/%s", work, kind);
    const char *const list[] = {from, archive};
    struct archives_copied n;
    struct err e = ERR_INIT;
    bool same = false;

    ok(archives_copy(list, 1, archive, &n, &e) == 0 && n.written == 1 &&
           n.retired == 1,
       "%s: kernels are added, without retired ones %s", kind, e.text);
    ok(archives_copy(list, 1, archive, &n, &e) == 0 && n.written == 0 &&
           n.known == 1,
       "%s: … once", kind);
    ok(count(archive) == 1, "%s: … and are there", kind);
    ok(archives_each(archive, same_texts, &same, &e) == 1 && same,
       "%s: … with all their texts", kind);
    ok(archives_copy(list + 1, 1, back, &n, &e) == 0 && n.written == 1 &&
           count(back) == 1,
       "%s: … and can be taken out again", kind);
}

/* ---- rows that are no kernels ---- */

static void test_bad_rows(const char *address)
{
    size_t before = count(address);

    run_sql(address,
            "INSERT INTO monkeys_kernel (version, hash, name, dsl, task_hash,"
            " task, solution, meta) SELECT 1000 + n, hash || n, name, dsl,"
            " task_hash, task, solution, meta FROM monkeys_kernel,"
            " generate_series(1, 2) AS n WHERE version = 1");
    run_sql(address,
            "INSERT INTO monkeys_kernel (version, hash, name, dsl, task_hash,"
            " task, solution, meta) SELECT 2000, 'h', '../x', dsl, task_hash,"
            " task, convert_to(repeat('x', 40000000), 'UTF8'), meta"
            " FROM monkeys_kernel WHERE version = 1");
    ok(count(address) == before, "rows that are no kernels are left out");
    run_sql(address, "DELETE FROM monkeys_kernel WHERE version >= 1000");
}

/* ---- versions ---- */

#define EACH 8

static void *add_some(void *arg)
{
    const char *address = arg;
    struct err e = ERR_INIT;
    struct shared *s = shared_open(address, SHARED_WRITE, -1, &e);

    for (int i = 0; s && i < EACH; i++) {
        char op[32];
        struct shared_row row;

        snprintf(op, sizeof(op), "op%d_%lx", i, (unsigned long)pthread_self());
        row = make_row(op, "class ModelNew: pass\n");
        if (shared_add(s, &row, &e) != 1 || shared_add(s, &row, &e) != 0)
            BUG("%s", e.text);
        shared_row_release(&row);
    }
    shared_close(s);
    return NULL;
}

static int note_number(struct kernel *k, int64_t number, const struct err *why,
                       void *arg, struct err *e)
{
    int64_t *last = arg;

    (void)k;
    (void)why;
    (void)e;
    *last = number == *last + 1 ? number : -1000;
    return 0;
}

static void test_versions(char *address)
{
    pthread_t thread[3];
    struct err e = ERR_INIT;
    int64_t last = 0, first;
    struct shared *s = shared_open(address, SHARED_READ, -1, &e);
    struct shared_range range = {.until = SHARED_NEWEST};

    shared_each(s, &range, note_number, &last, &e);
    first = last;
    for (size_t i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, add_some, address);
    for (size_t i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    last = 0;
    range.until = SHARED_NEWEST;
    ok(shared_each(s, &range, note_number, &last, &e) == 0 &&
           last == first + (int64_t)3 * EACH && range.until == last,
       "three that add at once: versions have no gaps, and nothing is there "
       "twice");
    last = first;
    range = (struct shared_range){.after = first, .until = first + 2};
    ok(shared_each(s, &range, note_number, &last, &e) == 0 && last == first + 2,
       "an older version can be read");
    last = first;
    range = (struct shared_range){.dsl = "y", .until = SHARED_NEWEST};
    ok(shared_each(s, &range, note_number, &last, &e) == 0 && last == first,
       "kernels of other languages are not");
    shared_close(s);
}

/* ---- a run's end of it ---- */

struct hearing {
    struct loop *loop;
    size_t kernels, calls, bad, back;
    int64_t version;
};

static void on_news(int64_t version, struct kernel *k, size_t n, void *arg)
{
    struct hearing *h = arg;

    (void)k;
    h->calls++;
    h->kernels += n;
    h->version = version;
    loop_stop(h->loop);
}

static void on_word(bool bad, const char *text, void *arg)
{
    struct hearing *h = arg;

    (void)text;
    *(bad ? &h->bad : &h->back) += 1;
    loop_stop(h->loop);
}

static struct sharing *open_end(struct hearing *h, const char *address,
                                bool eager)
{
    struct sharing_opts o = {.address = address,
                             .dsl = "x",
                             .eager = eager,
                             .news = on_news,
                             .word = on_word,
                             .arg = h};
    struct err e = ERR_INIT;
    struct sharing *x = sharing_open(h->loop, &o, &e);

    if (!x)
        BUG("%s", e.text);
    return x;
}

/* Until the count has been reached; a minute is a failure. */
static bool reach(struct hearing *h, const size_t *n, size_t want)
{
    int64_t until = tick_now_ns() + 60 * TICK_S;

    while (*n < want && tick_now_ns() < until)
        loop_run_for(h->loop, until - tick_now_ns());
    return *n >= want;
}

static void give(struct sharing *x, const char *op)
{
    struct kernel k = make_kernel(op, "class ModelNew: pass  # own\n");

    sharing_give(x, &k);
    task_free(k.task);
}

static void test_sharing(const char *address, const char *server)
{
    struct err e = ERR_INIT;
    struct hearing a = {.loop = loop_new(&e)}, b = {.loop = a.loop};
    struct sharing *strict = open_end(&a, address, false),
                   *eager = open_end(&b, address, true);
    size_t there = count(address);

    ok(reach(&b, &b.kernels, there), "an eager run hears of what is there");
    ok(a.calls == 0, "a strict one of nothing before it asks");
    sharing_look(strict);
    ok(reach(&a, &a.calls, 1) && a.kernels == there,
       "… and then of everything");
    give(strict, "exp");
    ok(reach(&b, &b.kernels, there + 1) && a.calls == 1,
       "what one adds, an eager one hears of at once");
    sharing_look(strict);
    ok(reach(&a, &a.calls, 2) && a.kernels == there + 1 &&
           a.version == b.version,
       "… and a strict one when it asks, with the same version");

    shell("freeze", server);
    sharing_look(strict);
    ok(reach(&a, &a.calls, 3) && a.kernels == there + 1,
       "a server that does not answer keeps nobody waiting");
    shell("thaw", server);
    shell("kill", server);
    ok(reach(&a, &a.bad, 1) && reach(&b, &b.bad, 1),
       "a server that is killed is noticed by both");
    sharing_look(strict);
    ok(reach(&a, &a.calls, 4) && a.kernels == there + 1,
       "a look without a server is answered: nothing is new");
    give(strict, "log");
    give(strict, "log");
    ok(sharing_finish(strict, 60 * TICK_S) == 2 && a.bad == 1,
       "what is given then waits, and nobody is told twice");
    shell("again", server);
    ok(reach(&b, &b.kernels, there + 2) && b.back == 1,
       "when the server is back it arrives");
    ok(sharing_finish(strict, 60 * TICK_S) == 0 && count(address) == there + 2,
       "… and is there once");
    sharing_close(strict);
    sharing_close(eager);
    loop_free(a.loop);
}

static void test_reader(const char *address)
{
    const char *host = strchr(address, '@');
    char *reader = scratch_text("postgres://reader%s", host);
    struct err e = ERR_INIT;
    struct hearing a = {.loop = loop_new(&e)};
    struct sharing *x;
    size_t there = count(address);

    run_sql(address, "CREATE ROLE reader LOGIN");
    run_sql(address, "GRANT SELECT ON monkeys_kernel TO reader");
    x = open_end(&a, reader, true);
    ok(reach(&a, &a.kernels, there), "who may only read, reads");
    give(x, "cosh");
    give(x, "sinh");
    ok(sharing_finish(x, 60 * TICK_S) == 0 && reach(&a, &a.bad, 1) &&
           a.bad == 1 && count(address) == there,
       "… and is told once that nothing is added");
    sharing_close(x);
    loop_free(a.loop);
}

static void test_refused(void)
{
    struct err e = ERR_INIT;

    ok(!pg_open("postgres://u:geheim@127.0.0.1:1/d", -1, &e) &&
           e.kind == ERR_SYSTEM && strstr(e.text, "refused") &&
           !strstr(e.text, "geheim") && !strchr(e.text, '\n'),
       "no server: one line, without the password (%s)", e.text);
}

static void test_server(void)
{
    char *work = scratch_dir(), *server = scratch_text("%s-pg", work), *address,
         *from, *mine;
    shell("start", server);
    address = read_address(server);
    from = scratch_path(work, "from");
    mine = scratch_path(work, "mine");
    make_folder(from);
    test_archive("folder", mine, work);
    test_archive("server", address, work);
    test_bad_rows(address);
    test_versions(address);
    test_sharing(address, server);
    test_reader(address);
    test_refused();
    shell("stop", server);
    fs_remove_tree(work);
    fs_remove_tree(server);
    free(address);
}

SUITE(shared)
{
    struct err e = ERR_INIT;

    test_addresses();
    test_rows();
    if (pg_can_open("postgres://u@h/d", &e) < 0)
        tap_skip("archives on a server", "built without PG=1");
    else if (system("sh tests/cli/shared/postgres.sh have") != 0) // NOLINT
        tap_skip("archives on a server", "PostgreSQL is not installed");
    else
        test_server();
}
