/* shared.c: the table of a shared archive, and kernels as its rows.
 *
 * Runs remember the version that they have read up to, so a version must never appear
 * after a larger one was seen. A serial column would allow that: numbers are taken when
 * a transaction begins, and it may commit late. So who adds takes a lock first. */
#include "run/shared.h"

#include "base/mem.h"
#include "base/tick.h"
#include "store/pg.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct shared {
    struct pg *pg;
    bool exists;
};

/* Held until the transaction ends. */
#define LOCK   "SELECT pg_advisory_xact_lock(1836019301, 1)"
#define FORMAT "monkeys archive 1"
#define PAGE   "16"

static int shared_run(struct shared *s, const char *sql, struct err *e)
{
    struct pg_rows *r = pg_run(s->pg, sql, NULL, 0, e);

    pg_free(r);
    return r ? 0 : -1;
}

/* ---- transactions ---- */

static int shared_begin(struct shared *s, struct err *e)
{
    return shared_run(s, "BEGIN", e) < 0 ? -1 : shared_run(s, LOCK, e);
}

/* Keeps the first error. */
static int shared_end(struct shared *s, int rc, struct err *e)
{
    struct err ignored = ERR_INIT;

    if (rc >= 0)
        return shared_run(s, "COMMIT", e) < 0 ? -1 : rc;
    if (!pg_is_lost(s->pg))
        shared_run(s, "ROLLBACK", &ignored);
    return -1;
}

/* ---- opening ---- */

static int shared_look(struct shared *s, struct err *e)
{
    struct pg_rows *r = pg_run(
        s->pg,
        "SELECT to_regclass('monkeys_kernel') IS NOT NULL,"
        " coalesce(obj_description(to_regclass('monkeys_kernel'), 'pg_class'),"
        " '')",
        NULL, 0, e);
    int rc = 0;

    if (!r)
        return -1;
    s->exists = pg_cell(r, 0, 0).n && pg_cell(r, 0, 0).p[0];
    if (s->exists && !str_eq(pg_cell(r, 0, 1), FORMAT))
        rc = err_set(e, ERR_INPUT,
                     "its table monkeys_kernel is not an archive of this "
                     "version of monkeys; use another database");
    pg_free(r);
    return rc;
}

static int create(struct shared *s, struct err *e)
{
    int rc = shared_begin(s, e);

    if (rc == 0)
        rc = shared_look(s, e); /* another run may have been faster */
    if (rc == 0 && !s->exists &&
        (shared_run(s,
                    "CREATE TABLE monkeys_kernel ("
                    " version bigint PRIMARY KEY,"
                    " hash text NOT NULL UNIQUE,"
                    " name text NOT NULL,"
                    " dsl text NOT NULL,"
                    " task_hash text NOT NULL,"
                    " task bytea NOT NULL,"
                    " sidecar bytea,"
                    " plan bytea,"
                    " solution bytea NOT NULL,"
                    " ported bytea,"
                    " meta bytea NOT NULL,"
                    " added_at timestamptz NOT NULL DEFAULT now())",
                    e) < 0 ||
         shared_run(s,
                    "CREATE INDEX monkeys_kernel_task ON monkeys_kernel"
                    " (dsl, task_hash)",
                    e) < 0 ||
         shared_run(s, "COMMENT ON TABLE monkeys_kernel IS '" FORMAT "'", e) <
             0))
        rc = -1;
    rc = shared_end(s, rc, e);
    s->exists = rc == 0;
    return rc;
}

struct shared *shared_open(const char *address, enum shared_mode mode,
                           int stop_fd, struct err *e)
{
    struct shared *s = xcalloc(1, sizeof(*s));

    s->pg = pg_open(address, stop_fd, e);
    if (s->pg && shared_look(s, e) == 0 &&
        (s->exists || mode == SHARED_READ || create(s, e) == 0))
        return s;
    shared_close(s);
    return NULL;
}

void shared_close(struct shared *s)
{
    if (!s)
        return;
    pg_close(s->pg);
    free(s);
}

/* ---- reading ---- */

static struct pg_value shared_number(int64_t n, char out[32])
{
    snprintf(out, 32, "%lld", (long long)n);
    return (struct pg_value){.v = str_of(out)};
}

