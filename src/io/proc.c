/* proc.c: posix_spawn, never fork: libraries have fork handlers, and a lock held
 * in one could hang this process.
 *
 * A child is finished when it has exited and both of its output pipes are closed.
 * A surviving descendant may keep a pipe open: we read from it for a short time
 * after the child's exit, then close it. */
#include "io/proc.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/tick.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINGER_NS (200 * TICK_MS)

enum { READ_SIZE = 65536 }; /* what a pipe holds */

/* One of our ends of the child's pipes. */
struct stream {
    struct proc *p;
    int fd; /* -1: closed */
    uint64_t source;
    struct buf *into; /* stdout and stderr */
    bool *truncated;
};

struct proc {
    struct loop *loop;
    proc_done_fn *done;
    void *arg;
    pid_t pid;
    bool exited;
    bool killing; /* the group must not outlive the child */
    bool kill_past_limit;
    int64_t start_ns, grace_ns;
    uint64_t child, timer; /* the timer: deadline, grace, then linger */
    const char *in;        /* what is still to be fed */
    size_t in_len;
    struct stream feed, out, err;
    struct proc_result result;
};

/* ---- streams ------------------------------------------------------------------ */

static void stream_close(struct stream *s)
{
    if (s->fd < 0)
        return;
    loop_remove(s->p->loop, s->source);
    close(s->fd);
    s->fd = -1;
}

static void kill_group(struct proc *p, int signo)
{
    /* Once the child is reaped, its number may become another group's. */
    if (!p->exited)
        kill(-p->pid, signo);
}

static void proc_finish(struct proc *p)
{
    loop_remove(p->loop, p->timer);
    p->timer = 0;
    p->done(p, &p->result, p->arg);
}

/* Called when the child or a pipe has ended. */
static void finish_if_over(struct proc *p)
{
    if (p->exited && p->out.fd < 0 && p->err.fd < 0)
        proc_finish(p);
}

static void proc_keep(struct stream *s, const char *data, size_t n)
{
    size_t room = s->into->limit - s->into->len;

    buf_put(s->into, data, n < room ? n : room);
    if (n <= room)
        return;
    *s->truncated = true;
    if (s->p->kill_past_limit)
        proc_kill(s->p);
}

