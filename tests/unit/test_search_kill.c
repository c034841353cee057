/* test_search_kill.c: a whole search is ended at the operations of its store,
 * one after the other, and gone on with: the tables are those of a run that
 * nobody stopped, no stored reply is asked for again, the ledger is the sum of
 * the calls and within the cap.
 *
 * In eager order the tables depend on when replies come. There, the rows of
 * `shown` are the examples of the prompt that the stored reply answers.
 *
 * The search is this program with SEARCH_CHILD="DIR METHOD ORDER REVIEWER CAP
 * PIECES" in its environment (PIECES: how many of the tasks are pieces); it
 * writes what it asks to DIR/asked, and which kernels a prompt shows to
 * DIR/examples. SEARCH_KILL_STRIDE=1 tries every operation, otherwise some are
 * left out. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "mock.h"
#include "respawn.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 4
#define TIGHT 150000 /* a run, but not many lost calls */

/* ---- the search ---- */

struct child {
    int log, examples;
    bool lost; /* a request was lost on its way */
};

/* "TASK|ATTEMPT|" and the tasks whose kernels the prompt shows. */
static void log_examples(const struct child *c, const struct llm_request *r)
{
    static const char mark[] = "    task = \"";
    struct buf line = BUF_INIT;

    buf_printf(&line, "%s|%d|", r->key.task, r->key.attempt);
    for (size_t i = 0; i < r->count; i++) {
        char *text = xstrndup(r->message[i].text.p, r->message[i].text.n);

        for (const char *p = text; (p = strstr(p, mark));) {
            p += strlen(mark);
            buf_printf(&line, "%.*s ", (int)strcspn(p, "\""), p);
        }
        free(text);
    }
    buf_putc(&line, '\n');
    if (write(c->examples, buf_str(&line), line.len) != (ssize_t)line.len)
        BUG("log");
    buf_release(&line);
}

/* Once in a process a request comes to nothing and may have been billed. */
static enum send_outcome on_asked(const struct llm_request *r, void *arg)
{
    struct child *c = arg;
    char line[200];
    int n = snprintf(line, sizeof(line), "%s|%d|%s\n", r->key.task,
                     r->key.attempt, r->key.stage);

    if (write(c->log, line, (size_t)n) != n)
        BUG("log");
    if (strcmp(r->key.stage, "code") == 0)
        log_examples(c, r);
    if (c->lost || strcmp(r->key.stage, "plan") != 0)
        return SEND_ANSWERED;
    c->lost = true;
    return SEND_LOST;
}

/* The second attempt repeats the first; one review must be asked for twice;
 * some are bad. */
static void on_reply(const struct llm_request *r, struct buf *out, void *arg)
{
    int number = r->key.attempt == 2 ? 1 : r->key.attempt;
    bool second = strcmp(r->key.task, "tasks/t00001") == 0;

    (void)arg;
    if (strcmp(r->key.stage, "plan") == 0)
        buf_printf(out, "Plan %d of %s.\n", number, r->key.task);
    else if (strcmp(r->key.stage, "review") == 0 && second)
        buf_puts(out, "I cannot say.");
    else if (strncmp(r->key.stage, "review", 6) == 0)
        buf_printf(out,
                   "{\"score\": %s, \"summary\": \"%s %d\", \"reasons\": "
                   "[\"it is so\"]}",
                   r->key.attempt % 2 ? "0.2" : "0.9", r->key.task,
                   r->key.attempt);
    else
        buf_printf(out,
                   "```python\nclass ModelNew:\n    task = \"%s\"\n"
                   "    attempt = %d\n```\n",
                   r->key.task, number);
}

static _Noreturn void be_child(const char *spec)
{
    struct child c = {0};
    struct mock m = {
        .rule = {.reply = on_reply, .outcome = on_asked, .arg = &c},
        .price = {.known = true, .input = 1000000, .output = 1000000}};
    struct search_opts o = mock_opts;
    struct err e = ERR_INIT;
    enum search_end end;
    char dir[200], method[32], order[32], reviewer[32], path[220];
    long long cap;

    if (sscanf(spec, "%199s %31s %31s %31s %lld %zu", dir, method, order,
               reviewer, &cap, &m.pieces) != 6)
        BUG("%s", spec);
    log_set_level(LOG_QUIET);
    snprintf(path, sizeof(path), "%s/asked", dir);
    c.log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    snprintf(path, sizeof(path), "%s/examples", dir);
    c.examples = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    o.method = method;
    o.order = order;
    o.reviewer = reviewer;
    o.attempts = 4;
    o.batch = 2;
    o.no_stop = strcmp(method, "evolve") == 0; /* times count there */
    m.piece = mock_pieces;
    o.refine_after = m.pieces && strcmp(method, "monkeys") == 0 ? 1 : 0;
    o.piece_example = m.pieces > 0;
    o.phase[0] = 1, o.phase[1] = 1, o.phase[2] = 2;
    budget_init(&m.budget, (struct llm_cost){cap, BUDGET_NO_CAP});
    if (mock_open(&m, dir, &o, 2, &e) < 0 || mock_run(&m, &end, &e) < 0)
        BUG("%s", e.text);
    printf("spent %lld\n", (long long)m.budget.spent.usd_micro);
    fflush(stdout);
    if (mock_close(&m, &e) < 0)
        BUG("%s", e.text);
    _exit(end == SEARCH_DONE ? 0 : 20 + (int)end);
}