static int read_version(struct shared *s, int64_t *out, struct err *e)
{
    struct pg_rows *r =
        pg_run(s->pg, "SELECT coalesce(max(version), 0) FROM monkeys_kernel",
               NULL, 0, e);

    if (!r)
        return -1;
    *out = pg_number(r, 0, 0);
    pg_free(r);
    return 0;
}

/* Borrows the cells. */
static struct shared_row row_at(const struct pg_rows *r, size_t i)
{
    struct str hash = pg_cell(r, i, 1);
    struct shared_row row = {.name = pg_cell(r, i, 2),
                             .dsl = pg_cell(r, i, 3),
                             .task = pg_cell(r, i, 4),
                             .sidecar = pg_cell(r, i, 5),
                             .plan = pg_cell(r, i, 6),
                             .solution = pg_cell(r, i, 7),
                             .ported = pg_cell(r, i, 8),
                             .meta = pg_cell(r, i, 9)};

    if (hash.n < HASH_HEX)
        memcpy(row.hash, hash.p, hash.n);
    return row;
}

static int shared_tell(const struct pg_rows *r, size_t i, shared_fn *fn,
                       void *arg, struct err *e)
{
    struct shared_row row = row_at(r, i);
    struct err why = ERR_INIT;
    struct kernel k;
    int rc;

    if (shared_kernel_of(&row, &k, &why) < 0)
        return fn(NULL, pg_number(r, i, 0), &why, arg, e);
    rc = fn(&k, pg_number(r, i, 0), NULL, arg, e);
    kernel_release(&k);
    return rc;
}

/* A row that is too long is not sent: its task is NULL. */
static struct pg_rows *read_page(struct shared *s, const char *dsl,
                                 int64_t after, int64_t until, struct err *e)
{
    char from[32], to[32];
    struct pg_value v[3] = {shared_number(after, from),
                            shared_number(until, to),
                            {.v = dsl ? str_of(dsl) : (struct str){0}}};

    return pg_run(
        s->pg,
        "SELECT version, hash, name, dsl, CASE WHEN short THEN task END,"
        " CASE WHEN short THEN sidecar END, CASE WHEN short THEN plan END,"
        " CASE WHEN short THEN solution END, CASE WHEN short THEN ported END,"
        " CASE WHEN short THEN meta END"
        " FROM (SELECT *, octet_length(task) + octet_length(solution)"
        "  + octet_length(meta) + coalesce(octet_length(sidecar), 0)"
        "  + coalesce(octet_length(plan), 0)"
        "  + coalesce(octet_length(ported), 0) < 30000000 AS short"
        "  FROM monkeys_kernel) AS k"
        " WHERE version > $1::bigint AND version <= $2::bigint"
        " AND ($3::text IS NULL OR dsl = $3::text OR dsl = '')"
        " ORDER BY version LIMIT " PAGE,
        v, 3, e);
}

int shared_each(struct shared *s, struct shared_range *range, shared_fn *fn,
                void *arg, struct err *e)
{
    int64_t after = range->after;
    size_t n = 1;
    int rc = 0;

    if (!s->exists && range->until == SHARED_NEWEST)
        range->until = 0;
    if (range->until == SHARED_NEWEST && read_version(s, &range->until, e) < 0)
        return -1;
    while (rc == 0 && n > 0 && after < range->until) {
        struct pg_rows *r = read_page(s, range->dsl, after, range->until, e);

        if (!r)
            return -1;
        n = pg_count(r);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            after = pg_number(r, i, 0);
            rc = shared_tell(r, i, fn, arg, e);
        }
        pg_free(r);
    }
    return rc;
}

/* ---- adding ---- */

static int shared_insert(struct shared *s, const struct shared_row *r,
                         struct err *e)
{
    struct pg_value v[] = {
        {str_of(r->hash), false}, {r->name, false},
        {r->dsl, false},          {str_of(r->task_hash), false},
        {r->task, true},          {r->sidecar, true},
        {r->plan, true},          {r->solution, true},
        {r->ported, true},        {r->meta, true}};
    struct pg_rows *rows = pg_run(
        s->pg,
        "WITH new AS (INSERT INTO monkeys_kernel (version, hash, name, dsl,"
        " task_hash, task, sidecar, plan, solution, ported, meta)"
        " SELECT coalesce(max(version), 0) + 1, $1::text, $2::text, $3::text,"
        " $4::text, $5::bytea, $6::bytea, $7::bytea, $8::bytea, $9::bytea,"
        " $10::bytea FROM monkeys_kernel ON CONFLICT (hash) DO NOTHING"
        " RETURNING version)"
        " SELECT pg_notify('monkeys_archive', version::text) FROM new",
        v, sizeof(v) / sizeof(v[0]), e);
    int added;

