/* db_schema.c: the tables as numbered steps, and how a file comes to the last.
 *
 * A step that was released never changes: files made by it are out there. What
 * is new goes into a step of its own, and into the tables of row.c. */
#include "store/db_schema.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- errors ---- */

static const struct {
    int code;
    enum err_kind kind;
    int sys;
    const char *text;
} complaints[] = {
    {SQLITE_FULL, ERR_SYSTEM, ENOSPC,
     "the disk is full; free some space and continue with "
     "'monkeys resume'"},
    {SQLITE_NOTADB, ERR_INPUT, 0, "not a database; name the folder of a run"},
    {SQLITE_CORRUPT, ERR_INPUT, 0,
     "the database is damaged; 'sqlite3 FILE .recover' recovers what it can"},
    {SQLITE_READONLY, ERR_INPUT, 0,
     "cannot be written; check the permissions of the file and its folder"},
    {SQLITE_PERM, ERR_INPUT, EACCES, "cannot be opened; check its permissions"},
    {SQLITE_CANTOPEN, ERR_INPUT, 0,
     "cannot be opened; check the permissions of the file and its folder"},
    {SQLITE_BUSY, ERR_SYSTEM, EBUSY,
     "locked by another program; try again when it has ended ('fuser -v FILE' "
     "shows which one)"},
};

int store_sql_err(struct err *e, sqlite3 *db, const char *path,
                  const char *doing)
{
    int code = sqlite3_errcode(db) & 0xff, sys = sqlite3_system_errno(db);

    for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++) {
        if (complaints[i].code != code)
            continue;
        err_set(e, complaints[i].kind, "%s: %s", path, complaints[i].text);
        e->sys = complaints[i].sys;
        return -1;
    }
    if (code == SQLITE_IOERR && sys) {
        errno = sys;
        return err_sys(e, "%s: %s", path, doing);
    }
    return err_set(e, ERR_SYSTEM, "%s: %s: %s", path, doing,
                   sqlite3_errmsg(db));
}

int store_exec(sqlite3 *db, const char *path, const char *sql, struct err *e)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return store_sql_err(e, db, path, "set up");
}

int store_number(sqlite3 *db, const char *path, const char *sql, int64_t *out,
                 struct err *e)
{
    sqlite3_stmt *q = NULL;
    int rc = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW) {
        *out = sqlite3_column_int64(q, 0);
        rc = 0;
    } else {
        store_sql_err(e, db, path, sql);
    }
    sqlite3_finalize(q);
    return rc;
}

/* ---- the steps ---- */

/* Small rows with a natural key need no row number; a blob is large, and a
 * search among its neighbours should not read it. */
