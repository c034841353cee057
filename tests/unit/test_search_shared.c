/* test_search_shared.c: a search with an archive that other runs share: when
 * their kernels are seen, what is given away, and what a run that continues
 * knows of it. The archive itself is played here; test_shared.c has a real one. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "mock.h"
#include "respawn.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 9

/* Two kernels of others: they arrive with the answer to look number `at`, or, in
 * eager order, when the run has solved `at` tasks. */
struct others {
    struct mock m;
    struct search_shared shared;
    struct task *task[2];
    int at;
    size_t looks, own; /* in all lives of the run */
    bool told;
};

static const char program[] = "import torch\n"
                              "class Model(torch.nn.Module):\n"
                              "    def forward(self, x):\n"
                              "        return torch.%s(x)\n"
                              "def get_inputs():\n"
                              "    return [torch.randn(4)]\n"
                              "def get_init_inputs():\n"
                              "    return []\n";

static void tell(struct others *o)
{
    struct search_example x[2] = {0};

    for (size_t i = 0; i < 2; i++)
        x[i] = (struct search_example){
            .origin = "shared",
            .name = o->task[i]->id,
            .task_hash = o->task[i]->hash,
            .evidence = "E3",
            .problem = {o->task[i]->source, o->task[i]->len},
            .solution = STR_LIT("class ModelNew: pass  # of others\n"),
            .ops = o->task[i]->ops};
    o->told = true;
    search_news(o->m.search, 7, x, 2);
}

static void answer(void *arg)
{
    struct others *o = arg;

    if ((int)++o->looks == o->at)
        tell(o);
    else
        search_news(o->m.search, o->told ? 7 : 5, NULL, 0);
}

static void on_look(void *arg)
{
    struct others *o = arg;

    loop_defer(o->m.loop, answer, o);
}

static void on_own(const struct search_own *own, void *arg)
{
    struct others *o = arg;

    if (!own->code[0] || !own->record[0] || own->attempt < 1)
        BUG("a kernel without texts");
    o->own++;
}

static void embed(struct str text, float *out, void *arg)
{
    (void)arg;
    out[text.n % 7] = 1;
}

static void on_change(void *arg)
{
    struct others *o = arg;

    if (!o->told && (int)search_count(o->m.search).solved >= o->at)
        tell(o);
}

static void init(struct others *o, int at)
{
    static const char *const what[] = {"erf", "sinh"};
    struct err e = ERR_INIT;

    *o = (struct others){.at = at};
    o->shared = (struct search_shared){on_look, on_own, embed, o};
    for (size_t i = 0; i < 2; i++) {
        char *name = scratch_text("others/%s.py", what[i]),
             *text = scratch_text(program, what[i]);

        o->task[i] = task_from(name, str_of(text), &e);
        if (!o->task[i])
            BUG("%s", e.text);
    }
}

static void release(struct others *o)
{
    task_free(o->task[0]);
    task_free(o->task[1]);
}

/* One life of the run in `dir`; the tables as they are then go to `dump`. */
static enum search_end live(struct others *o, const char *dir,
                            const char *order, size_t dead_after,
                            struct buf *dump)
{
    struct search_opts opts = mock_opts;
    enum search_end end = SEARCH_DONE;
    struct err e = ERR_INIT;

    o->m = (struct mock){.rule.dead_after = dead_after, .shared = &o->shared};
    opts.order = order;
    opts.batch = 3;
    if (mock_open(&o->m, dir, &opts, 4, &e) < 0)
        BUG("%s", e.text);
    search_add_look(o->m.search, 5);
    if (strcmp(order, "eager") == 0)
        search_watch(o->m.search, on_change, o);
    if (mock_run(&o->m, &end, &e) < 0 || mock_dump(o->m.store, dump, &e) < 0 ||
        mock_close(&o->m, &e) < 0)
        BUG("%s", e.text);
    return end;
}

/* Where flushing to disk costs nothing. */
static char *new_dir(void)
{
    char *dir =
        xstrdup(access("/dev/shm", W_OK) == 0 ? "/dev/shm/monkeys-shared-XXXXXX"
                                              : "/tmp/monkeys-shared-XXXXXX");
    struct err e = ERR_INIT;

    if (!mkdtemp(dir) || mock_tasks(dir, TASKS, &e) < 0)
        BUG("%s", e.text);
    return dir;
}

static void remove_dir(char *dir)
{
    fs_remove_tree(dir);
    free(dir);
}

static int64_t number(const char *dir, const char *sql)
{
    char *db = scratch_text("%s/run.db", dir);
    int64_t n = db_number(db, sql);

    return n;
}