    if (!rows)
        return -1;
    added = pg_count(rows) > 0;
    pg_free(rows);
    return added;
}

static int shared_finds(struct shared *s, const char *sql, const char *a,
                        const char *b, struct err *e)
{
    struct pg_value v[2] = {{.v = str_of(a)}, {.v = str_of(b ? b : "")}};
    struct pg_rows *r = pg_run(s->pg, sql, v, b ? 2 : 1, e);
    int found;

    if (!r)
        return -1;
    found = pg_count(r) > 0;
    pg_free(r);
    return found;
}

/* What was sent before is asked for first: a run that is continued offers all
 * its kernels again. */
int shared_add(struct shared *s, const struct shared_row *r, struct err *e)
{
    int rc =
        shared_finds(s, "SELECT 1 FROM monkeys_kernel WHERE hash = $1::text",
                     r->hash, NULL, e);

    if (rc != 0)
        return rc < 0 ? -1 : 0;
    rc = shared_begin(s, e);
    if (rc == 0)
        rc = shared_insert(s, r, e);
    return shared_end(s, rc, e);
}

int shared_knows(struct shared *s, const char *dsl, const char *task_hash,
                 struct err *e)
{
    if (!s->exists)
        return 0;
    return shared_finds(s,
                        "SELECT 1 FROM monkeys_kernel WHERE dsl = $1::text"
                        " AND task_hash = $2::text LIMIT 1",
                        dsl, task_hash, e);
}

/* ---- rows ---- */

#define MAX_NAME 200
#define MAX_META ((size_t)1 << 20)

static struct str shared_copy(struct str s)
{
    return s.p ? (struct str){xstrndup(s.p, s.n), s.n} : s;
}

static struct str json_text(const json_t *v)
{
    char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;

    return text ? str_of(text) : (struct str){0};
}

static void hash_part(struct hash *h, struct str s)
{
    char length[32];

    snprintf(length, sizeof(length), "%zu:", s.n);
    hash_add(h, length, strlen(length));
    hash_add(h, s.p, s.n);
}

static void hash_row(const struct shared_row *r, char out[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    hash_part(&h, r->dsl);
    hash_part(&h, r->task);
    hash_part(&h, r->solution);
    hash_finish_hex(&h, out);
}

void shared_row_of(const struct kernel *k, struct shared_row *out)
{
    json_t *meta = kernel_meta_of(k);

    *out = (struct shared_row){
        .name = shared_copy(str_of(k->name)),
        .dsl = shared_copy(str_of(k->dsl ? k->dsl : "")),
        .task = shared_copy((struct str){k->task->source, k->task->len}),
        .sidecar = json_text(k->task->sidecar),
        .plan = shared_copy(k->plan),
        .solution = shared_copy(k->solution),
        .ported = shared_copy(k->ported),
        .meta = json_text(meta)};
    json_decref(meta);
    memcpy(out->task_hash, k->task->hash, HASH_HEX);
    shared_row_seal(out);
}

void shared_row_seal(struct shared_row *r)
{
    hash_row(r, r->hash);
}

void shared_row_release(struct shared_row *r)
{
    free((char *)r->name.p);
    free((char *)r->dsl.p);
    free((char *)r->task.p);
    free((char *)r->sidecar.p);
    free((char *)r->plan.p);
    free((char *)r->solution.p);
    free((char *)r->ported.p);
    free((char *)r->meta.p);
    *r = (struct shared_row){0};
}

/* ---- and back to kernels ---- */

/* It becomes the name of a folder, and is printed. */
static bool is_folder_name(struct str s)
{
    if (s.n == 0 || s.n > MAX_NAME || s.p[0] == '.' || s.p[0] == '-' ||
        str_utf8_check(s.p, s.n) != s.n)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 127 || s.p[i] == '/')
            return false;
    return true;
}

