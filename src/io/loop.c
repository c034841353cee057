/* loop.c: epoll, a table of sources and a heap of timers.
 *
 * Sources live in one table. An id is the slot's index and the slot's
 * generation, which changes when the slot is freed; epoll hands the id back with
 * each event, so an event for a source that is gone finds another generation. */
#include "io/loop.h"

#include "base/mem.h"
#include "base/tick.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 64 };

enum source_kind {
    SOURCE_FREE,
    SOURCE_FD,
    SOURCE_TIMER,
    SOURCE_SIGNAL,
    SOURCE_CHILD
};

struct source {
    enum source_kind kind;
    uint32_t generation; /* never 0, so that no id is 0 */
    int fd;              /* not for timers; ours for signals and children */
    unsigned interest;
    int signo;
    bool was_blocked; /* the signal was blocked before we came */
    size_t heap_at;
    int64_t at_ns;
    uint64_t seq; /* order of timers due at the same time */
    union {
        loop_fd_fn *fd;
        loop_timer_fn *timer;
        loop_signal_fn *signal;
        loop_child_fn *child;
    } fn;
    void *arg;
    size_t next_free; /* index + 1 */
};

struct loop {
    int epoll;
    struct source *sources;
    size_t len, cap;
    size_t first_free; /* index + 1, 0 when none */
    size_t alive;      /* sources that keep loop_run() going */
    size_t *heap;      /* indices of timers, the next one first */
    size_t heap_len, heap_cap;
    uint64_t next_seq;
    bool running, stopped;
};

static uint64_t id_of(const struct loop *l, size_t i)
{
    return (uint64_t)l->sources[i].generation << 32 | i;
}

/* The source with this id, or NULL when it was removed. */
static struct source *loop_find(const struct loop *l, uint64_t id)
{
    size_t i = (size_t)(id & UINT32_MAX);

    if (i >= l->len || l->sources[i].kind == SOURCE_FREE ||
        l->sources[i].generation != id >> 32)
        return NULL;
    return &l->sources[i];
}

static size_t slot_take(struct loop *l, enum source_kind kind, void *arg)
{
    size_t i;
    uint32_t generation;

    if (l->first_free) {
        i = l->first_free - 1;
        l->first_free = l->sources[i].next_free;
        generation = l->sources[i].generation;
    } else {
        i = l->len;
        if (i == UINT32_MAX)
            BUG("too many sources");
        l->sources = xgrow(l->sources, &l->cap, i, sizeof(*l->sources));
        l->len++;
        generation = 1;
    }
    l->sources[i] = (struct source){
        .kind = kind, .generation = generation, .fd = -1, .arg = arg};
    if (kind != SOURCE_SIGNAL)
        l->alive++;
    return i;
}

static void slot_free(struct loop *l, struct source *s)
{
    if (s->kind != SOURCE_SIGNAL)
        l->alive--;
    s->kind = SOURCE_FREE;
    /* A slot that has used up its generations is not reused. */
    if (++s->generation == 0)
        return;
    s->next_free = l->first_free;
    l->first_free = (size_t)(s - l->sources) + 1;
}

/* ---- timers ---------------------------------------------------------------- */

static bool heap_before(const struct loop *l, size_t a, size_t b)
{
    const struct source *x = &l->sources[a], *y = &l->sources[b];

    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->seq < y->seq;
}

static void heap_put(struct loop *l, size_t at, size_t i)
{
    l->heap[at] = i;
    l->sources[i].heap_at = at;
}

static void heap_up(struct loop *l, size_t at)
{
    size_t i = l->heap[at];

    while (at > 0 && heap_before(l, i, l->heap[(at - 1) / 2])) {
        heap_put(l, at, l->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(l, at, i);
}

static void heap_down(struct loop *l, size_t at)
{
    size_t i = l->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < l->heap_len &&
            heap_before(l, l->heap[child + 1], l->heap[child]))
            child++;
        if (child >= l->heap_len || !heap_before(l, l->heap[child], i))
            break;
        heap_put(l, at, l->heap[child]);
        at = child;
    }
    heap_put(l, at, i);
}

static void heap_remove(struct loop *l, size_t at)
{
    size_t last = l->heap[--l->heap_len];

    if (at == l->heap_len)
        return;
    heap_put(l, at, last);
    heap_down(l, at);
    heap_up(l, l->sources[last].heap_at);
}

uint64_t loop_add_timer(struct loop *l, int64_t at_ns, loop_timer_fn *fn,
                        void *arg)
{
    int64_t now = tick_now_ns();
    size_t i = slot_take(l, SOURCE_TIMER, arg);

    l->sources[i].fn.timer = fn;
    /* Never earlier than now: an overdue timer goes after those already due, so a
     * timer that re-adds itself cannot starve the others. */
    l->sources[i].at_ns = at_ns > now ? at_ns : now;
    l->sources[i].seq = l->next_seq++;
    l->heap = xgrow(l->heap, &l->heap_cap, l->heap_len, sizeof(*l->heap));
    heap_put(l, l->heap_len++, i);
    heap_up(l, l->heap_len - 1);
    return id_of(l, i);
}