/* ---- what is expected of it ---- */

struct trial {
    const char *dir, *method, *order, *reviewer;
    int64_t cap;
    size_t pieces;
    bool tight; /* calls that were lost may leave too little */
    char *spec, *db, *asked, *examples;
    struct buf want; /* the tables of a run that nobody stopped */
    int tried, same, paid_twice, ledger;
    int poor; /* ended when the budget did */
};

/* Returns how it ended; `spent` is what it says, or -1. */
static int run_child(const struct trial *t, const char *fault, int64_t *spent)
{
    struct respawned c = respawn("search_kill", "SEARCH_CHILD", t->spec, fault);
    FILE *f = fdopen(c.out, "r");
    char line[200];
    long long n = -1;
    int status;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "spent %lld", &n) != 1 && line[0] != '#')
            printf("# %s", line);
    fclose(f);
    if (waitpid(c.pid, &status, 0) != c.pid)
        BUG("waitpid");
    *spent = n;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void dump(const struct trial *t, struct buf *out)
{
    static const char *const sql[] = {
        "SELECT * FROM task ORDER BY ord",
        "SELECT * FROM attempt ORDER BY task, attempt",
        "SELECT * FROM shown ORDER BY task, attempt, rank",
        "SELECT * FROM entry LEFT JOIN entry_left USING (entry) ORDER BY entry",
        "SELECT * FROM verdict ORDER BY task, attempt",
        "SELECT * FROM review ORDER BY hash",
    };

    for (size_t i = 0; i < COUNT(sql); i++)
        db_query(t->db, sql[i], out);
}

/* How many of the stored replies were asked for all the same. */
static int asked_again(const struct trial *t, const struct buf *stored)
{
    struct str rest = {buf_str(stored), stored->len}, line;
    struct err e = ERR_INIT;
    struct buf asked = BUF_INIT;
    int n = 0;

    buf_putc(&asked, '\n');
    if (fs_is_file(t->asked) && fs_read(t->asked, &asked, &e) < 0)
        BUG("%s", e.text);
    while (str_cut(&rest, '\n', &line)) {
        char *key = scratch_text("\n%.*s\n", (int)line.n, line.p);

        n += strstr(buf_str(&asked), key) != NULL;
    }
    buf_release(&asked);
    return n;
}

/* Whether the rows of `shown` name what each stored reply was asked with: the
 * last prompt of an attempt. */
static bool shown_is_right(const struct trial *t)
{
    struct err e = ERR_INIT;
    struct str rest, line;
    struct buf shown = BUF_INIT, log = BUF_INIT;
    bool right = true;

    db_query(t->db,
             "SELECT a.id || '|' || attempt || '|', (SELECT "
             "coalesce(group_concat(id || ' ', ''), '') FROM (SELECT b.id FROM "
             "shown JOIN entry USING (entry) JOIN task AS b ON b.ord = "
             "entry.task WHERE shown.task = attempt.task AND shown.attempt = "
             "attempt.attempt ORDER BY rank)) FROM attempt JOIN task AS a ON "
             "a.ord = attempt.task",
             &shown);
    if (fs_read(t->examples, &log, &e) < 0)
        BUG("%s", e.text);
    rest = (struct str){buf_str(&shown), shown.len};
    while (str_cut(&rest, '\n', &line)) {
        char *want = xstrndup(line.p, line.n), *key = strrchr(want, '|');
        const char *last = NULL;

        /* "TASK|ATTEMPT||EXAMPLES": the query puts a bar between columns */
        memmove(key, key + 1, strlen(key));
        for (const char *p = buf_str(&log); p; p = strchr(p, '\n')) {
            p += *p == '\n';
            if (strncmp(p, want, (size_t)(key - want)) == 0)
                last = p;
        }
        if (!last || strncmp(last, want, strlen(want)) != 0 ||
            last[strlen(want)] != '\n') {
            printf("# shown: %s, asked: %.*s\n", want,
                   last ? (int)strcspn(last, "\n") : 7,
                   last ? last : "nothing");
            right = false;
        }
        free(want);
    }
    buf_release(&shown);
    buf_release(&log);
    return right;
}

/* What was spent is what the calls cost, nothing is left open, and it is
 * within the cap. */
static bool ledger_is_right(const struct trial *t, int64_t spent)
{
    int64_t sum =
        db_number(t->db, "SELECT coalesce(sum(cost_usd_micro), 0) FROM call");
    int64_t open =
        db_number(t->db, "SELECT count(*) FROM call WHERE state = 'open'");
    bool good = spent == sum && open == 0 && spent <= t->cap;

    if (!good)
        printf("# spent %lld, calls %lld, cap %lld, %lld open\n",
               (long long)spent, (long long)sum, (long long)t->cap,
               (long long)open);
    return good;
}