static int check_row(const struct shared_row *r, struct err *e)
{
    char hash[HASH_HEX];

    if (!is_folder_name(r->name))
        return err_set(e, ERR_INPUT, "its name is not one of a folder");
    if (!r->task.p || !r->solution.p || !r->meta.p)
        return err_set(e, ERR_INPUT, "a text is missing or too long");
    if (r->task.n > TASK_MAX_BYTES || r->sidecar.n > MAX_META ||
        r->meta.n > MAX_META || r->plan.n > KERNEL_MAX_TEXT ||
        r->solution.n > KERNEL_MAX_TEXT || r->ported.n > KERNEL_MAX_TEXT)
        return err_set(e, ERR_INPUT, "a text is too long");
    hash_row(r, hash);
    if (strcmp(hash, r->hash) != 0)
        return err_set(e, ERR_INPUT, "its texts do not have its hash");
    return 0;
}

static int take_task(const struct shared_row *r, struct kernel *out,
                     struct err *e)
{
    char *path = xasprintf("%s/task.py", out->name);
    int rc = -1;

    out->task = task_from(path, r->task, e);
    if (out->task && r->sidecar.p)
        out->task->sidecar =
            jsn_parse("task.json", r->sidecar.p, r->sidecar.n, e);
    if (out->task && out->task->sidecar && !json_is_object(out->task->sidecar))
        err_set(e, ERR_INPUT, "task.json: /: not an object");
    else if (out->task && (!r->sidecar.p || out->task->sidecar))
        rc = 0;
    free(path);
    return rc;
}

static int take_meta(const struct shared_row *r, struct kernel *out,
                     struct err *e)
{
    json_t *meta = jsn_parse("meta.json", r->meta.p, r->meta.n, e);
    int rc = 0;

    if (!meta)
        return -1;
    kernel_take_meta(meta, out);
    if (!str_eq(r->dsl, out->dsl))
        rc = err_set(e, ERR_INPUT, "meta.json names another pack");
    json_decref(meta);
    return rc;
}

int shared_kernel_of(const struct shared_row *r, struct kernel *out,
                     struct err *e)
{
    *out = (struct kernel){0};
    if (check_row(r, e) < 0)
        return -1;
    out->name = xstrndup(r->name.p, r->name.n);
    if (take_task(r, out, e) == 0 && take_meta(r, out, e) == 0) {
        out->plan = shared_copy(r->plan);
        out->solution = shared_copy(r->solution);
        out->ported = shared_copy(r->ported);
        return 0;
    }
    kernel_release(out);
    return -1;
}

/* ---- a run's side of it: the thread that talks to the server, and what it shares with
 * the loop ---- */

#define LOOK_NS      (5 * TICK_S)
#define FIRST_TRY_MS 1000
#define LAST_TRY_MS  30000
#define IDLE_MS      60000

/* A kernel on its way to the server. */
struct gift {
    struct gift *next;
    char *name;
    struct shared_row row;
};

/* What the thread tells the loop. */
struct told {
    struct told *next;
    char *word; /* NULL: none */
    bool bad;
    struct kernel *kernel;
    size_t n, cap;
    int64_t version; /* 0: no news */
    bool looked;     /* the answer to a look */
};

struct sharing {
    struct sharing_opts opt;
    char *address, *dsl;
    struct loop *loop;
    pthread_t thread;
    int wake_fd; /* there is work for the thread */
    int stop_fd; /* the thread must end; never read */
    int told_fd; /* there is something for the loop */
    uint64_t source, timer;
    /* the loop's: news that nobody has asked for yet */
    struct kernel *held;
    size_t held_len, held_cap;
    int64_t version;
    bool looking, finishing;
    /* the thread's */
    int64_t read_version;
    int wait_ms;
    bool said_down, said_refused;
    /* of both, under the lock */
    pthread_mutex_t lock;
    struct gift *gift, **last_gift;
    struct told *told, **last_told;
    size_t waiting;  /* gifts */
    size_t failures; /* of tries to reach the server */
    bool look, hurry, stop;
};

static void ring(int fd)
{
    if (eventfd_write(fd, 1) < 0)
        BUG("eventfd: errno %d", errno);
}

static void hush(int fd)
{
    eventfd_t n;

    if (eventfd_read(fd, &n) < 0 && errno != EAGAIN)
        BUG("eventfd: errno %d", errno);
}

