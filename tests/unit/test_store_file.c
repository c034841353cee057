/* test_store_file.c: the database as a file: its schema, and what is refused. */
#include "store/db_schema.h"
#include "store/row.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "scratch.h"
#include "store_fixture.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the schema ---- */

static void test_columns(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    const char *doc = scratch_read("docs/STORAGE.md");
    struct buf got = BUF_INIT, want = BUF_INIT;

    db_close(db_open(dir, STORE_NEW, NULL));
    for (size_t i = 0; i < TABLES; i++) {
        const struct table *t = &store_tables[i];
        bool all = true;
        char *sql =
            sqlite3_mprintf("SELECT name FROM pragma_table_info(%Q)", t->name);

        buf_reset(&got);
        buf_reset(&want);
        db_query(path, sql, &got);
        for (size_t c = 0; c < t->cols; c++) {
            char *quoted = scratch_text("`%s`", t->col[c].name);

            buf_printf(&want, "%s\n", t->col[c].name);
            all = all && strstr(doc, quoted);
        }
        is(buf_str(&got), buf_str(&want), t->name);
        ok(all, "docs/STORAGE.md names every column of %s", t->name);
        sqlite3_free(sql);
    }
    buf_release(&got);
    buf_release(&want);
}

static void test_documented_queries(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    const char *at = scratch_read("docs/STORAGE.md"), *end;
    int n = 0;

    db_close(db_open(dir, STORE_NEW, NULL));
    while ((at = strstr(at, "```sql\n")) && (end = strstr(at + 7, "```"))) {
        char *sql = xstrndup(at + 7, (size_t)(end - at) - 7);

        db_exec(path, sql); /* a query that does not fit is a BUG there */
        free(sql);
        at = end;
        n++;
    }
    ok(n >= 3, "the queries of docs/STORAGE.md fit the tables (%d)", n);
}

static const struct store_step later_schema[] = {
    {"CREATE TABLE old (a INTEGER NOT NULL PRIMARY KEY)", NULL},
    {"ALTER TABLE old ADD COLUMN b INTEGER; UPDATE old SET b = a * 2", NULL},
    {"ALTER TABLE old ADD COLUMN c INTEGER; UPDATE old SET c = a * 3", NULL},
};
static const struct store_step broken_schema[] = {
    {"CREATE TABLE old (a INTEGER NOT NULL PRIMARY KEY)", NULL},
    {"ALTER TABLE old ADD COLUMN b INTEGER", NULL},
    {"UPDATE old SET b = nonsense", NULL},
};

static int bring_to(const char *path, const struct store_step *schema,
                    size_t version, enum store_mode mode, struct err *e)
{
    sqlite3 *db = NULL;
    int rc;

    if (sqlite3_open(path, &db) != SQLITE_OK)
        BUG("%s", path);
    rc = store_check_schema(db, path, mode, schema, version, e);
    sqlite3_close(db);
    return rc;
}

static void test_migration(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    char *copy = scratch_path(dir, "run.db.v1.bak");
    struct err e = ERR_INIT;
    sqlite3 *db = NULL;
    struct buf out = BUF_INIT;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        store_migrate(db, path, later_schema, 1, &e) < 0)
        BUG("%s", e.text);
    sqlite3_close(db);
    db_exec(path, "INSERT INTO old VALUES (5)");
    ok(bring_to(path, later_schema, 3, STORE_READ, &e) < 0 &&
           strstr(e.text, "has schema 1, but this program reads 3; 'monkeys "
                          "resume'"),
       "what a reader cannot see through it says who migrates");
    ok(bring_to(path, broken_schema, 3, STORE_OPEN, &e) < 0 &&
           db_number(path, "PRAGMA user_version") == 1 &&
           db_number(path, "SELECT count(*) FROM "
                           "pragma_table_info('old')") == 1,
       "a step that fails leaves the file as it was");
    ok(bring_to(path, later_schema, 3, STORE_OPEN, &e) == 0,
       "an older file is brought up to date");
    db_query(path, "SELECT * FROM old; PRAGMA user_version", &out);
    is(buf_str(&out), "5|10|15\n3\n", "through every step");
    buf_reset(&out);
    db_query(copy, "SELECT * FROM old; PRAGMA user_version", &out);
    is(buf_str(&out), "5\n1\n", "and a copy of it as it was is kept");
    ok(bring_to(path, later_schema, 2, STORE_OPEN, &e) < 0 &&
           strstr(e.text, "has schema 3, but this program knows only up to "
                          "2; use the newer monkeys"),
       "a newer file is refused with both numbers and the remedy");
    buf_release(&out);
}

