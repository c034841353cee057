/* store.c: opening, closing, and what SQLite's complaints mean to a user. */
#include "store/store_int.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* ---- files ---- */

static char *folder_of(const char *path)
{
    size_t n = (size_t)(fs_base(path) - path);

    return n ? xstrndup(path, n > 1 ? n - 1 : 1) : xstrdup(".");
}

static int input_err(struct err *e, const char *path, const char *what)
{
    err_sys(e, "%s: %s", path, what);
    e->kind = ERR_INPUT;
    return -1;
}

static int sync_folder(const char *path, struct err *e)
{
    char *dir = folder_of(path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

    if (fd < 0 || fsync(fd) < 0)
        rc = err_sys(e, "%s: cannot be flushed to disk", dir);
    if (fd >= 0)
        close(fd);
    free(dir);
    return rc;
}

/* SQLite's own messages do not say what to do. */
static int check_file(const char *path, enum store_mode mode, struct err *e)
{
    char *dir = folder_of(path);
    struct stat st;
    int rc = -1;

    if (stat(dir, &st) < 0)
        err_set(e, ERR_INPUT,
                "%s: no such folder; name the folder of a run, as 'monkeys run "
                "--out DIR' makes it",
                dir);
    else if (!S_ISDIR(st.st_mode))
        err_set(e, ERR_INPUT, "%s: not a folder; name the folder of a run",
                dir);
    else if (mode != STORE_READ && access(dir, W_OK) < 0)
        input_err(e, dir, "the folder is not writable");
    else if (mode == STORE_NEW)
        rc = access(path, F_OK) < 0
                 ? 0
                 : err_set(e, ERR_INPUT,
                           "%s: already exists; continue it with 'monkeys "
                           "resume', or choose another folder",
                           path);
    else if (stat(path, &st) < 0)
        err_set(e, ERR_INPUT, "%s: not found; name the folder of a run", path);
    else if (!S_ISREG(st.st_mode))
        err_set(e, ERR_INPUT, "%s: not a file", path);
    else if (access(path, mode == STORE_READ ? R_OK : R_OK | W_OK) < 0)
        input_err(e, path,
                  mode == STORE_READ ? "cannot be read" : "cannot be written");
    else
        rc = 0;
    free(dir);
    return rc;
}

/* ---- connections ---- */

/* In a read-only folder SQLite cannot create its shared index; a file that nobody
 * writes can be read without one. */
static bool is_still(const char *path)
{
    char *dir = folder_of(path), *wal = xasprintf("%s-wal", path);
    bool still = access(dir, W_OK) < 0 && access(wal, F_OK) < 0;

    free(wal);
    free(dir);
    return still;
}

static char *uri_of(const char *path, const char *query)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "file:");
    for (const char *p = path; *p; p++) {
        if (strchr("%?#", *p))
            buf_printf(&b, "%%%02x", (unsigned)*p);
        else
            buf_putc(&b, *p);
    }
    buf_puts(&b, query);
    return buf_take(&b, NULL);
}

/* A database with a log: durable when COMMIT returns, readable at any time. */
static int set_up(sqlite3 *db, const char *path, struct err *e)
{
    sqlite3_stmt *q = NULL;
    const char *mode = NULL;
    int rc = -1;

    if (sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &q, NULL) ==
            SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        mode = (const char *)sqlite3_column_text(q, 0);
    if (!mode)
        store_sql_err(e, db, path, "open");
    else if (strcmp(mode, "wal") != 0)
        err_set(e, ERR_INPUT,
                "%s: SQLite's log does not work on this file system; choose a "
                "folder on a local disk",
                path);
    else
        rc = 0;
    sqlite3_finalize(q);
    if (rc < 0)
        return -1;
    return store_exec(db, path,
                      "PRAGMA synchronous = FULL;"
                      "PRAGMA wal_autocheckpoint = 4000;"
                      "PRAGMA cache_size = -16384",
                      e);
}

#define BUSY_MS      10000 /* how long to wait for another program */
#define BUSY_SAID_MS 1000
#define BUSY_STEP_MS 50

/* SQLite calls it until it returns 0. */
static int wait_for_others(void *path, int times)
{
    int waited_ms = times * BUSY_STEP_MS;

    if (waited_ms >= BUSY_MS)
        return 0;
    if (waited_ms == BUSY_SAID_MS)
        log_warn("%s: locked by another program; waiting up to %d s for it",
                 (const char *)path, BUSY_MS / 1000);
    nanosleep(&(struct timespec){.tv_nsec = BUSY_STEP_MS * 1000000L}, NULL);
    return 1;
}

/* Who may write the file opens it for that also to read it: SQLite then removes
 * its log and index when the last program closes them. A reader sets query_only
 * once the schema is checked. */
static bool may_tidy(const char *path)
{
    char *dir = folder_of(path);
    bool may = access(dir, W_OK) == 0 && access(path, W_OK) == 0;

    free(dir);
    return may;
}

/* `path` must stay until it is closed. */
static sqlite3 *open_database(const char *path, enum store_mode mode,
                              struct err *e)
{
    bool read = mode == STORE_READ;
    char *uri = uri_of(path, read && is_still(path) ? "?immutable=1" : "");
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
    sqlite3 *db = NULL;