/* ---- the thread ---- */

static void tell_loop(struct sharing *x, struct told *t)
{
    pthread_mutex_lock(&x->lock);
    *x->last_told = t;
    x->last_told = &t->next;
    pthread_mutex_unlock(&x->lock);
    ring(x->told_fd);
}

static void tell_word(struct sharing *x, bool bad, const char *text)
{
    struct told *t = xcalloc(1, sizeof(*t));

    t->word = xstrdup(text);
    t->bad = bad;
    tell_loop(x, t);
}

static bool take_flag(struct sharing *x, bool *flag)
{
    bool was;

    pthread_mutex_lock(&x->lock);
    was = *flag;
    *flag = false;
    pthread_mutex_unlock(&x->lock);
    return was;
}

static bool is_stopped(struct sharing *x)
{
    bool stop;

    pthread_mutex_lock(&x->lock);
    stop = x->stop;
    pthread_mutex_unlock(&x->lock);
    return stop;
}

struct reading_news {
    struct sharing *x;
    struct told *t;
};

static int news_kernel(struct kernel *k, int64_t number, const struct err *why,
                       void *arg, struct err *e)
{
    struct reading_news *g = arg;
    struct told *t = g->t;
    char *text;

    (void)e;
    if (!k) {
        text = xasprintf("kernel %lld of the shared archive is left out: %s",
                         (long long)number, why->text);
        tell_word(g->x, true, text);
        free(text);
        return 0;
    }
    if (kernel_is_retired(k) || kernel_is_older(k))
        return 0;
    t->kernel = xgrow(t->kernel, &t->cap, t->n, sizeof(*t->kernel));
    t->kernel[t->n++] = *k;
    *k = (struct kernel){0};
    return 0;
}

static void free_told(struct told *t)
{
    for (size_t i = 0; i < t->n; i++)
        kernel_release(&t->kernel[i]);
    free(t->kernel);
    free(t->word);
    free(t);
}

static int read_news(struct sharing *x, struct shared *s, struct err *e)
{
    struct reading_news g = {x, xcalloc(1, sizeof(*g.t))};
    struct shared_range range = {
        .dsl = x->dsl, .after = x->read_version, .until = SHARED_NEWEST};

    g.t->looked = take_flag(x, &x->look);
    if (shared_each(s, &range, news_kernel, &g, e) < 0) {
        pthread_mutex_lock(&x->lock); /* it is answered when that is known */
        x->look |= g.t->looked;
        pthread_mutex_unlock(&x->lock);
        free_told(g.t);
        return -1;
    }
    if (range.until > x->read_version)
        x->read_version = range.until;
    g.t->version = x->read_version;
    tell_loop(x, g.t);
    return 0;
}

static void free_gift(struct gift *g)
{
    shared_row_release(&g->row);
    free(g->name);
    free(g);
}

static void drop_gift(struct sharing *x)
{
    struct gift *g;

    pthread_mutex_lock(&x->lock);
    g = x->gift;
    x->gift = g->next;
    if (!x->gift)
        x->last_gift = &x->gift;
    x->waiting--;
    pthread_mutex_unlock(&x->lock);
    free_gift(g);
    ring(x->told_fd);
}

/* A kernel that the server refuses for good is not offered again: most likely it
 * refuses all. */
static int give_one(struct sharing *x, struct shared *s, const struct gift *g,
                    struct err *e)
{
    char *text;

    if (shared_add(s, &g->row, e) < 0) {
        if (e->kind != ERR_INPUT || pg_is_lost(s->pg))
            return -1;
        text =
            xasprintf("%s is not in the shared archive: %s", g->name, e->text);
        if (!x->said_refused)
            tell_word(x, true, text);
        x->said_refused = true;
        free(text);
        *e = (struct err)ERR_INIT;
    }
    drop_gift(x);
    return 0;
}

/* While there is a connection. */
static int serve_archive(struct sharing *x, struct shared *s, struct err *e)
{
    bool news = true; /* since the last connection */
    const struct gift *g;
    bool look;
    int rc;

    while (!is_stopped(x)) {
        hush(x->wake_fd);
        pthread_mutex_lock(&x->lock);
        g = x->gift;
        look = x->look;
        pthread_mutex_unlock(&x->lock);
        if (news || look)
            rc = read_news(x, s, e);
        else if (g)
            rc = give_one(x, s, g, e);
        else
            rc = pg_wait(s->pg, x->wake_fd, IDLE_MS, e);
        if (rc < 0)
            return -1;
        news = rc > 0;
    }
    return 0;
}