static int count_entry(const void *row, void *arg)
{
    const struct row_entry *r = row;

    *(int *)arg += r->entry == 3 && r->withdrawn == 0 && !r->ported &&
                   strcmp(r->evidence, "E3") == 0;
    return 0;
}

/* A file of the first schema, with a member of the archive. */
static void make_first_schema(const char *path)
{
    struct err e = ERR_INIT;
    sqlite3 *db = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        store_migrate(db, path, store_steps, 1, &e) < 0)
        BUG("%s", e.text);
    sqlite3_close(db);
    db_exec(path, "PRAGMA journal_mode = WAL;"
                  "INSERT INTO entry VALUES (3, 1, 'run', 0, 1, 'a/b', 'h', "
                  "'p', NULL, 's', 'E3')");
}

static void test_first_schema(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    struct err e = ERR_INIT;
    struct store *s;
    int n = 0;

    make_first_schema(path);
    s = store_open(path, STORE_READ, NULL, &e);
    ok(s && store_each(s, STORE_ENTRIES, count_entry, &n, &e) == 0 && n == 1,
       "a run of the first schema is read as it is");
    if (s)
        db_close(s);
    ok(db_number(path, "PRAGMA user_version") == 1, "and stays as it was");
    s = store_open(path, STORE_OPEN, NULL, &e);
    ok(s && store_each(s, STORE_ENTRIES, count_entry, &n, &e) == 0 && n == 2,
       "one that goes on is brought up to date");
    if (s)
        db_close(s);
    ok(db_number(path, "PRAGMA user_version") == (int64_t)store_version,
       "to the last schema");
}

/* A call of the second schema, as a run that goes on looks for it. */
static int find_old_call(const void *row, void *arg)
{
    const struct row_call *r = row;
    char asked[HASH_HEX];

    hash_hex("a/b\nsrc\n2", 9, asked);
    *(int *)arg += strcmp(r->purpose, "plan") == 0 && r->task == 0 &&
                   r->attempt == 2 && r->try == 1 &&
                   strcmp(r->state, "answered") == 0 &&
                   strcmp(r->reply, "blob") == 0 && r->cost_usd_micro == 7 &&
                   r->assumed_usd_micro == 0 && strcmp(r->asked, asked) == 0;
    return 0;
}

static int count_calls(const void *row, void *arg)
{
    const struct row_call *r = row;

    *(int *)arg += strcmp(r->purpose, "plan") == 0 && r->attempt == 2;
    return 0;
}

static void test_second_schema(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    struct err e = ERR_INIT;
    sqlite3 *db = NULL;
    struct store *s;
    int n = 0;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        store_migrate(db, path, store_steps, 2, &e) < 0)
        BUG("%s", e.text);
    sqlite3_close(db);
    db_exec(path,
            "PRAGMA journal_mode = WAL;"
            "INSERT INTO task VALUES (0, 'a/b', 'h', 'src', NULL, '', NULL);"
            "INSERT INTO call VALUES (0, 2, 'plan', 1, 'answered', 'p', 'p',"
            " 'blob', NULL, 'stop', 'm', NULL, 1, 0, 2, 0, 0, 9, 9, 7, 3, 1,"
            " 10, 11, 12)");
    s = store_open(path, STORE_READ, NULL, &e);
    ok(s && store_each(s, STORE_CALLS, count_calls, &n, &e) == 0 && n == 1,
       "the calls of the second schema are read as they are");
    if (s)
        db_close(s);
    n = 0;
    s = store_open(path, STORE_OPEN, NULL, &e);
    ok(s && store_each(s, STORE_CALLS, find_old_call, &n, &e) == 0 && n == 1,
       "a reply that was paid for under it is found by what was asked (%s)",
       e.text);
    if (s)
        db_close(s);
}

static int count_recheck(const void *row, void *arg)
{
    const struct row_recheck *r = row;

    *(int *)arg += r->pass == 1 && strcmp(r->verdict, "crash") == 0;
    return 0;
}

