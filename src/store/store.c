/* store.c: a run's database: its file, the queue, the writer's thread.
 *
 * What a run must never lose is what it has paid for, and what it must never do is
 * act on something that a crash then takes back. Hence one writer, one queue, and
 * one promise. The caller's thread copies rows into the queue and goes on; the
 * writer takes all of them and writes them in one transaction, so that the disk is
 * waited for once for many rows. Marks are in the same queue: when the writer
 * reaches one, all rows before it are in the transaction that is then committed,
 * so callbacks come in order and never too early. After the first failure nothing
 * more is written: with a hole, a resumed run would believe rows whose causes are
 * missing. So a file always holds every row up to some point and none after it;
 * tests kill the program at each operation and look (test_store_kill.c).
 *
 * The writer owns its connection and the caller's thread another one that only
 * reads, so neither ever waits for the other inside SQLite. */
#include "store/store.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/co.h"
#include "store/db_schema.h"
#include "store/row.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

struct item; /* a queued row or mark */

/* For tests: the process ends instead of doing the N-th operation of the writer (a
 * row, a commit, a callback). */
struct store_fault {
    int64_t at, count; /* at 0: never */
};

struct store {
    char *path;
    enum store_mode mode;
    struct loop *loop;

    /* The caller's thread. */
    sqlite3 *reader;
    sqlite3_stmt *read_blob, *data_version;
    bool old;     /* the file has an older schema */
    dev_t device; /* which file it is */
    ino_t inode;
    ZSTD_DCtx *unpack;
    struct map known; /* hashes of blobs given so far */
    int64_t events;
    int64_t marks;  /* given so far */
    size_t waiting; /* callbacks to be called */
    uint64_t watch; /* the loop's source, while there are some */
    bool telling;
    struct store_waiting *waits; /* coroutines, a list */

    /* The writer's thread. */
    struct row_writer rows; /* on a connection of its own */
    sqlite3_stmt *begin, *commit;
    ZSTD_CCtx *pack;
    char *packed; /* what it made last */
    size_t packed_cap;
    struct store_fault fault;

    /* Both, under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* the writer: there is something to do */
    pthread_cond_t progress; /* the caller: something was done */
    pthread_t thread;
    struct item *first, **last;
    size_t bytes;   /* of rows that are not yet written */
    int64_t due_ns; /* when to write them */
    bool closing;
    int64_t marks_done;
    struct item *told, **told_last; /* marks whose callback is due */
    struct err failed;              /* the first failure */
    int wake_fd;
};

/* When this much is queued the caller waits, so that a slow disk cannot use up the
 * memory. */
#define QUEUE_BYTES ((size_t)64 << 20)
/* Rows are delayed so that many share a commit: how long when nothing waits
 * for them, how long when a callback does, and how many bytes at most. */
#define IDLE_NS     (200 * TICK_MS)
#define LINGER_NS   (2 * TICK_MS)
#define BATCH_BYTES ((size_t)4 << 20)

struct item {
    struct item *next;
    const struct table *table; /* NULL: a mark */
    size_t bytes;
    store_fn *fn; /* of a mark; NULL: store_sync() waits for it */
    void *arg;
    bool failed;                      /* it was not written */
    _Alignas(max_align_t) char row[]; /* the struct, then what it points to */
};

struct sqlite3 *store_writing(const struct store *s)
{
    return s->rows.db;
}