static void proc_on_output(int fd, unsigned events, void *arg)
{
    struct stream *s = arg;
    char data[READ_SIZE];
    ssize_t n = read(fd, data, sizeof(data));

    (void)events;
    if (n > 0) {
        proc_keep(s, data, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        stream_close(s);
        finish_if_over(s->p);
    }
}

/* write() to a pipe whose reader may be gone: EPIPE without SIGPIPE, and
 * without changing how the program handles that signal. */
static ssize_t write_quietly(int fd, const char *data, size_t n)
{
    const struct timespec now = {0, 0};
    sigset_t pipe_set, before, pending;
    ssize_t written;
    int error;

    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
    written = write(fd, data, n);
    error = errno;
    if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0)
        while (sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

static void on_feed(int fd, unsigned events, void *arg)
{
    struct stream *s = arg;
    struct proc *p = s->p;
    ssize_t n = write_quietly(fd, p->in, p->in_len);

    (void)events;
    if (n > 0) {
        p->in += n;
        p->in_len -= (size_t)n;
    }
    /* A child that does not want its input is not an error. */
    if (p->in_len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        stream_close(s);
}

/* ---- the end -------------------------------------------------------------------- */

static void on_linger(void *arg)
{
    struct proc *p = arg;

    p->timer = 0;
    stream_close(&p->out);
    stream_close(&p->err);
    proc_finish(p);
}

static void on_grace(void *arg)
{
    struct proc *p = arg;

    p->timer = 0;
    kill_group(p, SIGKILL);
}

static void proc_on_deadline(void *arg)
{
    struct proc *p = arg;

    p->timer = 0;
    p->result.timed_out = true;
    p->killing = true;
    if (p->grace_ns > 0) {
        kill_group(p, SIGTERM);
        p->timer =
            loop_add_timer(p->loop, tick_now_ns() + p->grace_ns, on_grace, p);
    } else {
        kill_group(p, SIGKILL);
    }
}

static void on_exit_of_child(const siginfo_t *info, void *arg)
{
    struct proc *p = arg;

    p->result.wall_ns = tick_now_ns() - p->start_ns;
    if (info->si_code == CLD_EXITED)
        p->result.exit_code = info->si_status;
    else
        p->result.signal = info->si_status;
    if (p->killing)
        kill_group(p, SIGKILL);
    p->exited = true;
    p->child = 0;
    stream_close(&p->feed);
    loop_remove(p->loop, p->timer);
    p->timer = loop_add_timer(p->loop, tick_now_ns() + LINGER_NS, on_linger, p);
    finish_if_over(p);
}

void proc_kill(struct proc *p)
{
    p->killing = true;
    kill_group(p, SIGKILL);
}

void proc_free(struct proc *p)
{
    struct err e = ERR_INIT;

    if (!p)
        return;
    stream_close(&p->feed);
    stream_close(&p->out);
    stream_close(&p->err);
    loop_remove(p->loop, p->timer);
    if (p->child) {
        proc_kill(p);
        loop_remove(p->loop, p->child);
        /* Its end may take time: the loop waits for it, not we. */
        if (!loop_add_child(p->loop, p->pid, NULL, NULL, &e))
            waitpid(p->pid, NULL, 0);
    }
    proc_result_release(&p->result);
    free(p);
}

/* ---- the start ------------------------------------------------------------------ */

/* A pipe; our end does not block. Where our own stdout is closed its number is
 * free, and what we print must not become a child's input: so not below 3. */
static int open_pipe(int pair[2], int ours, struct err *e)
{
    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_sys(e, "open a pipe");
    for (int i = 0; i < 2; i++) {
        int fd = pair[i];

        if (fd > STDERR_FILENO)
            continue;
        pair[i] = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (pair[i] < 0)
            err_sys(e, "open a pipe");
        close(fd);
    }
    if (pair[0] < 0 || pair[1] < 0)
        return -1;
    if (fcntl(pair[ours], F_SETFL, O_NONBLOCK) < 0)
        return err_sys(e, "open a pipe");
    return 0;
}

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* Each call returns 0 or an errno. */
static int set_actions(posix_spawn_file_actions_t *a, const struct proc_opts *o,
                       int theirs[3])
{
    int rc;

    if (o->in_len)
        rc = posix_spawn_file_actions_adddup2(a, theirs[0], STDIN_FILENO);
    else
        rc = posix_spawn_file_actions_addopen(a, STDIN_FILENO, "/dev/null",
                                              O_RDONLY, 0);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(a, theirs[1], STDOUT_FILENO);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(a, theirs[2], STDERR_FILENO);
    if (!rc)
        rc = posix_spawn_file_actions_addclosefrom_np(a, STDERR_FILENO + 1);
    if (!rc && o->cwd)
        rc = posix_spawn_file_actions_addchdir_np(a, o->cwd);
    return rc;
}

static void set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attr, &none);
    posix_spawnattr_setsigdefault(attr, &all);
    posix_spawnattr_setpgroup(attr, 0);
    posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP |
                                       POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
}

/* A parent that ignored SIGCHLD hands that on to us, and the kernel would reap
 * our children before we have asked how they ended. */
static void stop_ignoring_children(void)
{
    struct sigaction now;

    if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
}

static pid_t proc_spawn(const struct proc_opts *o, int theirs[3], struct err *e)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    pid_t pid = -1;
    const char **own = o->env ? NULL : secret_free_env();
    char *const *env = (char *const *)(o->env ? o->env : own);

    stop_ignoring_children();
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    set_attributes(&attr);
    errno = set_actions(&actions, o, theirs);
    if (!errno)
        errno = posix_spawnp(&pid, o->argv[0], &actions, &attr,
                             (char *const *)o->argv, env);
    if (errno) {
        pid = -1;
        if (o->cwd && !fs_is_dir(o->cwd))
            err_sys(e, "start %s in %s", o->argv[0], o->cwd);
        else
            err_sys(e, "start %s", o->argv[0]);
    }
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    free(own);
    return pid;
}

static int listen_to(struct stream *s, unsigned interest, loop_fd_fn *fn,
                     struct err *e)
{
    if (s->fd < 0)
        return 0;
    s->source = loop_add_fd(s->p->loop, s->fd, interest, fn, s, e);
    return s->source ? 0 : -1;
}