uint64_t loop_defer(struct loop *l, loop_timer_fn *fn, void *arg)
{
    return loop_add_timer(l, 0, fn, arg);
}

/* Runs what is due by now: what these timers add is due later. */
static void run_timers(struct loop *l)
{
    int64_t now = tick_now_ns();

    while (l->heap_len && !l->stopped) {
        struct source *s = &l->sources[l->heap[0]];
        loop_timer_fn *fn = s->fn.timer;
        void *arg = s->arg;

        if (s->at_ns > now)
            return;
        heap_remove(l, 0);
        slot_free(l, s);
        fn(arg);
    }
}

/* ---- descriptors ------------------------------------------------------------ */

static int loop_watch(struct loop *l, struct source *s, int op,
                      unsigned interest)
{
    struct epoll_event ev = {.data.u64 = id_of(l, (size_t)(s - l->sources))};

    if (interest & LOOP_READ)
        ev.events |= EPOLLIN;
    if (interest & LOOP_WRITE)
        ev.events |= EPOLLOUT;
    return epoll_ctl(l->epoll, op, s->fd, &ev);
}

uint64_t loop_add_fd(struct loop *l, int fd, unsigned interest, loop_fd_fn *fn,
                     void *arg, struct err *e)
{
    size_t i = slot_take(l, SOURCE_FD, arg);
    struct source *s = &l->sources[i];

    s->fd = fd;
    s->fn.fd = fn;
    if (loop_set_interest(l, id_of(l, i), interest, e) < 0) {
        slot_free(l, s);
        return 0;
    }
    return id_of(l, i);
}

int loop_set_interest(struct loop *l, uint64_t id, unsigned interest,
                      struct err *e)
{
    struct source *s = loop_find(l, id);
    int op = EPOLL_CTL_MOD;

    if (!s || s->kind != SOURCE_FD)
        BUG("loop_set_interest: no descriptor has this id");
    if (s->interest == interest)
        return 0;
    /* epoll reports hang-ups even without interest: so remove the descriptor. */
    if (!s->interest)
        op = EPOLL_CTL_ADD;
    else if (!interest)
        op = EPOLL_CTL_DEL;
    if (loop_watch(l, s, op, interest) < 0)
        return err_sys(e, "wait for descriptor %d", s->fd);
    s->interest = interest;
    return 0;
}

static void run_fd(struct source *s, uint32_t epoll_events)
{
    unsigned events = 0;

    if (epoll_events & EPOLLIN)
        events |= LOOP_READ;
    if (epoll_events & EPOLLOUT)
        events |= LOOP_WRITE;
    if (epoll_events & (EPOLLHUP | EPOLLERR))
        events = LOOP_READ | LOOP_WRITE;
    /* An earlier callback of the batch may have changed the interest. */
    events &= s->interest;
    if (events)
        s->fn.fd(s->fd, events, s->arg);
}

/* ---- signals and children --------------------------------------------------- */

/* Watches a descriptor of our own; takes `fd` over, also when it fails. */
static uint64_t add_own(struct loop *l, size_t i, int fd, struct err *e)
{
    struct source *s = &l->sources[i];

    s->fd = fd;
    if (loop_watch(l, s, EPOLL_CTL_ADD, LOOP_READ) < 0) {
        err_sys(e, "wait for descriptor %d", fd);
        close(fd);
        slot_free(l, s);
        return 0;
    }
    return id_of(l, i);
}

/* First remove it from epoll: a child between spawn and exec may hold a copy. */
static void close_own(struct loop *l, int fd)
{
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
    close(fd);
}

static void unblock(int signo)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signo);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

uint64_t loop_add_signal(struct loop *l, int signo, loop_signal_fn *fn,
                         void *arg, struct err *e)
{
    sigset_t set, before;
    size_t i;
    int fd;
    uint64_t id;
    bool was_blocked;

    sigemptyset(&set);
    sigemptyset(&before);
    if (sigaddset(&set, signo) < 0) {
        err_sys(e, "signal %d", signo);
        return 0;
    }
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        err_sys(e, "listen for signal %d", signo);
        return 0;
    }
    pthread_sigmask(SIG_BLOCK, &set, &before);
    was_blocked = sigismember(&before, signo) == 1;
    i = slot_take(l, SOURCE_SIGNAL, arg);
    l->sources[i].signo = signo;
    l->sources[i].was_blocked = was_blocked;
    l->sources[i].fn.signal = fn;
    id = add_own(l, i, fd, e);
    if (!id && !was_blocked)
        unblock(signo);
    return id;
}