/* Nobody waits for a server that is away. */
static void answer_look(struct sharing *x)
{
    struct told *t;

    if (!take_flag(x, &x->look))
        return;
    t = xcalloc(1, sizeof(*t));
    t->looked = true;
    tell_loop(x, t);
}

static void fail_try(struct sharing *x, const struct err *e)
{
    char *text;

    if (!x->said_down && e->kind != ERR_INTERRUPT) {
        text = xasprintf("the shared archive cannot be reached, the run "
                         "continues without it: %s",
                         e->text);
        tell_word(x, true, text);
        free(text);
        x->said_down = true;
    }
    pthread_mutex_lock(&x->lock);
    x->failures++;
    pthread_mutex_unlock(&x->lock);
    answer_look(x);
    ring(x->told_fd);
}

/* Until the next try is due. */
static void back_off(struct sharing *x)
{
    int64_t until = tick_now_ns() + x->wait_ms * TICK_MS, left;
    struct pollfd fds[2] = {{.fd = x->wake_fd, .events = POLLIN},
                            {.fd = x->stop_fd, .events = POLLIN}};

    while (!is_stopped(x) && !take_flag(x, &x->hurry) &&
           (left = until - tick_now_ns()) > 0) {
        if (poll(fds, 2, (int)(left / TICK_MS) + 1) < 0 && errno != EINTR)
            BUG("poll: errno %d", errno);
        hush(x->wake_fd);
        answer_look(x);
    }
    x->wait_ms = x->wait_ms * 2 > LAST_TRY_MS ? LAST_TRY_MS : x->wait_ms * 2;
}

static struct shared *connect_shared(struct sharing *x, struct err *e)
{
    struct shared *s = shared_open(x->address, SHARED_WRITE, x->stop_fd, e);

    if (s && shared_run(s, "LISTEN monkeys_archive", e) < 0) {
        shared_close(s);
        s = NULL;
    }
    if (s && x->said_down)
        tell_word(x, false, "the shared archive is back");
    if (s) {
        x->said_down = false;
        x->wait_ms = FIRST_TRY_MS;
    }
    return s;
}

static void *sharing_work(void *arg)
{
    struct sharing *x = arg;

    while (!is_stopped(x)) {
        struct err e = ERR_INIT;
        struct shared *s = connect_shared(x, &e);

        if (s && serve_archive(x, s, &e) == 0) {
            shared_close(s);
            break;
        }
        shared_close(s);
        fail_try(x, &e);
        back_off(x);
    }
    return NULL;
}

/* ---- the loop ---- */

static void hold_news(struct sharing *x, struct told *t)
{
    for (size_t i = 0; i < t->n; i++) {
        x->held = xgrow(x->held, &x->held_cap, x->held_len, sizeof(*x->held));
        x->held[x->held_len++] = t->kernel[i];
    }
    t->n = 0;
    if (t->version > x->version)
        x->version = t->version;
}

static void deliver_news(struct sharing *x)
{
    struct kernel *held = x->held;
    size_t n = x->held_len;

    x->held = NULL;
    x->held_len = x->held_cap = 0;
    x->looking = false;
    loop_remove(x->loop, x->timer);
    x->opt.news(x->version, held, n, x->opt.arg);
    for (size_t i = 0; i < n; i++)
        kernel_release(&held[i]);
    free(held);
}

static void on_late(void *arg)
{
    deliver_news(arg);
}

static struct told *take_told(struct sharing *x)
{
    struct told *t;

    pthread_mutex_lock(&x->lock);
    t = x->told;
    x->told = NULL;
    x->last_told = &x->told;
    pthread_mutex_unlock(&x->lock);
    return t;
}

static void on_told(int fd, unsigned events, void *arg)
{
    struct sharing *x = arg;
    struct told *t, *next;

    (void)events;
    hush(fd);
    for (t = take_told(x); t; t = next) {
        bool looked = t->looked && x->looking;

        next = t->next;
        if (t->word)
            x->opt.word(t->bad, t->word, x->opt.arg);
        hold_news(x, t);
        if (looked || (x->opt.eager && x->held_len))
            deliver_news(x);
        free_told(t);
    }
    if (x->finishing)
        loop_stop(x->loop);
}