/* With the child running: hooks it up to the loop. */
static int attach(struct proc *p, const struct proc_opts *o, struct err *e)
{
    p->child = loop_add_child(p->loop, p->pid, on_exit_of_child, p, e);
    if (!p->child) {
        proc_kill(p);
        waitpid(p->pid, NULL, 0);
        return -1;
    }
    if (listen_to(&p->feed, LOOP_WRITE, on_feed, e) < 0 ||
        listen_to(&p->out, LOOP_READ, proc_on_output, e) < 0 ||
        listen_to(&p->err, LOOP_READ, proc_on_output, e) < 0)
        return -1;
    if (o->timeout_ns > 0)
        p->timer = loop_add_timer(p->loop, p->start_ns + o->timeout_ns,
                                  proc_on_deadline, p);
    return 0;
}

static struct proc *proc_new(struct loop *l, const struct proc_opts *o)
{
    struct proc *p = xcalloc(1, sizeof(*p));

    p->loop = l;
    p->kill_past_limit = o->kill_past_limit;
    p->grace_ns = o->grace_ns;
    p->in = o->in;
    p->in_len = o->in_len;
    p->result.exit_code = -1;
    buf_init(&p->result.out, o->out_limit);
    buf_init(&p->result.err, o->err_limit);
    p->feed = (struct stream){.p = p, .fd = -1};
    p->out = (struct stream){.p = p,
                             .fd = -1,
                             .into = &p->result.out,
                             .truncated = &p->result.out_truncated};
    p->err = (struct stream){.p = p,
                             .fd = -1,
                             .into = &p->result.err,
                             .truncated = &p->result.err_truncated};
    return p;
}

struct proc *proc_start(struct loop *l, const struct proc_opts *o,
                        proc_done_fn *done, void *arg, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    struct proc *p = proc_new(l, o);
    bool started = false;

    p->done = done;
    p->arg = arg;
    if ((o->in_len && open_pipe(in, 1, e) < 0) || open_pipe(out, 0, e) < 0 ||
        open_pipe(err, 0, e) < 0)
        goto out;
    p->start_ns = tick_now_ns();
    p->pid = proc_spawn(o, (int[]){in[0], out[1], err[1]}, e);
    if (p->pid < 0)
        goto out;
    p->feed.fd = in[1];
    p->out.fd = out[0];
    p->err.fd = err[0];
    in[1] = out[0] = err[0] = -1;
    started = attach(p, o, e) == 0;
out:
    close_pair(in);
    close_pair(out);
    close_pair(err);
    if (started)
        return p;
    proc_free(p);
    return NULL;
}

void proc_result_release(struct proc_result *r)
{
    buf_release(&r->out);
    buf_release(&r->err);
}

/* ---- a queue of programs on one loop ---- */

struct procs {
    struct loop *loop;
    struct procs_item *item;
    size_t n, next, done;
    void (*ended)(size_t done, void *arg);
    void *arg;
};

struct slot {
    struct procs *b;
    struct procs_item *item;
};

static void start_next(struct procs *b);

static void procs_tell(struct procs *b)
{
    b->done++;
    if (b->ended)
        b->ended(b->done, b->arg);
}

static void procs_on_done(struct proc *p, struct proc_result *r, void *arg)
{
    struct slot *s = arg;
    struct procs *b = s->b;

    s->item->result = *r;
    /* The buffers are the item's now. */
    buf_init(&r->out, r->out.limit);
    buf_init(&r->err, r->err.limit);
    proc_free(p);
    free(s);
    procs_tell(b);
    start_next(b);
}

static void start_next(struct procs *b)
{
    while (b->next < b->n) {
        struct slot *s = xmalloc(sizeof(*s));

        *s = (struct slot){b, &b->item[b->next++]};
        if (proc_start(b->loop, &s->item->opts, procs_on_done, s,
                       &s->item->failed))
            return;
        free(s);
        procs_tell(b);
    }
}

int procs_run(struct procs_item *item, size_t n, size_t at_once,
              void (*ended)(size_t done, void *arg), void *arg, struct err *e)
{
    struct procs b = {loop_new(e), item, n, 0, 0, ended, arg};

    if (!b.loop)
        return -1;
    for (size_t i = 0; i < at_once; i++)
        start_next(&b);
    loop_run(b.loop);
    loop_free(b.loop);
    return 0;
}