static const char version_1[] =
    "CREATE TABLE fact ("
    " name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE task ("
    " ord INTEGER NOT NULL PRIMARY KEY, id TEXT NOT NULL, hash TEXT NOT NULL,"
    " source TEXT NOT NULL, path TEXT, ops TEXT, skipped TEXT"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE blob ("
    " hash TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL,"
    " data BLOB NOT NULL"
    ") STRICT;"
    "CREATE TABLE call ("
    " task INTEGER NOT NULL, attempt INTEGER NOT NULL, stage TEXT NOT NULL,"
    " try INTEGER NOT NULL, state TEXT NOT NULL, prompt TEXT,"
    " prompt_hash TEXT, reply TEXT, thought TEXT, finish TEXT, model TEXT,"
    " error TEXT, input INTEGER NOT NULL, cached INTEGER NOT NULL,"
    " output INTEGER NOT NULL, reasoning INTEGER NOT NULL,"
    " estimated INTEGER NOT NULL, reserved_usd_micro INTEGER NOT NULL,"
    " reserved_tokens INTEGER NOT NULL, cost_usd_micro INTEGER NOT NULL,"
    " cost_tokens INTEGER NOT NULL, requests INTEGER NOT NULL,"
    " wall_us INTEGER NOT NULL, asked_at INTEGER NOT NULL,"
    " answered_at INTEGER NOT NULL,"
    " PRIMARY KEY (task, attempt, stage, try)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE attempt ("
    " task INTEGER NOT NULL, attempt INTEGER NOT NULL, method TEXT NOT NULL,"
    " iteration INTEGER NOT NULL, batch INTEGER NOT NULL,"
    " archive_version INTEGER NOT NULL, retrieval TEXT,"
    " parent INTEGER NOT NULL, island INTEGER NOT NULL, plan TEXT, code TEXT,"
    " code_hash TEXT, stage TEXT, verdict TEXT NOT NULL, rule TEXT,"
    " fitness REAL, same_as INTEGER NOT NULL, solved INTEGER NOT NULL,"
    " PRIMARY KEY (task, attempt)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE shown ("
    " task INTEGER NOT NULL, attempt INTEGER NOT NULL, rank INTEGER NOT NULL,"
    " entry INTEGER NOT NULL, cosine REAL, PRIMARY KEY (task, attempt, rank)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE verdict ("
    " task INTEGER NOT NULL, attempt INTEGER NOT NULL, verdict TEXT NOT NULL,"
    " stage TEXT, evidence TEXT, compiled INTEGER NOT NULL,"
    " kernelbench_pass INTEGER NOT NULL, max_abs REAL, max_rel REAL,"
    " error_ratio REAL, feedback TEXT, record TEXT,"
    " PRIMARY KEY (task, attempt)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE verdict_time ("
    " task INTEGER NOT NULL, attempt INTEGER NOT NULL, times TEXT,"
    " wall_us INTEGER NOT NULL, judged_at INTEGER NOT NULL,"
    " PRIMARY KEY (task, attempt)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE entry ("
    " entry INTEGER NOT NULL PRIMARY KEY, version INTEGER NOT NULL,"
    " origin TEXT NOT NULL, task INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    " name TEXT NOT NULL, task_hash TEXT, problem TEXT, plan TEXT,"
    " solution TEXT NOT NULL, evidence TEXT"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE entry_left ("
    " entry INTEGER NOT NULL PRIMARY KEY, left_version INTEGER NOT NULL,"
    " why TEXT"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE review ("
    " hash TEXT NOT NULL PRIMARY KEY, score REAL, reply TEXT"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE vector ("
    " source TEXT NOT NULL, hash TEXT NOT NULL, v BLOB NOT NULL,"
    " PRIMARY KEY (source, hash)"
    ") STRICT;"
    "CREATE TABLE event ("
    " seq INTEGER NOT NULL PRIMARY KEY, kind TEXT NOT NULL,"
    " task INTEGER NOT NULL, attempt INTEGER NOT NULL, text TEXT,"
    " told_at INTEGER NOT NULL"
    ") STRICT;";

/* A call is known by its purpose and a hash of what is asked. Whose call it was
 * says that of the calls in version 2. */
#define CALL_REST                                                        \
    " prompt, prompt_hash, reply, thought, finish, model, error, input," \
    " cached, output, reasoning, estimated, reserved_usd_micro,"         \
    " reserved_tokens, cost_usd_micro, cost_tokens,"                     \
    " CASE WHEN estimated OR state IN ('failed', 'lost')"                \
    " THEN cost_usd_micro ELSE 0 END AS assumed_usd_micro,"              \
    " requests, wall_us, asked_at, answered_at"
static const char version_3[] =
    "CREATE TABLE call_3 ("
    " purpose TEXT NOT NULL, asked TEXT NOT NULL, try INTEGER NOT NULL,"
    " task INTEGER NOT NULL, attempt INTEGER NOT NULL, state TEXT NOT NULL,"
    " prompt TEXT, prompt_hash TEXT, reply TEXT, thought TEXT, finish TEXT,"
    " model TEXT, error TEXT, input INTEGER NOT NULL, cached INTEGER NOT NULL,"
    " output INTEGER NOT NULL, reasoning INTEGER NOT NULL,"
    " estimated INTEGER NOT NULL, reserved_usd_micro INTEGER NOT NULL,"
    " reserved_tokens INTEGER NOT NULL, cost_usd_micro INTEGER NOT NULL,"
    " cost_tokens INTEGER NOT NULL, assumed_usd_micro INTEGER NOT NULL,"
    " requests INTEGER NOT NULL, wall_us INTEGER NOT NULL,"
    " asked_at INTEGER NOT NULL, answered_at INTEGER NOT NULL,"
    " PRIMARY KEY (purpose, asked, try)"
    ") STRICT, WITHOUT ROWID;"
    "INSERT INTO call_3 SELECT call.stage,"
    " sha256(task.id || char(10) || task.source || char(10) || attempt),"
    " try, task, attempt, state," CALL_REST
    " FROM call JOIN task ON task.ord = call.task;"
    "DROP TABLE call;"
    "ALTER TABLE call_3 RENAME TO call;";
static const char look_3[] =
    "CREATE TEMP VIEW call AS SELECT stage AS purpose, '' AS asked, try,"
    " task, attempt, state," CALL_REST " FROM main.call;";

/* Kernels that were verified again, pass by pass. */
static const char version_4[] =
    "CREATE TABLE recheck ("
    " pass INTEGER NOT NULL, problem TEXT NOT NULL, solution TEXT NOT NULL,"
    " under TEXT NOT NULL, verdict TEXT NOT NULL, evidence TEXT, why TEXT,"
    " judged_at INTEGER NOT NULL, PRIMARY KEY (pass, problem, solution)"
    ") STRICT, WITHOUT ROWID;";
static const char look_4[] =
    "CREATE TEMP VIEW recheck AS SELECT 0 AS pass, '' AS problem,"
    " '' AS solution, '' AS under, '' AS verdict, NULL AS evidence,"
    " NULL AS why, 0 AS judged_at, 1 AS rules WHERE 0;";

/* The calls of one task are found without reading all of them. Who reads an
 * older file reads all. */
static const char version_5[] =
    "CREATE INDEX call_task ON call (task, attempt);";

/* What was stored, in the order of arrival, so that a reader that follows a run
 * reads only what is new. `number` is the key of the task or the entry that the
 * row belongs to. Who reads an older file reads all of it again. */
#define NOTE(trigger, when, name, number)                                 \
    "CREATE TRIGGER " trigger " AFTER " when " ON " name " BEGIN"         \
    " INSERT INTO change (name, number) VALUES ('" name "', " number ");" \
    " END;"
static const char version_6[] =
    "CREATE TABLE change ("
    " seq INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL,"
    " number INTEGER NOT NULL"
    ") STRICT;" NOTE("task_new", "INSERT", "task",
                     "new.ord") NOTE("call_new", "INSERT", "call", "new.task")
        NOTE("call_again", "UPDATE", "call", "new.task")
            NOTE("attempt_new", "INSERT", "attempt", "new.task")
                NOTE("entry_new", "INSERT", "entry", "new.entry")
                    NOTE("entry_left_new", "INSERT", "entry_left", "new.entry")
                        NOTE("recheck_new", "INSERT", "recheck", "new.pass");
static const char look_6[] =
    "CREATE TEMP VIEW change AS SELECT 0 AS seq, '' AS name, 0 AS number"
    " WHERE 0;";

/* Pieces of a curriculum: tasks that belong to others; and examples that are
 * shown because they are pieces of the task. */
static const char version_7[] =
    "ALTER TABLE task ADD COLUMN kind TEXT;"
    "ALTER TABLE task ADD COLUMN level TEXT;"
    "ALTER TABLE task ADD COLUMN title TEXT;"
    "ALTER TABLE task ADD COLUMN needs TEXT;"
    "ALTER TABLE task ADD COLUMN parents TEXT;"
    "ALTER TABLE task ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE shown ADD COLUMN reason TEXT;";
static const char look_7[] =
    "CREATE TEMP VIEW task AS SELECT *, NULL AS kind, NULL AS level,"
    " NULL AS title, NULL AS needs, NULL AS parents, 0 AS depth FROM main.task;"
    "CREATE TEMP VIEW shown AS SELECT *, NULL AS reason FROM main.shown;";

/* When a run has looked at the shared archive, and what it found. */
static const char version_8[] =
    "CREATE TABLE look ("
    " look INTEGER NOT NULL PRIMARY KEY, round INTEGER NOT NULL,"
    " shared_version INTEGER NOT NULL, version INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;";
static const char look_8[] =
    "CREATE TEMP VIEW look AS SELECT 0 AS look, 0 AS round,"
    " 0 AS shared_version, 0 AS version WHERE 0;";

/* By which rules of truth a kernel was verified again; before, there was one
 * version. A file without the table has a view by now. */
static const char version_9[] =
    "ALTER TABLE recheck ADD COLUMN rules INTEGER NOT NULL DEFAULT 1;";
static const char look_9[] =
    "CREATE TEMP VIEW IF NOT EXISTS recheck AS SELECT *, 1 AS rules"
    " FROM main.recheck;";

const struct store_step store_steps[] = {
    {version_1, NULL},
    {"ALTER TABLE entry ADD COLUMN ported TEXT;",
     "CREATE TEMP VIEW entry AS SELECT *, NULL AS ported FROM main.entry;"},
    {version_3, look_3},
    {version_4, look_4},
    {version_5, ""},
    {version_6, look_6},
    {version_7, look_7},
    {version_8, look_8},
    {version_9, look_9},
};
const size_t store_version = sizeof(store_steps) / sizeof(store_steps[0]);

/* sha256(text), for steps that need one. */
static void sql_sha256(sqlite3_context *c, int n, sqlite3_value **v)
{
    char hex[HASH_HEX];

    (void)n;
    hash_hex(sqlite3_value_text(v[0]), (size_t)sqlite3_value_bytes(v[0]), hex);
    sqlite3_result_text(c, hex, -1, SQLITE_TRANSIENT);
}

static int run_steps(sqlite3 *db, const char *path,
                     const struct store_step *steps, size_t version,
                     struct err *e)
{
    int64_t from;
    char *last;
    int rc;

    if (store_number(db, path, "PRAGMA user_version", &from, e) < 0)
        return -1;
    sqlite3_create_function(db, "sha256", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                            NULL, sql_sha256, NULL, NULL);
    for (size_t v = (size_t)from; v < version; v++)
        if (store_exec(db, path, steps[v].make, e) < 0)
            return err_wrap(e, "schema %zu", v + 1);
    last = xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %zu",
                     STORE_APPLICATION, version);
    rc = store_exec(db, path, last, e);
    free(last);
    return rc;
}

int store_migrate(sqlite3 *db, const char *path, const struct store_step *steps,
                  size_t version, struct err *e)
{
    struct err ignored;

    if (store_exec(db, path, "BEGIN IMMEDIATE", e) < 0)
        return -1;
    if (run_steps(db, path, steps, version, e) == 0 &&
        store_exec(db, path, "COMMIT", e) == 0)
        return 0;
    store_exec(db, path, "ROLLBACK", &ignored);
    return -1;
}

static int sync_file(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

    if (fd < 0 || fsync(fd) < 0)
        rc = err_sys(e, "%s: cannot be made durable", path);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Copies the file to PATH.vN.bak. An existing copy is from a migration that
 * did not finish, so the file is unchanged. */
static int keep_copy(sqlite3 *db, const char *path, int64_t version,
                     struct err *e)
{
    char *copy = xasprintf("%s.v%lld.bak", path, (long long)version);
    char *part = xasprintf("%s.part", copy);
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", part);
    int rc = -1;

    if (unlink(part) < 0 && errno != ENOENT)
        err_sys(e, "%s: cannot be replaced", part);
    else if (store_exec(db, path, sql, e) < 0)
        err_wrap(e, "copy to %s", copy);
    else if (sync_file(part, e) == 0)
        rc = rename(part, copy) == 0 ? 0
                                     : err_sys(e, "%s: cannot be made", copy);
    sqlite3_free(sql);
    free(part);
    free(copy);
    return rc;
}

/* An older file as it would look: nothing is written. */
static int schema_look_through(sqlite3 *db, const char *path,
                               const struct store_step *steps, size_t from,
                               size_t version, struct err *e)
{
    for (size_t v = from; v < version; v++)
        if (!steps[v].view)
            return err_set(e, ERR_INPUT,
                           "%s: has schema %zu, but this program reads %zu; "
                           "'monkeys resume' updates it",
                           path, from, version);
    for (size_t v = from; v < version; v++)
        if (store_exec(db, path, steps[v].view, e) < 0)
            return -1;
    return 0;
}

int store_check_schema(sqlite3 *db, const char *path, enum store_mode mode,
                       const struct store_step *steps, size_t version,
                       struct err *e)
{
    int64_t app, there;

    if (store_number(db, path, "PRAGMA application_id", &app, e) < 0 ||
        store_number(db, path, "PRAGMA user_version", &there, e) < 0)
        return -1;
    if (app != STORE_APPLICATION || there < 1)
        return err_set(e, ERR_INPUT, "%s: a database, but not that of a run",
                       path);
    if (there > (int64_t)version)
        return err_set(e, ERR_INPUT,
                       "%s: has schema %lld, but this program knows only up to "
                       "%zu; use the newer monkeys that wrote it",
                       path, (long long)there, version);
    if (there == (int64_t)version)
        return 0;
    if (mode == STORE_READ)
        return schema_look_through(db, path, steps, (size_t)there, version, e);
    if (keep_copy(db, path, there, e) < 0)
        return -1;
    return store_migrate(db, path, steps, version, e);
}