    flags |=
        read && !may_tidy(path) ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (mode == STORE_NEW)
        flags |= SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(uri, &db, flags, NULL) != SQLITE_OK ||
        sqlite3_busy_handler(db, wait_for_others, (void *)path) != SQLITE_OK) {
        store_sql_err(e, db, path, "open");
        sqlite3_close(db);
        db = NULL;
    }
    free(uri);
    return db;
}

/* Also removes the files that SQLite puts next to it. */
static void remove_part(const char *part)
{
    char *log = xasprintf("%s-wal", part), *index = xasprintf("%s-shm", part);

    unlink(part);
    unlink(log);
    unlink(index);
    free(log);
    free(index);
}

/* Created under another name and renamed, so that a run.db is always complete. */
static int store_create(const char *path, struct err *e)
{
    char *part = xasprintf("%s.part", path);
    sqlite3 *db = NULL;
    int rc = -1;

    remove_part(part);
    db = open_database(part, STORE_NEW, e);
    if (db && set_up(db, path, e) == 0 &&
        store_migrate(db, path, store_steps, store_version, e) == 0)
        rc = 0;
    if (sqlite3_close(db) != SQLITE_OK) /* also merges the log */
        rc = err_set(e, ERR_SYSTEM, "%s: cannot be closed", part);
    if (rc == 0 && rename(part, path) < 0)
        rc = err_sys(e, "%s: cannot be created", path);
    if (rc == 0)
        rc = sync_folder(path, e);
    if (rc < 0)
        remove_part(part);
    free(part);
    return rc;
}

static int connect_both(struct store *s, struct err *e)
{
    sqlite3 **db = s->mode == STORE_READ ? &s->reader : &s->writer;
    struct stat st;
    int64_t version;

    *db = open_database(s->path, s->mode, e);
    if (!*db ||
        store_check_schema(*db, s->path, s->mode, store_steps, store_version,
                           e) < 0 ||
        store_number(*db, s->path, "PRAGMA user_version", &version, e) < 0)
        return -1;
    s->old = version < (int64_t)store_version;
    if (stat(s->path, &st) == 0) {
        s->device = st.st_dev;
        s->inode = st.st_ino;
    }
    if (s->mode == STORE_READ)
        return store_exec(s->reader, s->path, "PRAGMA query_only = 1", e);
    if (set_up(s->writer, s->path, e) <
        0) /* only once it is known to be ours */
        return -1;
    s->reader = open_database(s->path, STORE_READ, e);
    if (!s->reader ||
        store_exec(s->reader, s->path, "PRAGMA query_only = 1", e) < 0)
        return -1;
    return store_number(s->reader, s->path,
                        "SELECT coalesce(max(seq), 0) FROM event", &s->events,
                        e);
}

/* ---- open and close ---- */

static void store_release(struct store *s)
{
    for (size_t i = 0; i < TABLES; i++) {
        sqlite3_finalize(s->insert[i]);
        sqlite3_finalize(s->same[i]);
    }
    sqlite3_finalize(s->begin);
    sqlite3_finalize(s->commit);
    sqlite3_finalize(s->read_blob);
    sqlite3_finalize(s->data_version);
    sqlite3_close(s->reader); /* first: the last one to close cleans up */
    sqlite3_close(s->writer);
    ZSTD_freeCCtx(s->pack);
    ZSTD_freeDCtx(s->unpack);
    free(s->packed);
    map_release(&s->known);
    free(s->path);
    free(s);
}

struct sqlite3 *store_reader(const struct store *s)
{
    return s->reader;
}

bool store_is_replaced(const struct store *s)
{
    struct stat st;

    return stat(s->path, &st) == 0 &&
           (st.st_dev != s->device || st.st_ino != s->inode);
}

/* A testing aid, described in docs/STORAGE.md. */
static void fault_from_environment(struct store *s)
{
    const char *text = secure_getenv("MONKEYS_FAULT_STORE");
    int64_t n;

    if (text && str_to_i64(str_of(text), 1, INT64_MAX, &n))
        store_fault_set(s, n);
}

struct store *store_open(const char *path, enum store_mode mode, struct loop *l,
                         struct err *e)
{
    struct store *s;

    if (check_file(path, mode, e) < 0 ||
        (mode == STORE_NEW && store_create(path, e) < 0))
        return NULL;
    s = xcalloc(1, sizeof(*s));
    s->path = xstrdup(path);
    s->mode = mode == STORE_NEW ? STORE_OPEN : mode;
    s->loop = l;
    map_init(&s->known);
    if (connect_both(s, e) < 0 ||
        (mode != STORE_READ && store_writer_start(s, e) < 0)) {
        store_release(s);
        return NULL;
    }
    if (mode != STORE_READ)
        fault_from_environment(s);
    return s;
}

int store_close(struct store *s, struct err *e)
{
    struct err failed = ERR_INIT;

    if (s->mode != STORE_READ) {
        store_writer_end(s);
        failed = s->failed;
    }
    store_release(s);
    if (failed.kind == ERR_NONE)
        return 0;
    *e = failed;
    return -1;
}
