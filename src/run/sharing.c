/* sharing.c: a run's end of a shared archive: the thread that talks to the server, what
 * it shares with the loop, and what the run takes and gives.
 *
 * What a run has seen of the archive decides what it does next, so it is part of what
 * must be repeatable: each look is stored with the version that it found, and a run that
 * is continued gets the same kernels at the same barriers. A kernel is given only when
 * its rows are on the disk of the run: otherwise others could build on a kernel that the
 * run itself does not know of after a crash. */
#include "run/sharing.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "run/parts.h"
#include "run/shared.h"
#include "run/summary.h"
#include "search/archive.h"
#include "search/embed.h"
#include "store/pg.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
        if (e->kind != ERR_INPUT || shared_is_lost(s))
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
            rc = shared_wait(s, x->wake_fd, IDLE_MS, e);
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

    if (s && shared_listen(s, e) < 0) {
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

#define FINISH_NS (10 * TICK_S)

/* A kernel that waits until it is durable here. */
struct own {
    struct run_share *share;
    int64_t ord, attempt;
    char plan[HASH_HEX], code[HASH_HEX], record[HASH_HEX];
};

struct run_share {
    struct run *r;
    struct search_shared search;
    struct sharing *sharing;
    size_t owns; /* that wait */
};

/* ---- the option ---- */

/* run.ini and messages have the address without its password. */
int run_share_find(struct run *r, struct err *e)
{
    struct opt_list *list = &r->set->archive;

    for (size_t i = 0; i < list->len; i++) {
        char *shown;

        if (!pg_is_address(list->item[i]))
            continue;
        if (r->shared_address)
            return err_set(e, ERR_USAGE,
                           "--archive: a run has at most one shared archive");
        if (pg_can_open(list->item[i], e) < 0)
            return err_wrap(e, "--archive");
        r->shared_address = arena_strdup(&r->memory, list->item[i]);
        shown = pg_shown(list->item[i]);
        list->item[i] = arena_strdup(&r->memory, shown);
        free(shown);
    }
    return 0;
}

/* ---- what the run begins with ---- */

int run_share_recall(struct run *r, struct err *e)
{
    struct store_list l = {0};
    const struct row_look *look;
    struct arena memory = {0};
    int rc;

    rc = store_list(r->store, STORE_LOOKS, STORE_ALL, &l, &memory, e);
    look = l.row;
    r->shared_known = l.len > 0;
    if (l.len) {
        r->shared_first = look[0].shared_version;
        r->shared_last = look[l.len - 1].shared_version;
    }
    free(l.row);
    arena_release(&memory);
    return rc;
}

static bool has_task(const struct run *r, const char *hash)
{
    for (size_t i = 0; i < r->kernel_len; i++)
        if (strcmp(r->kernel[i].task->hash, hash) == 0)
            return true;
    return false;
}

static int take_first(struct kernel *k, int64_t number, const struct err *why,
                      void *arg, struct err *e)
{
    struct run *r = arg;

    (void)e;
    if (!k) {
        log_warn("kernel %lld of the shared archive is left out: %s",
                 (long long)number, why->text);
        return 0;
    }
    if (kernel_is_retired(k) || kernel_is_older(k) ||
        has_task(r, k->task->hash))
        return 0;
    run_examples_add(r, k, "archive");
    *k = (struct kernel){0};
    return 0;
}

int run_share_load(struct run *r, struct err *e)
{
    enum shared_mode mode = r->set->dry_run ? SHARED_READ : SHARED_WRITE;
    struct shared *s = shared_open(r->shared_address, mode, -1, e);
    struct shared_range range = {.dsl = r->pack->id,
                                 .until = r->shared_known ? r->shared_first
                                                          : SHARED_NEWEST};
    int rc;

    if (!s)
        return -1;
    rc = shared_each(s, &range, take_first, r, e);
    r->shared_first = r->shared_last = range.until;
    shared_close(s);
    return rc;
}

/* ---- while it goes on ---- */

static void share_news(int64_t version, struct kernel *k, size_t n, void *arg)
{
    struct run_share *h = arg;
    struct search_example *x = xcalloc(n + 1, sizeof(*x));
    size_t before, joined;

    for (size_t i = 0; i < n; i++)
        x[i] = (struct search_example){
            .origin = "shared",
            .name = k[i].name,
            .task_hash = k[i].task->hash,
            .evidence = kernel_evidence(&k[i]),
            .problem = {k[i].task->source, k[i].task->len},
            .plan = k[i].plan,
            .solution = k[i].solution,
            .ops = k[i].task->ops};
    before = search_archive_size(h->r->search);
    search_news(h->r->search, version, x, n);
    joined = search_archive_size(h->r->search) - before;
    if (joined)
        log_info("%zu kernel%s joined from the shared archive, version %lld",
                 joined, joined == 1 ? "" : "s", (long long)version);
    free(x);
}

static void share_word(bool bad, const char *text, void *arg)
{
    struct run_share *h = arg;

    if (bad)
        log_warn("%s", text);
    else
        log_info("%s", text);
    store_event(h->r->store, "shared", -1, 0, text);
}

static void share_look(void *arg)
{
    struct run_share *h = arg;

    sharing_look(h->sharing);
}

static void share_embed(struct str text, float *out, void *arg)
{
    struct run_share *h = arg;

    embed_vector(h->r->embed, text, out);
}

/* ---- the run's own kernels ---- */

/* What the task is a piece of; NULL: it is none. */
static json_t *piece_of(struct run *r, int64_t ord)
{
    struct store_list l = {0};
    struct err ignored = ERR_INIT;
    const struct row_task *row;
    json_t *piece = NULL;
    struct arena memory = {0};

    if (store_list(r->store, STORE_TASKS, ord, &l, &memory, &ignored) == 0 &&
        l.len && (row = l.row)->kind)
        piece = summary_piece_json(row);
    free(l.row);
    arena_release(&memory);
    return piece;
}

static int own_kernel(struct run *r, const struct own *o, struct arena *a,
                      struct kernel *k, struct err *e)
{
    struct archive_ported ported;

    if (store_text(r->store, o->code, a, &k->solution, e) < 0 ||
        store_text(r->store, o->plan, a, &k->plan, e) < 0 ||
        archive_ported(r->store, o->record, a, &ported, e) < 0)
        return -1;
    if (ported.text.n)
        k->ported = ported.text;
    k->ported_why = ported.why;
    k->piece = piece_of(r, o->ord);
    return 0;
}

static void share_give(struct run_share *h, const struct own *o)
{
    struct run *r = h->r;
    struct task *t = r->tasks.task[o->ord];
    struct kernel_finding f = {.method = r->set->method,
                               .model = r->set->model.model,
                               .device = r->set->verify.device,
                               .precision = r->opt.precision,
                               .dsl = r->pack->id,
                               .attempt = o->attempt};
    struct kernel k = {.task = t, .rules = VERDICT_RULES};
    struct err e = ERR_INIT;
    struct arena texts = {0};

    kernel_found(&k, &texts, t->id, &f);
    if (own_kernel(r, o, &texts, &k, &e) == 0)
        sharing_give(h->sharing, &k);
    else
        log_warn("%s is not in the shared archive: %s", t->id, e.text);
    arena_release(&texts);
    json_decref(k.piece);
}

static void on_durable(const struct err *e, void *arg)
{
    struct own *o = arg;

    o->share->owns--;
    if (!e)
        share_give(o->share, o);
}

static void share_own(const struct search_own *from, void *arg)
{
    struct run_share *h = arg;
    struct own *o = arena_alloc(&h->r->memory, sizeof(*o));

    o->share = h;
    o->ord = from->ord;
    o->attempt = from->attempt;
    snprintf(o->plan, sizeof(o->plan), "%s", from->plan);
    snprintf(o->code, sizeof(o->code), "%s", from->code);
    snprintf(o->record, sizeof(o->record), "%s", from->record);
    h->owns++;
    store_after(h->r->store, on_durable, o);
}

/* ---- beginning and end ---- */

const struct search_shared *run_share_open(struct run *r)
{
    struct run_share *h;

    if (!r->shared_address)
        return NULL;
    h = r->share = xcalloc(1, sizeof(*h));
    h->r = r;
    h->search = (struct search_shared){.look = share_look,
                                       .own = share_own,
                                       .embed = r->embed ? share_embed : NULL,
                                       .arg = h};
    if (!r->embed)
        log_info("with --embeddings URL the run does not show kernels that "
                 "others add to the shared archive after it has begun");
    return &h->search;
}

int run_share_begin(struct run *r, struct err *e)
{
    struct sharing_opts o = {.address = r->shared_address,
                             .dsl = r->pack->id,
                             .version = r->shared_last,
                             .eager = !search_takes_news(r->search) ||
                                      search_is_eager(r->search),
                             .news = share_news,
                             .word = share_word,
                             .arg = r->share};

    if (!r->share)
        return 0;
    r->share->sharing = sharing_open(r->loop, &o, e);
    return r->share->sharing ? 0 : -1;
}

int run_share_finish(struct run *r, struct err *e)
{
    size_t missing;

    if (!r->share || !r->share->sharing)
        return 0;
    if (store_sync(r->store, e) < 0)
        return -1;
    while (r->share->owns) /* marks that have been reached */
        loop_run_for(r->loop, TICK_S);
    missing = sharing_finish(r->share->sharing,
                             r->stopping ? FINISH_NS / 5 : FINISH_NS);
    if (missing)
        log_warn("%zu kernel%s not reached the shared archive; 'monkeys resume "
                 "%s' sends %s when the server is back",
                 missing, missing == 1 ? " has" : "s have", r->set->out,
                 missing == 1 ? "it" : "them");
    return 0;
}

void run_share_close(struct run *r)
{
    if (!r->share)
        return;
    sharing_close(r->share->sharing);
    free(r->share);
    r->share = NULL;
}