size_t store_queued(struct store *s)
{
    size_t bytes;

    pthread_mutex_lock(&s->lock);
    bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

void store_fault_set(struct store *s, int64_t n)
{
    pthread_mutex_lock(&s->lock);
    s->fault = (struct store_fault){n, 0};
    pthread_mutex_unlock(&s->lock);
}

static void operation(struct store *s)
{
    if (s->fault.at && ++s->fault.count == s->fault.at)
        _exit(9);
}

/* ---- texts ---- */

/* Prompts and replies: level 1 halves them, and higher ones take far longer
 * for little. */
enum { LEVEL = 1 };

void store_blob_as(struct store *s, struct str text, const char *hash)
{
    struct row_blob row = {hash, (int64_t)text.n, text.p, text.n};
    struct str key = {hash, HASH_HEX - 1};

    if (map_get(&s->known, key))
        return;
    map_set(&s->known, key, s);
    store_put(s, &store_tables[TABLE_BLOB], &row);
}

void store_blob(struct store *s, struct str text, char hash[HASH_HEX])
{
    hash_hex(text.p, text.n, hash);
    store_blob_as(s, text, hash);
}

/* Compresses the row's text into the store's buffer, which the row then points
 * to. */
static int store_pack(struct store *s, struct row_blob *row, struct err *e)
{
    size_t most = ZSTD_compressBound(row->len), n;

    if (!s->pack && !(s->pack = ZSTD_createCCtx()))
        return err_set(e, ERR_SYSTEM, "zstd: out of memory");
    if (s->packed_cap < most) {
        s->packed = xrealloc(s->packed, most);
        s->packed_cap = most;
    }
    n = ZSTD_compressCCtx(s->pack, s->packed, s->packed_cap, row->data,
                          row->len, LEVEL);
    if (ZSTD_isError(n))
        return err_set(e, ERR_SYSTEM, "zstd: %s", ZSTD_getErrorName(n));
    row->data = s->packed;
    row->len = n;
    return 0;
}

static int damaged(const struct store *s, const char *hash, struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: text %.12s… is damaged", s->path, hash);
}

/* The text of the current row of `q`, checked against its hash. */
static int blob_unpack(struct store *s, sqlite3_stmt *q, const char *hash,
                       struct buf *out, struct err *e)
{
    size_t size = (size_t)sqlite3_column_int64(q, 0), n;
    size_t packed = (size_t)sqlite3_column_bytes(q, 1);
    const void *data = sqlite3_column_blob(q, 1);
    char found[HASH_HEX], *text;
    int rc = -1;

    if (ZSTD_getFrameContentSize(data, packed) != size)
        return damaged(s, hash, e);
    if (size > out->limit - out->len)
        return err_set(e, ERR_LIMIT,
                       "%s: text %.12s… has %zu bytes, more "
                       "than %zu",
                       s->path, hash, size, out->limit - out->len);
    if (!s->unpack && !(s->unpack = ZSTD_createDCtx()))
        return err_set(e, ERR_SYSTEM, "zstd: out of memory");
    text = xmalloc(size);
    n = ZSTD_decompressDCtx(s->unpack, text, size, data, packed);
    if (n == size)
        hash_hex(text, size, found);
    if (n != size || strcmp(found, hash) != 0)
        damaged(s, hash, e);
    else
        rc = buf_add(out, text, size, e);
    free(text);
    return rc;
}

int store_read_blob(struct store *s, const char *hash, struct buf *out,
                    struct err *e)
{
    static const char sql[] = "SELECT size, data FROM blob WHERE hash = ?1";
    sqlite3_stmt **q = &s->read_blob;
    int rc = -1, got;

    if (!*q && sqlite3_prepare_v3(s->reader, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  q, NULL) != SQLITE_OK)
        return store_sql_err(e, s->reader, s->path, "read a text");
    sqlite3_bind_text(*q, 1, hash, -1, SQLITE_STATIC);
    got = sqlite3_step(*q);
    if (got == SQLITE_ROW)
        rc = blob_unpack(s, *q, hash, out, e);
    else if (got == SQLITE_DONE)
        err_set(e, ERR_INPUT, "%s: text %.12s… is missing", s->path, hash);
    else
        store_sql_err(e, s->reader, s->path, "read a text");
    sqlite3_reset(*q);
    return rc;
}

int store_text(struct store *s, const char *hash, struct arena *a,
               struct str *out, struct err *e)
{
    struct buf b = BUF_INIT;
    int rc;

    if (!hash || !hash[0])
        return 0;
    rc = store_read_blob(s, hash, &b, e);
    if (rc == 0) {
        char *copy = arena_alloc_raw(a, b.len + 1); /* it may have NULs */

        memcpy(copy, buf_str(&b), b.len + 1);
        *out = (struct str){copy, b.len};
    }
    buf_release(&b);
    return rc;
}

json_t *store_record(struct store *s, const char *hash, const char *times,
                     struct err *e)
{
    json_t *record = NULL, *measured;
    struct buf b = BUF_INIT;

    if (store_read_blob(s, hash, &b, e) == 0)
        record = jsn_parse("a stored record", buf_str(&b), b.len, e);
    buf_release(&b);
    measured = record && times ? json_loads(times, 0, NULL) : NULL;
    if (measured)
        json_object_update(record, measured);
    json_decref(measured);
    return record;
}

/* ---- the writer's thread ---- */

static int writer_write_row(struct store *s, struct item *it, struct err *e)
{
    operation(s);
    if (it->table == &store_tables[TABLE_BLOB] &&
        store_pack(s, (struct row_blob *)it->row, e) < 0)
        return -1;
    return row_insert(&s->rows, it->table, it->row, e);
}

static int run_sql(struct store *s, const char *sql, sqlite3_stmt **kept,
                   struct err *e)
{
    int rc;

    if (!*kept)
        sqlite3_prepare_v3(s->rows.db, sql, -1, SQLITE_PREPARE_PERSISTENT, kept,
                           NULL);
    rc = sqlite3_step(*kept);
    sqlite3_reset(*kept);
    return rc == SQLITE_DONE ? 0 : store_sql_err(e, s->rows.db, s->path, sql);
}

static int write_rows(struct store *s, struct item *batch, struct err *e)
{
    bool open = false;

    for (struct item *it = batch; it; it = it->next) {
        if (!it->table)
            continue;
        if (!open && run_sql(s, "BEGIN IMMEDIATE", &s->begin, e) < 0)
            return -1;
        open = true;
        if (writer_write_row(s, it, e) < 0)
            return -1;
    }
    if (!open)
        return 0;
    operation(s);
    return run_sql(s, "COMMIT", &s->commit, e);
}

/* Hands marks over to the caller's thread and gives the rows' memory back. */
static void writer_settle(struct store *s, struct item *batch,
                          const struct err *bad)
{
    bool tell = false;
    size_t bytes = 0, marks = 0;
    struct item *next, *told = NULL, **last = &told;

    operation(s);
    for (struct item *it = batch; it; it = next) {
        next = it->next;
        bytes += it->bytes;
        marks += !it->table;
        if (it->table || !it->fn) {
            free(it);
            continue;
        }
        it->failed = bad->kind != ERR_NONE;
        it->next = NULL;
        *last = it;
        last = &it->next;
        tell = true;
    }
    pthread_mutex_lock(&s->lock);
    s->failed = *bad;
    s->bytes -= bytes;
    s->marks_done += (int64_t)marks;
    if (tell) {
        *s->told_last = told;
        s->told_last = last;
    }
    pthread_cond_broadcast(&s->progress);
    pthread_mutex_unlock(&s->lock);
    if (tell && eventfd_write(s->wake_fd, 1) < 0)
        BUG("eventfd: errno %d", errno);
}

/* Waits until something is due; NULL at the end. The whole queue is one batch.
 * With a fault set, each row is a batch of its own, so that tests can stop
 * after any row. */
static struct item *take_batch(struct store *s)
{
    struct item *batch;

    pthread_mutex_lock(&s->lock);
    while (!s->closing && (!s->first || tick_now_ns() < s->due_ns)) {
        struct timespec until = {s->due_ns / TICK_S, s->due_ns % TICK_S};

        if (s->first)
            pthread_cond_timedwait(&s->wake, &s->lock, &until);
        else
            pthread_cond_wait(&s->wake, &s->lock);
    }
    batch = s->first;
    s->first = s->fault.at && batch ? batch->next : NULL;
    if (!s->first)
        s->last = &s->first;
    else
        batch->next = NULL;
    pthread_mutex_unlock(&s->lock);
    return batch;
}

static void *writer_write_all(void *arg)
{
    struct store *s = arg;
    struct err bad = ERR_INIT; /* after a failure nothing more is written */
    struct item *batch;

    while ((batch = take_batch(s))) {
        if (bad.kind == ERR_NONE && write_rows(s, batch, &bad) < 0)
            sqlite3_exec(s->rows.db, "ROLLBACK", NULL, NULL, NULL);
        writer_settle(s, batch, &bad);
    }
    return NULL;
}

/* ---- the caller's thread ---- */

/* How long an item may be held back. */
static int64_t patience_ns(const struct store *s, const struct item *it)
{
    if (s->bytes > BATCH_BYTES)
        return 0;
    if (it->table)
        return IDLE_NS;
    return it->fn ? LINGER_NS : 0;
}

static void push(struct store *s, struct item *it)
{
    int64_t due_ns;

    pthread_mutex_lock(&s->lock);
    while (s->bytes && s->bytes + it->bytes > QUEUE_BYTES) {
        s->due_ns = 0;
        pthread_cond_signal(&s->wake);
        pthread_cond_wait(&s->progress, &s->lock);
    }
    s->bytes += it->bytes;
    due_ns = tick_now_ns() + patience_ns(s, it);
    if (!s->first || due_ns < s->due_ns) {
        s->due_ns = due_ns;
        pthread_cond_signal(&s->wake);
    }
    *s->last = it;
    s->last = &it->next;
    pthread_mutex_unlock(&s->lock);
}

void store_put(struct store *s, const struct table *t, const void *row)
{
    size_t bytes = sizeof(struct item) + row_bytes(t, row);
    struct item *it;

    if (s->mode == STORE_READ)
        BUG("%s: opened for reading only", s->path);
    it = xmalloc(bytes);
    *it = (struct item){.table = t, .bytes = bytes};
    row_copy(t, row, it->row);
    push(s, it);
}

static void writer_mark(struct store *s, store_fn *fn, void *arg)
{
    struct item *it = xmalloc(sizeof(*it));

    *it = (struct item){.bytes = sizeof(*it), .fn = fn, .arg = arg};
    s->marks++;
    push(s, it);
}

/* Waits for the last mark. */
static void wait_done(struct store *s, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    while (s->marks_done < s->marks)
        pthread_cond_wait(&s->progress, &s->lock);
    *e = s->failed;
    pthread_mutex_unlock(&s->lock);
}

int store_sync(struct store *s, struct err *e)
{
    struct err now;

    if (s->mode == STORE_READ)
        return 0;
    writer_mark(s, NULL, NULL);
    wait_done(s, &now);
    if (now.kind == ERR_NONE)
        return 0;
    *e = now;
    return -1;
}

static struct item *writer_take_told(struct store *s, struct err *bad)
{
    struct item *told;

    pthread_mutex_lock(&s->lock);
    told = s->told;
    s->told = NULL;
    s->told_last = &s->told;
    if (s->failed.kind != ERR_NONE)
        *bad = s->failed;
    pthread_mutex_unlock(&s->lock);
    return told;
}

static void writer_tell(struct store *s)
{
    struct err bad = ERR_INIT;
    struct item *it = writer_take_told(s, &bad), *next;

    s->telling = true;
    for (; it; it = next) {
        next = it->next;
        s->waiting--;
        it->fn(it->failed ? &bad : NULL, it->arg);
        free(it);
    }
    s->telling = false;
    if (!s->waiting && s->watch) {
        loop_remove(s->loop, s->watch);
        s->watch = 0;
    }
}

static void writer_on_wake(int fd, unsigned events, void *arg)
{
    eventfd_t n;

    (void)events;
    eventfd_read(fd, &n);
    writer_tell(arg);
}

/* Stands in for writer_on_wake() when epoll had no room. */
static void on_deferred(void *arg)
{
    struct store *s = arg;
    struct err ignored;

    s->watch = 0;
    wait_done(s, &ignored);
    writer_tell(s);
}

/* The eventfd is a source of the loop only while a callback is due, since a
 * source keeps loop_run() running. */
void store_after(struct store *s, store_fn *fn, void *arg)
{
    struct err ignored;

    if (!s->loop || s->mode == STORE_READ)
        BUG("%s: store_after() without a loop or a writer", s->path);
    s->waiting++;
    writer_mark(s, fn, arg);
    if (!s->watch)
        s->watch = loop_add_fd(s->loop, s->wake_fd, LOOP_READ, writer_on_wake,
                               s, &ignored);
    if (!s->watch)
        s->watch = loop_defer(s->loop, on_deferred, s);
}

/* A callback cannot be taken back, so what it reports to outlives a coroutine that
 * is cancelled. */
struct store_waiting {
    struct store *s;
    struct co_event over;
    struct err bad;
    bool left; /* nobody waits any more */
    struct store_waiting *prev, *next;
};

static void waiting_free(struct store_waiting *w)
{
    *(w->prev ? &w->prev->next : &w->s->waits) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    free(w);
}

static void store_on_waited(const struct err *e, void *arg)
{
    struct store_waiting *w = arg;

    if (w->left) {
        waiting_free(w);
        return;
    }
    if (e)
        w->bad = *e;
    co_happen(&w->over);
}

int store_wait(struct store *s, struct err *e)
{
    struct store_waiting *w = xmalloc(sizeof(*w));
    int rc = 0;

    *w = (struct store_waiting){.s = s, .bad = ERR_INIT, .next = s->waits};
    if (w->next)
        w->next->prev = w;
    s->waits = w;
    store_after(s, store_on_waited, w);
    if (co_wait(&w->over) < 0) {
        w->left = true;
        return err_set(e, ERR_INTERRUPT, "stopped");
    }
    if (w->bad.kind != ERR_NONE) {
        *e = w->bad;
        rc = -1;
    }
    waiting_free(w);
    return rc;
}

/* ---- start and end ---- */

static int store_writer_start(struct store *s, struct err *e)
{
    pthread_condattr_t attr;
    sigset_t all, before;
    int rc;

    s->last = &s->first;
    s->told_last = &s->told;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake_fd < 0)
        return err_sys(e, "eventfd");
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_cond_init(&s->progress, NULL);
    pthread_condattr_destroy(&attr);
    sigfillset(&all); /* signals are the loop's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&s->thread, NULL, writer_write_all, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return 0;
    close(s->wake_fd);
    s->wake_fd = -1;
    errno = rc;
    return err_sys(e, "start a thread");
}

/* Writes what is queued, then returns. */
static void store_writer_end(struct store *s)
{
    struct item *next;

    if (s->telling)
        BUG("%s: store_close() from a callback of store_after()", s->path);
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    if (s->watch)
        loop_remove(s->loop, s->watch);
    for (struct item *it = s->told; it; it = next) {
        next = it->next;
        free(it);
    }
    while (s->waits)
        waiting_free(s->waits);
    close(s->wake_fd);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->progress);
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
    struct buf b = BUF_INIT;

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
    sqlite3 **db = s->mode == STORE_READ ? &s->reader : &s->rows.db;
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
    if (set_up(s->rows.db, s->path, e) <
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
    sqlite3_stmt *q;

    row_writer_release(&s->rows);
    sqlite3_finalize(s->begin);
    sqlite3_finalize(s->commit);
    sqlite3_finalize(s->read_blob);
    sqlite3_finalize(s->data_version);
    while (s->reader &&
           (q = sqlite3_next_stmt(s->reader, NULL))) /* kept by queries */
        sqlite3_finalize(q);
    sqlite3_close(s->reader); /* first: the last one to close cleans up */
    sqlite3_close(s->rows.db);
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

const char *store_path(const struct store *s)
{
    return s->path;
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
    s->rows.path = s->path;
    s->mode = mode == STORE_NEW ? STORE_OPEN : mode;
    s->loop = l;
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

/* ---- following a run ---- */

int store_last_change(struct store *s, int64_t *seq, struct err *e)
{
    return store_number(s->reader, s->path,
                        "SELECT coalesce(max(seq), 0) FROM change", seq, e);
}

bool store_has_no_log(const struct store *s)
{
    return s->old;
}

int store_data_version(struct store *s, int64_t *out, struct err *e)
{
    sqlite3_stmt **q = &s->data_version;
    int rc = -1;

    if (!*q)
        sqlite3_prepare_v3(s->reader, "PRAGMA data_version", -1,
                           SQLITE_PREPARE_PERSISTENT, q, NULL);
    if (*q && sqlite3_step(*q) == SQLITE_ROW) {
        *out = sqlite3_column_int64(*q, 0);
        rc = 0;
    } else {
        store_sql_err(e, s->reader, s->path, "look");
    }
    sqlite3_reset(*q);
    return rc;
}

int store_hold(struct store *s, struct err *e)
{
    return store_exec(s->reader, s->path, "BEGIN", e);
}

void store_let_go(struct store *s)
{
    sqlite3_exec(s->reader, "COMMIT", NULL, NULL, NULL);
}

void store_event(struct store *s, const char *kind, int64_t task,
                 int64_t attempt, const char *text)
{
    struct row_event r = {++s->events, kind, task,
                          attempt,     text, date_now_us()};

    store_put(s, &store_tables[TABLE_EVENT], &r);
}
