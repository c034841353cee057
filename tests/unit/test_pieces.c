/* test_pieces.c: tasks and their pieces in one pool: their order, what is shown,
 * what is released and when, what is counted. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "mock.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* Of the mock's curriculum: tasks 0 to 2, pieces 3 to 8. */
struct world {
    const char *solved; /* "3:1 0:2": task 3 at its first attempt, … */
    const char *lost;   /* tasks whose requests are refused: "4" */
};

struct outcome {
    enum search_end end;
    struct search_counts count;
    struct buf dump;
    char *dir, *db;
};

static int number_of(const char *id)
{
    return (int)strtol(strrchr(id, '/') + 2, NULL, 10);
}

static const char *judge(const struct task *t, struct str code, int attempt,
                         void *arg)
{
    const struct world *w = arg;
    char word[32];

    (void)code;
    snprintf(word, sizeof(word), " %d:%d ", number_of(t->id), attempt);
    return strstr(w->solved, word) ? "correct" : "wrong_values";
}

static enum send_outcome outcome(const struct llm_request *r, void *arg)
{
    const struct world *w = arg;
    char word[32];

    snprintf(word, sizeof(word), " %d ", number_of(r->key.task));
    return w->lost && strstr(w->lost, word) ? SEND_REFUSED : SEND_ANSWERED;
}

static struct outcome run(const struct search_opts *o, struct world w,
                          int64_t in_flight)
{
    struct mock m = {.rule = {.judge = judge, .outcome = outcome, .arg = &w},
                     .piece = mock_pieces,
                     .pieces = MOCK_PIECES};
    struct outcome r = {.dir = xstrdup("/tmp/monkeys-pieces-XXXXXX")};
    struct err e = ERR_INIT;

    buf_init(&r.dump, BUF_UNLIMITED);
    m.rule.latency_ns = in_flight == 1 ? 0 : 200000;
    if (!mkdtemp(r.dir) || mock_tasks(r.dir, MOCK_CURRICULUM, &e) < 0 ||
        mock_open(&m, r.dir, o, in_flight, &e) < 0 ||
        mock_run(&m, &r.end, &e) < 0 || mock_dump(m.store, &r.dump, &e) < 0)
        BUG("%s", e.text);
    r.count = search_count(m.search);
    if (mock_close(&m, &e) < 0)
        BUG("%s", e.text);
    r.db = fs_join(r.dir, "run.db");
    return r;
}

static void drop(struct outcome *r)
{
    char *command = scratch_text("rm -r '%s'", r->dir);

    if (system(command) != 0)
        BUG("%s", command);
    buf_release(&r->dump);
    free(r->dir);
    free(r->db);
}

static void query_is(const struct outcome *r, const char *sql, const char *want,
                     const char *claim)
{
    struct buf b = BUF_INIT;

    db_query(r->db, sql, &b);
    is(buf_str(&b), want, claim);
    buf_release(&b);
}

/* ---- the order ---- */

static void test_order(void)
{
    struct search_opts o = mock_opts;
    struct outcome r;

    o.attempts = 1;
    r = run(&o, (struct world){.solved = ""}, 4);
    query_is(
        &r, "SELECT batch, task FROM attempt ORDER BY batch, task",
        "1|2\n1|3\n1|6\n1|7\n2|8\n3|4\n4|5\n5|0\n5|1\n",
        "a mini-batch has one depth: pieces, then what needs them; within a "
        "depth the order of the run counts");
    query_is(&r, "SELECT ord, depth FROM task ORDER BY ord",
             "0|3\n1|3\n2|0\n3|0\n4|1\n5|2\n6|0\n7|0\n8|0\n",
             "a task is deeper than its pieces");
    query_is(&r,
             "SELECT kind, level, replace(needs, char(10), ';'),"
             " replace(parents, char(10), ';') FROM task WHERE ord IN (0, 5)",
             "NULL|NULL|NULL|NULL\npartition|coarse|tasks/t00004;|tasks/"
             "t00000;tasks/t00001;\n",
             "a piece is stored with what it is");
    drop(&r);
}

static void test_methods(void)
{
    static const char *const names[] = {"sampling", "refine", "evolve",
                                        "combined"};

    for (size_t i = 0; i < COUNT(names); i++) {
        struct search_opts o = mock_opts;
        struct outcome r;

        o.method = names[i];
        o.piece_example = true;
        r = run(&o, (struct world){.solved = " 3:1 4:1 5:2 "}, 4);
        ok(r.end == SEARCH_DONE && r.count.pieces_solved == 3 &&
               r.count.solved == 0,
           "%s: pieces are solved and counted apart", names[i]);
        query_is(&r,
                 "SELECT DISTINCT a.task, e.task FROM attempt a JOIN shown s"
                 " USING (task, attempt) JOIN entry e ON e.entry = s.entry"
                 " WHERE s.reason = 'piece' AND a.attempt = 5 ORDER BY 1, 2",
                 "0|4\n1|5\n", "… and shown to the tasks that they belong to");
        drop(&r);
    }
}