static void test_strict(void)
{
    char *dir = new_dir();
    struct buf dump = BUF_INIT, again = BUF_INIT, cut = BUF_INIT;
    struct others o;
    size_t looks, own;

    init(&o, 3);
    ok(live(&o, dir, "strict", 0, &dump) == SEARCH_DONE && o.looks > 4,
       "a strict run looks at the shared archive before each mini-batch");
    ok(number(dir, "SELECT count(*) FROM entry WHERE origin = 'shared'") == 2,
       "kernels of others join");
    ok(number(dir, "SELECT round FROM look WHERE shared_version = 7 "
                   "ORDER BY look LIMIT 1") == 3,
       "… at the boundary where they were seen, which is stored");
    ok(number(dir, "SELECT count(DISTINCT version) FROM entry "
                   "WHERE origin = 'shared'") == 1,
       "… under one version");
    ok(number(dir, "SELECT count(*) FROM look") == (int64_t)o.looks + 1,
       "every look is stored with the version of the shared archive");
    ok(number(dir, "SELECT count(*) FROM shown JOIN entry USING (entry) "
                   "WHERE origin = 'shared'") > 0 &&
           number(dir, "SELECT count(*) FROM shown JOIN entry USING (entry) "
                       "JOIN attempt ON attempt.task = shown.task AND "
                       "attempt.attempt = shown.attempt "
                       "WHERE archive_version < entry.version") == 0,
       "they are shown, and to nobody who began before");
    ok((int64_t)o.own ==
           number(dir, "SELECT count(*) FROM entry WHERE origin = 'run'"),
       "each kernel of the run is given away");
    looks = o.looks;
    own = o.own;
    live(&o, dir, "strict", 0, &again);
    ok(o.looks == looks && strcmp(buf_str(&dump), buf_str(&again)) == 0,
       "a finished run that is continued does not look again");
    ok(o.own == 2 * own, "… and offers its kernels again");
    release(&o);

    for (size_t after = 2; after < 20; after += 5) {
        char *part = new_dir();

        init(&o, 3);
        live(&o, part, "strict", after, &cut);
        buf_reset(&cut);
        ok(live(&o, part, "strict", 0, &cut) == SEARCH_DONE &&
               strcmp(buf_str(&dump), buf_str(&cut)) == 0,
           "cut off after %zu verdicts and continued, it is the same run",
           after);
        release(&o);
        buf_release(&cut);
        remove_dir(part);
    }
    buf_release(&dump);
    buf_release(&again);
    remove_dir(dir);
}

static void test_eager(void)
{
    char *dir = new_dir();
    struct buf dump = BUF_INIT, again = BUF_INIT;
    struct others o;

    init(&o, 1);
    ok(live(&o, dir, "eager", 0, &dump) == SEARCH_DONE && o.looks == 0,
       "an eager run does not look: news come to it");
    ok(number(dir, "SELECT count(*) FROM entry WHERE origin = 'shared'") == 2 &&
           number(dir, "SELECT count(*) FROM attempt, entry "
                       "WHERE origin = 'shared' "
                       "AND archive_version >= version") > 0,
       "… and are seen by the attempts that begin after that");
    ok(number(dir, "SELECT shared_version FROM look WHERE look = 2") == 7,
       "… with the version stored");
    live(&o, dir, "eager", 0, &again);
    ok(strcmp(buf_str(&dump), buf_str(&again)) == 0,
       "continued, it has the same tables");
    release(&o);
    buf_release(&dump);
    buf_release(&again);
    remove_dir(dir);
}

/* ---- ended at any operation of the store ---- */

/* This program again. What others have added depends on how often the run has
 * looked, which is in its store. */
static _Noreturn void be_child(const char *dir)
{
    char *db = xasprintf("%s/run.db", dir);
    struct others o;
    struct buf dump = BUF_INIT;

    log_set_level(LOG_QUIET);
    init(&o, 3);
    if (fs_is_file(db) && db_number(db, "SELECT count(*) FROM look") > 0)
        o.looks = (size_t)db_number(db, "SELECT count(*) - 1 FROM look");
    o.told = (int)o.looks >= o.at;
    _exit(live(&o, dir, "strict", 0, &dump) == SEARCH_DONE ? 0 : 1);
}

static int run_child(const char *dir, const char *fault)
{
    struct respawned c =
        respawn("search_shared", "SEARCH_SHARED_CHILD", dir, fault);
    int status;

    if (waitpid(c.pid, &status, 0) != c.pid)
        BUG("waitpid");
    close(c.out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void dump_run(const char *dir, struct buf *out)
{
    static const char *const sql[] = {
        "SELECT * FROM attempt ORDER BY task, attempt",
        "SELECT * FROM shown ORDER BY task, attempt, rank",
        "SELECT * FROM entry ORDER BY entry",
        "SELECT * FROM look ORDER BY look",
    };
    char *db = scratch_text("%s/run.db", dir);

    for (size_t i = 0; i < COUNT(sql); i++)
        db_query(db, sql[i], out);
}

/* SEARCH_KILL_STRIDE=1 tries every operation. */
static void test_kill(void)
{
    const char *text = getenv("SEARCH_KILL_STRIDE");
    int64_t stride = 151, n = 1, same = 0, tried = 0, ended = 9;
    char *dir = new_dir();
    struct buf want = BUF_INIT, got = BUF_INIT;

    if (text)
        str_to_i64(str_of(text), 1, 1000, &stride);
    ok(run_child(dir, "") == 0, "a run in a process of its own");
    dump_run(dir, &want);
    remove_dir(dir);
    for (; ended == 9; n += stride) {
        char fault[32];

        snprintf(fault, sizeof(fault), "%lld", (long long)n);
        dir = new_dir();
        ended = run_child(dir, fault);
        if (ended == 9 && run_child(dir, "") == 0) {
            dump_run(dir, &got);
            tried++;
            if (strcmp(buf_str(&want), buf_str(&got)) == 0)
                same++;
            else
                printf("# operation %lld\n", (long long)n);
        }
        buf_release(&got);
        remove_dir(dir);
    }
    ok(tried > 5 && same == tried && ended == 0,
       "… ended at %lld operations of its store and continued, it has the "
       "same tables (%lld)",
       (long long)tried, (long long)same);
    buf_release(&want);
}

SUITE(search_shared)
{
    const char *child = getenv("SEARCH_SHARED_CHILD");

    if (child)
        be_child(child);
    test_kill();
    test_strict();
    test_eager();
}