static void test_third_schema(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    struct row_recheck row = {.pass = 1,
                              .problem = "p",
                              .solution = "s",
                              .under = "here",
                              .verdict = "crash",
                              .judged_at = 5};
    struct err e = ERR_INIT;
    sqlite3 *db = NULL;
    struct store *s;
    int n = 0;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        store_migrate(db, path, store_steps, 3, &e) < 0)
        BUG("%s", e.text);
    sqlite3_close(db);
    db_exec(path, "PRAGMA journal_mode = WAL;"
                  "INSERT INTO entry VALUES (3, 1, 'run', 0, 1, 'a/b', 'h', "
                  "'p', NULL, 's', 'E3', NULL)");
    s = store_open(path, STORE_READ, NULL, &e);
    ok(s && store_each(s, STORE_RECHECKS, count_recheck, &n, &e) == 0 && n == 0,
       "in a run of the third schema nothing was verified again (%s)", e.text);
    if (s)
        db_close(s);
    s = store_open(path, STORE_OPEN, NULL, &e);
    if (s) {
        store_recheck(s, &row);
        store_sync(s, &e);
        n = 0;
        ok(store_each(s, STORE_RECHECKS, count_recheck, &n, &e) == 0 && n == 1,
           "one that is brought up to date has a place for it");
        n = 0;
        ok(store_each(s, STORE_ENTRIES, count_entry, &n, &e) == 0 && n == 1,
           "and keeps its entries");
        row.verdict = "correct";
        store_recheck(s, &row);
        ok(store_sync(s, &e) < 0, "what a pass has found does not change");
        store_close(s, &e);
    }
}

/* ---- refusals ---- */

/* One line: PATH, and what to do. */
static void refuses(const char *path, enum store_mode mode, const char *want,
                    const char *claim)
{
    struct err e = ERR_INIT;
    char *line = scratch_text("%s: %s", path, want);

    is(db_refusal(path, mode, &e), line, claim);
    ok(e.kind == ERR_INPUT, "… as bad input");
}

static void test_wrong_files(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT;

    refuses(path, STORE_OPEN, "not found; name the folder of a run",
            "a missing file");
    scratch_put(dir, "run.db", "");
    refuses(path, STORE_OPEN, "a database, but not that of a run",
            "an empty file");
    scratch_put(dir, "run.db", "not a database, whatever its name may say");
    refuses(path, STORE_OPEN, "not a database; name the folder of a run",
            "another kind of file");
    refuses(path, STORE_READ, "not a database; name the folder of a run",
            "… for reading");
    refuses(
        path, STORE_NEW,
        "already exists; continue it with 'monkeys resume', or choose another "
        "folder",
        "a file where a new one should be");
    unlink(path);
    db_exec(path, "CREATE TABLE mine (a)");
    refuses(path, STORE_OPEN, "a database, but not that of a run",
            "a database of somebody else's");
    db_query(path, "PRAGMA journal_mode", &out);
    is(buf_str(&out), "delete\n", "it is untouched");
    buf_release(&out);
    refuses(dir, STORE_OPEN, "not a file", "a folder");
    path = scratch_path(dir, "none/run.db");
    ok(strstr(db_refusal(path, STORE_NEW, &e), "/none: no such folder"),
       "no folder");
}

static void test_read_leaves_nothing(void)
{
    char *dir = scratch_dir(), *log = scratch_path(dir, "run.db-wal"),
         *index = scratch_path(dir, "run.db-shm");
    struct store *s;
    struct err e = ERR_INIT;

    db_close(db_open(dir, STORE_NEW, NULL));
    s = db_open(dir, STORE_READ, NULL);
    ok(store_exec(store_reader(s), "run.db", "DELETE FROM fact", &e) < 0,
       "a store that is read cannot be written");
    db_close(s);
    ok(access(log, F_OK) < 0 && access(index, F_OK) < 0,
       "… and reading it leaves no file behind");
}

static void test_newer(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");

    db_close(db_open(dir, STORE_NEW, NULL));
    db_exec(path, "PRAGMA user_version = 999");
    refuses(path, STORE_OPEN,
            "has schema 999, but this program knows only up to "
            "9; use the newer monkeys that wrote it",
            "a newer schema");
}

static void test_damaged(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    struct store *s = db_open(dir, STORE_NEW, NULL);
    FILE *f;

    store_set(s, "seed", "1");
    db_close(s);
    f = fopen(path, "r+e");
    if (!f || fseek(f, 4096, SEEK_SET) < 0)
        BUG("%s", path);
    for (int i = 0; i < 60000; i++)
        fputc('x', f);
    fclose(f);
    refuses(path, STORE_OPEN,
            "the database is damaged; 'sqlite3 FILE .recover' recovers what it "
            "can",
            "a damaged file");
}

static void test_crash_while_made(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    char *part = scratch_put(dir, "run.db.part", "half");

    db_close(db_open(dir, STORE_NEW, NULL));
    ok(fs_is_file(path) && !fs_is_file(part),
       "what a crash left of a new file is not in the way");
}