static void remove_run(const struct trial *t)
{
    static const char *const names[] = {"run.db",     "run.db-wal",
                                        "run.db-shm", "run.db.part",
                                        "asked",      "examples"};

    for (size_t i = 0; i < COUNT(names); i++)
        unlink(scratch_path(t->dir, names[i]));
}

/* Ends a run at its operation `n`, then goes on; false when there was no such
 * operation. */
static bool stop_at(struct trial *t, int n)
{
    struct buf stored = BUF_INIT, got = BUF_INIT;
    char fault[16];
    int64_t spent;
    int first, last = 0;

    remove_run(t);
    snprintf(fault, sizeof(fault), "%d", n);
    first = run_child(t, fault, &spent);
    if (first == 9) {
        db_query(
            t->db,
            "SELECT id, attempt, purpose FROM call JOIN task ON ord = task "
            "WHERE state = 'answered'",
            &stored);
        unlink(t->asked);
        last = run_child(t, "", &spent);
        t->paid_twice += asked_again(t, &stored);
    }
    dump(t, &got);
    t->tried++;
    t->ledger += ledger_is_right(t, spent);
    if (last == 0 && (strcmp(t->order, "eager") == 0
                          ? shown_is_right(t)
                          : strcmp(buf_str(&got), buf_str(&t->want)) == 0))
        t->same++;
    else if (last == 20 + SEARCH_NO_BUDGET)
        t->poor++;
    else
        printf("# operation %d: ended with %d, then %d\n", n, first, last);
    buf_release(&stored);
    buf_release(&got);
    return first == 9;
}

static int stride(void)
{
    const char *text = getenv("SEARCH_KILL_STRIDE");
    int64_t n;

    return text && str_to_i64(str_of(text), 1, 1000, &n) ? (int)n : 67;
}

/* `began` spreads the operations that are tried over the trials. */
static void try_all(struct trial *t, int began)
{
    int64_t spent;
    int n = stride() == 1 ? 1 : began;

    t->spec = xasprintf("%s %s %s %s %lld %zu", t->dir, t->method, t->order,
                        t->reviewer, (long long)t->cap, t->pieces);
    t->db = fs_join(t->dir, "run.db");
    t->asked = fs_join(t->dir, "asked");
    t->examples = fs_join(t->dir, "examples");
    buf_init(&t->want, BUF_UNLIMITED);
    remove_run(t);
    ok(run_child(t, "", &spent) == 0,
       "%s, %s, reviewer %s, %zu pieces: comes to its end", t->method, t->order,
       t->reviewer, t->pieces);
    dump(t, &t->want);
    while (n < 20000 && stop_at(t, n))
        n += stride();
    ok(t->tried > 5 && n < 20000, "… and is ended %d times before it",
       t->tried - 1);
    ok(t->paid_twice == 0, "… no reply in the store is asked for again (%d)",
       t->paid_twice);
    ok(t->ledger == t->tried, "… the ledger is right (%d of %d)", t->ledger,
       t->tried);
    ok(t->same + t->poor == t->tried && (t->poor > 0) == t->tight,
       "… %s (%d of %d), or the budget is used up (%d)",
       strcmp(t->order, "eager") == 0
           ? "the examples are those of the prompts"
           : "the tables are those of a run that nobody stopped",
       t->same, t->tried, t->poor);
    buf_release(&t->want);
    free(t->spec);
    free(t->db);
    free(t->asked);
    free(t->examples);
}

static char *make_dir(size_t tasks)
{
    char *dir = scratch_dir();
    struct err e = ERR_INIT;

    if (mock_tasks(dir, tasks, &e) < 0)
        BUG("no folder: %s", e.text);
    return dir;
}

SUITE(search_kill)
{
    static const struct {
        const char *method, *order, *reviewer;
        int64_t cap;
        size_t pieces;
    } trials[] = {
        {"monkeys", "strict", "loop", 1000000000, 0},
        {"refine", "strict", "end", 1000000000, 0},
        {"evolve", "strict", "off", 1000000000, 0},
        {"combined", "strict", "loop", 1000000000, 0},
        {"monkeys", "strict", "off", TIGHT, 0},
        {"monkeys", "strict", "off", 1000000000, 6},
        {"combined", "strict", "off", 1000000000, 6},
        {"monkeys", "eager", "loop", 1000000000, 0},
        {"monkeys", "eager", "off", 1000000000, 6},
    };
    const char *spec = getenv("SEARCH_CHILD");

    if (spec)
        be_child(spec);
    for (size_t i = 0; i < COUNT(trials); i++) {
        struct trial t = {.method = trials[i].method,
                          .order = trials[i].order,
                          .reviewer = trials[i].reviewer,
                          .cap = trials[i].cap,
                          .pieces = trials[i].pieces,
                          .tight = trials[i].cap == TIGHT};

        t.dir = make_dir(t.pieces ? MOCK_CURRICULUM : TASKS);
        try_all(&t, 3 + 8 * (int)i);
        fs_remove_tree(t.dir);
    }
}
