/* writer.c: the writer thread and its queue.
 *
 * The caller's thread copies rows into the queue; the writer takes all of them
 * and writes them in one transaction. Marks are in the same queue: when the
 * writer reaches one, all rows before it are in the transaction that is then
 * committed, so callbacks come in order and never too early. */
#include "store/store_int.h"

#include "base/mem.h"
#include "base/tick.h"
#include "io/co.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

/* ---- the writer's thread ---- */

static int writer_write_row(struct store *s, struct item *it, struct err *e)
{
    operation(s);
    if (it->table == &store_tables[TABLE_BLOB] &&
        store_pack(s, (struct row_blob *)it->row, e) < 0)
        return -1;
    return store_insert(s, it->table, it->row, e);
}

static int run_sql(struct store *s, const char *sql, sqlite3_stmt **kept,
                   struct err *e)
{
    int rc;

    if (!*kept)
        sqlite3_prepare_v3(s->writer, sql, -1, SQLITE_PREPARE_PERSISTENT, kept,
                           NULL);
    rc = sqlite3_step(*kept);
    sqlite3_reset(*kept);
    return rc == SQLITE_DONE ? 0 : store_sql_err(e, s->writer, s->path, sql);
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
            sqlite3_exec(s->writer, "ROLLBACK", NULL, NULL, NULL);
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
    size_t bytes = sizeof(struct item) + store_row_bytes(t, row);
    struct item *it;

    if (s->mode == STORE_READ)
        BUG("%s: opened for reading only", s->path);
    it = xmalloc(bytes);
    *it = (struct item){.table = t, .bytes = bytes};
    store_row_copy(t, row, it->row);
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

int store_writer_start(struct store *s, struct err *e)
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

void store_writer_end(struct store *s)
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