/* ---- what is shown ---- */

static void test_shown_at_once(void)
{
    struct search_opts o = mock_opts;
    struct outcome r;

    o.attempts = 2;
    o.piece_example = true;
    r = run(&o, (struct world){.solved = " 3:1 4:1 5:1 "}, 4);
    query_is(&r,
             "SELECT s.task, s.attempt, e.task FROM shown s"
             " JOIN entry e ON e.entry = s.entry WHERE reason = 'piece'"
             " ORDER BY 1, 2",
             "0|1|5\n0|2|4\n1|1|5\n1|2|5\n4|1|3\n5|1|4\n",
             "a piece that was solved in an iteration is shown in it to what "
             "needs it; the deepest first, then the others in turn");
    drop(&r);
    o.piece_example = false;
    r = run(&o, (struct world){.solved = " 3:1 4:1 5:1 "}, 4);
    query_is(&r, "SELECT count(*) FROM shown WHERE reason NOT NULL", "0\n",
             "without the option no place is reserved");
    query_is(&r,
             "SELECT count(*) FROM (SELECT s.task FROM shown s"
             " JOIN entry e ON e.entry = s.entry WHERE s.attempt = 1"
             " AND s.task < 2 AND e.task >= 3 GROUP BY s.task)",
             "2\n", "… but pieces are retrieved like other kernels");
    drop(&r);
}

static void test_same_run(void)
{
    struct search_opts o = mock_opts;
    struct world w = {.solved = " 3:2 4:1 5:1 6:1 0:4 8:2 "};
    struct outcome one, many;

    o.piece_example = true;
    o.refine_after = 2;
    one = run(&o, w, 1);
    many = run(&o, w, 8);
    is(buf_str(&many.dump), buf_str(&one.dump),
       "the run is the same whatever arrives first");
    drop(&one);
    drop(&many);
}

/* ---- what is released ---- */

static void test_lazy(void)
{
    struct search_opts o = mock_opts;
    struct outcome r;

    o.attempts = 5;
    o.refine_after = 2;
    r = run(&o, (struct world){.solved = " 1:2 "}, 4);
    query_is(&r,
             "SELECT task, min(iteration), count(*) FROM attempt GROUP BY task",
             "0|1|5\n1|1|2\n2|1|5\n3|1|5\n4|1|5\n5|1|5\n6|3|3\n7|5|1\n",
             "finer pieces of an unsolved task are released after every 2 "
             "iterations, those of a solved one never; a late piece makes one "
             "attempt an iteration");
    query_is(&r,
             "SELECT max(n) FROM (SELECT count(*) AS n FROM attempt"
             " GROUP BY task, iteration)",
             "1\n", "… as all others do");
    ok(r.count.pieces == 5, "pieces that wait are not counted (%zu)",
       r.count.pieces);
    drop(&r);
}

/* ---- what is counted ---- */

static void test_counts(void)
{
    struct search_opts o = mock_opts;
    struct outcome r;

    r = run(&o, (struct world){.solved = " 0:2 1:1 2:1 3:1 ", .lost = " 6 "},
            4);
    ok(r.end == SEARCH_DONE && r.count.tasks == 3 && r.count.solved == 3 &&
           r.count.over == 3 && r.count.aside == 0,
       "a run is done when all tasks are solved, even if a piece was set "
       "aside");
    ok(r.count.pieces == 6 && r.count.pieces_solved == 1,
       "pieces are counted apart (%zu of %zu)", r.count.pieces_solved,
       r.count.pieces);
    query_is(&r, "SELECT max(iteration) FROM attempt WHERE task > 2", "2\n",
             "pieces are worked on only while some task is unsolved");
    drop(&r);
    r = run(&o, (struct world){.solved = "", .lost = " 1 "}, 4);
    ok(r.end == SEARCH_STUCK, "a task that was set aside is not done");
    drop(&r);
    o.order = "eager";
    r = run(&o, (struct world){.solved = " 0:2 1:1 2:1 3:1 "}, 4);
    ok(r.end == SEARCH_DONE && r.count.solved == 3,
       "in eager order, too, tasks are solved");
    query_is(&r, "SELECT count(*) < 6 * 5 FROM attempt WHERE task > 2", "1\n",
             "… and pieces end with them");
    drop(&r);
}

SUITE(pieces)
{
    log_set_level(LOG_QUIET);
    test_order();
    test_methods();
    test_shown_at_once();
    test_same_run();
    test_lazy();
    test_counts();
    log_set_level(LOG_INFO);
}