static void test_permissions(void)
{
    char *dir = scratch_dir(), *path = scratch_path(dir, "run.db");
    bool root = geteuid() == 0;
    struct err e = ERR_INIT;

    db_close(db_open(dir, STORE_NEW, NULL));
    if (chmod(dir, 0755) < 0 || chmod(path, 0444) < 0 ||
        (root && setresuid(65534, 65534, 0) < 0))
        BUG("permissions");
    if (!root)
        refuses(path, STORE_OPEN, "cannot be written: Permission denied",
                "a file that may not be written");
    if (!root && chmod(dir, 0555) < 0)
        BUG("chmod");
    ok(strstr(db_refusal(path, STORE_OPEN, &e),
              ": the folder is not writable: Permission denied"),
       "a folder that may not be written");
    is(db_refusal(path, STORE_READ, &e), "", "it can be read all the same");
    if (root && setresuid(0, 0, 0) < 0)
        BUG("setresuid");
    chmod(dir, 0777);
    if (root && setresuid(65534, 65534, 0) == 0) {
        refuses(path, STORE_OPEN, "cannot be written: Permission denied",
                "a file that may not be written");
        if (setresuid(0, 0, 0) < 0)
            BUG("setresuid");
    }
}

/* ---- disks: a thread with mounts of its own, gone when it ends ---- */

static void fill(struct store *s)
{
    char text[3000], hash[HASH_HEX];
    struct rng *r = xcalloc(1, sizeof(*r));

    rng_init(r, "noise");
    for (int i = 1; i <= 400; i++) {
        for (size_t k = 0; k < sizeof(text); k++)
            text[k] = (char)rng_next(r);
        store_blob(s, (struct str){text, sizeof(text)}, hash);
        store_shown(s, &(struct row_shown){1, 1, i, i, -2, NULL});
        if (i % 10 == 0)
            store_sync(s, &(struct err){0});
    }
    free(r);
}

static void test_full_disk(const char *dir)
{
    char *path = scratch_path(dir, "run.db");
    struct store *s = db_open(dir, STORE_NEW, NULL);
    struct err e = ERR_INIT;
    int64_t rows;

    fill(s);
    ok(store_close(s, &e) < 0 && e.sys == ENOSPC &&
           strstr(e.text,
                  "the disk is full; free some space and continue with"),
       "a full disk is told: %s", e.text);
    if (mount("none", dir, "tmpfs", MS_REMOUNT, "size=16m") < 0)
        BUG("remount");
    rows = db_number(path, "SELECT count(*) FROM shown");
    ok(rows >= 10 && rows % 10 == 0 && rows < 400 &&
           db_number(path, "SELECT max(rank) FROM shown") == rows &&
           db_number(path, "SELECT count(*) FROM blob") == rows,
       "the rows before it are there, whole, and none after (%lld)",
       (long long)rows);
    s = db_open(dir, STORE_OPEN, NULL);
    fill(s);
    db_close(s);
    ok(db_number(path, "SELECT count(*) FROM shown") == 400,
       "with room it goes on");
}

static void test_read_only_disk(const char *dir)
{
    char *path = scratch_path(dir, "run.db");
    struct err e = ERR_INIT;

    if (mount("none", dir, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL) < 0)
        BUG("remount");
    ok(strstr(db_refusal(path, STORE_OPEN, &e),
              ": the folder is not writable: Read-only file "
              "system"),
       "a disk that cannot be written");
    is(db_refusal(path, STORE_READ, &e), "", "a run there can be read");
}

static void *with_own_disk(void *arg)
{
    char *dir = arg;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", dir, "tmpfs", 0, "size=1m") < 0) {
        tap_skip("a full disk", "mounting is not allowed here");
        return NULL;
    }
    test_full_disk(dir);
    test_read_only_disk(dir);
    return NULL;
}

static void test_disks(void)
{
    char *dir = scratch_dir();
    pthread_t t;

    if (pthread_create(&t, NULL, with_own_disk, dir) != 0)
        BUG("pthread_create");
    pthread_join(t, NULL);
}

SUITE(store_file)
{
    test_columns();
    test_documented_queries();
    test_migration();
    test_first_schema();
    test_second_schema();
    test_third_schema();
    test_wrong_files();
    test_read_leaves_nothing();
    test_newer();
    test_damaged();
    test_crash_while_made();
    test_permissions();
    test_disks();
}