static int sharing_start(struct sharing *x, struct err *e)
{
    sigset_t all, before;
    int rc;

    x->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    x->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    x->told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (x->wake_fd < 0 || x->stop_fd < 0 || x->told_fd < 0)
        return err_sys(e, "eventfd");
    x->source = loop_add_fd(x->loop, x->told_fd, LOOP_READ, on_told, x, e);
    if (!x->source)
        return -1;
    sigfillset(&all); /* signals are the loop's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&x->thread, NULL, sharing_work, x);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return 0;
    errno = rc;
    return err_sys(e, "cannot start a thread");
}

static void sharing_release(struct sharing *x)
{
    struct told *t, *next;
    struct gift *g;

    loop_remove(x->loop, x->source);
    loop_remove(x->loop, x->timer);
    for (t = take_told(x); t; t = next) {
        next = t->next;
        free_told(t);
    }
    while ((g = x->gift)) {
        x->gift = g->next;
        free_gift(g);
    }
    for (size_t i = 0; i < x->held_len; i++)
        kernel_release(&x->held[i]);
    free(x->held);
    for (size_t i = 0; i < 3; i++)
        if ((int[]){x->wake_fd, x->stop_fd, x->told_fd}[i] >= 0)
            close((int[]){x->wake_fd, x->stop_fd, x->told_fd}[i]);
    pthread_mutex_destroy(&x->lock);
    explicit_bzero(x->address, strlen(x->address)); /* it has the password */
    free(x->address);
    free(x->dsl);
    free(x);
}

struct sharing *sharing_open(struct loop *l, const struct sharing_opts *o,
                             struct err *e)
{
    struct sharing *x = xcalloc(1, sizeof(*x));

    x->opt = *o;
    x->address = xstrdup(o->address);
    x->dsl = xstrdup(o->dsl);
    x->loop = l;
    x->version = x->read_version = o->version;
    x->wait_ms = FIRST_TRY_MS;
    x->wake_fd = x->stop_fd = x->told_fd = -1;
    x->last_gift = &x->gift;
    x->last_told = &x->told;
    pthread_mutex_init(&x->lock, NULL);
    if (sharing_start(x, e) == 0)
        return x;
    sharing_release(x);
    return NULL;
}

void sharing_close(struct sharing *x)
{
    if (!x)
        return;
    pthread_mutex_lock(&x->lock);
    x->stop = true;
    pthread_mutex_unlock(&x->lock);
    ring(x->stop_fd);
    ring(x->wake_fd);
    pthread_join(x->thread, NULL);
    sharing_release(x);
}

void sharing_look(struct sharing *x)
{
    x->looking = true;
    loop_remove(x->loop, x->timer);
    x->timer = loop_add_timer(x->loop, tick_now_ns() + LOOK_NS, on_late, x);
    pthread_mutex_lock(&x->lock);
    x->look = true;
    pthread_mutex_unlock(&x->lock);
    ring(x->wake_fd);
}

void sharing_give(struct sharing *x, const struct kernel *k)
{
    struct gift *g = xcalloc(1, sizeof(*g));

    g->name = xstrdup(k->name);
    shared_row_of(k, &g->row);
    pthread_mutex_lock(&x->lock);
    *x->last_gift = g;
    x->last_gift = &g->next;
    x->waiting++;
    pthread_mutex_unlock(&x->lock);
    ring(x->wake_fd);
}

size_t sharing_finish(struct sharing *x, int64_t ns)
{
    int64_t until = tick_now_ns() + ns, left;
    size_t waiting, failures, before;

    pthread_mutex_lock(&x->lock);
    before = x->failures;
    x->hurry = true;
    pthread_mutex_unlock(&x->lock);
    ring(x->wake_fd);
    x->finishing = true;
    for (;;) {
        pthread_mutex_lock(&x->lock);
        waiting = x->waiting;
        failures = x->failures;
        pthread_mutex_unlock(&x->lock);
        left = until - tick_now_ns();
        if (waiting == 0 || failures != before || left <= 0)
            break;
        loop_run_for(x->loop, left);
    }
    x->finishing = false;
    return waiting;
}