int loop_add_stops(struct loop *l, loop_signal_fn *fn, void *arg, struct err *e)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction was;

    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        if (stops[i] == SIGHUP && sigaction(SIGHUP, NULL, &was) == 0 &&
            was.sa_handler == SIG_IGN)
            continue;
        if (!loop_add_signal(l, stops[i], fn, arg, e))
            return -1;
    }
    return 0;
}

static void run_signal(struct source *s)
{
    struct signalfd_siginfo info;

    if (read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        s->fn.signal(s->signo, s->arg);
}

uint64_t loop_add_child(struct loop *l, pid_t pid, loop_child_fn *fn, void *arg,
                        struct err *e)
{
    int fd = pidfd_open(pid, 0); /* close-on-exec by itself */
    size_t i;

    if (fd < 0) {
        err_sys(e, "watch process %d", (int)pid);
        return 0;
    }
    i = slot_take(l, SOURCE_CHILD, arg);
    l->sources[i].fn.child = fn;
    return add_own(l, i, fd, e);
}

static void run_child(struct loop *l, struct source *s)
{
    loop_child_fn *fn = s->fn.child;
    void *arg = s->arg;
    int fd = s->fd;
    siginfo_t info = {0};

    if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == 0)
        return; /* still alive */
    slot_free(l, s);
    if (fn)
        fn(&info, arg);
    waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
    close_own(l, fd);
}

/* ---- the loop ----------------------------------------------------------------- */

struct loop *loop_new(struct err *e)
{
    struct loop *l;
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0) {
        err_sys(e, "create an event loop");
        return NULL;
    }
    l = xcalloc(1, sizeof(*l));
    l->epoll = fd;
    return l;
}

static void remove_source(struct loop *l, struct source *s)
{
    siginfo_t info;

    switch (s->kind) {
    case SOURCE_FREE:
        return;
    case SOURCE_TIMER:
        heap_remove(l, s->heap_at);
        break;
    case SOURCE_FD:
        if (s->interest)
            epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
        break;
    case SOURCE_SIGNAL:
        close_own(l, s->fd);
        if (!s->was_blocked)
            unblock(s->signo);
        break;
    case SOURCE_CHILD:
        if (!s->fn.child)
            waitid(P_PIDFD, (id_t)s->fd, &info, WEXITED | WNOHANG);
        close_own(l, s->fd);
        break;
    }
    slot_free(l, s);
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    if (l->running)
        BUG("loop_free inside loop_run");
    for (size_t i = 0; i < l->len; i++)
        remove_source(l, &l->sources[i]);
    close(l->epoll);
    free(l->sources);
    free(l->heap);
    free(l);
}

bool loop_remove(struct loop *l, uint64_t id)
{
    struct source *s = loop_find(l, id);

    if (!s)
        return false;
    remove_source(l, s);
    return true;
}

void loop_stop(struct loop *l)
{
    l->stopped = true;
}

/* Milliseconds until the next timer or `end_ns`, rounded up: a wait that ends
 * before its time would be a busy loop. */
static int wait_ms(const struct loop *l, int64_t end_ns)
{
    int64_t at = end_ns, ms;

    if (l->heap_len && l->sources[l->heap[0]].at_ns < at)
        at = l->sources[l->heap[0]].at_ns;
    if (at == INT64_MAX)
        return -1;
    at -= tick_now_ns();
    if (at <= 0)
        return 0;
    ms = (at - 1) / TICK_MS + 1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void run_event(struct loop *l, const struct epoll_event *ev)
{
    struct source *s = loop_find(l, ev->data.u64);

    if (!s)
        return;
    if (s->kind == SOURCE_FD)
        run_fd(s, ev->events);
    else if (s->kind == SOURCE_SIGNAL)
        run_signal(s);
    else
        run_child(l, s);
}

static bool run_until(struct loop *l, int64_t end_ns)
{
    struct epoll_event ev[BATCH];

    if (l->running)
        BUG("loop_run inside loop_run");
    l->running = true;
    l->stopped = false;
    while (l->alive && !l->stopped) {
        int n = epoll_wait(l->epoll, ev, BATCH, wait_ms(l, end_ns));

        if (n < 0 && errno != EINTR)
            BUG("epoll_wait: errno %d", errno);
        for (int i = 0; i < n && !l->stopped; i++)
            run_event(l, &ev[i]);
        run_timers(l);
        if (tick_now_ns() >= end_ns)
            break;
    }
    l->running = false;
    return !l->alive || l->stopped;
}

void loop_run(struct loop *l)
{
    run_until(l, INT64_MAX);
}

bool loop_run_for(struct loop *l, int64_t ns)
{
    int64_t now = tick_now_ns();

    return run_until(l, ns < INT64_MAX - now ? now + ns : INT64_MAX);
}
