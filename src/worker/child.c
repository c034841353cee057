/* child.c: a candidate's process, from the fork to its last output.
 *
 * The deadline is the hard part. By the clock alone, a candidate would fail because
 * others keep the machine busy; by its processor time alone, one that sleeps would
 * never end. So a child is given as much longer as it had to wait for a processor,
 * up to CHILD_SLOWEST times, and one that did next to nothing gets no more: verdicts
 * do not depend on how many candidates are judged at once.
 *
 * It is killed through its keeper, which ends only when every process of the box
 * has: were the candidate killed directly, what it had forked would still compute
 * while the next one is timed. */
#include "worker/child.h"

#include "base/mem.h"
#include "base/tick.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHILD_PIPE (1 << 20)
#define STUCK_S    15 /* what a keeper has to end in; fork bombs need some */

/* ---- what the kernel tells about processes ---- */

#define DEEPEST 16 /* generations of processes that are looked at */

/* The fields of /proc/PID/stat after the name, from the state on, in `line`;
 * NULL if there is no such process. */
static const char *health_stat(pid_t pid, char *line, size_t cap)
{
    char path[64];
    const char *name_end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    f = fopen(path, "re");
    if (!f)
        return NULL;
    /* The name, in brackets, may hold anything. */
    name_end = fgets(line, (int)cap, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return name_end ? name_end + 1 : NULL;
}

/* Of a process and all its descendants: the time of all, and whether one of them runs. */
struct health_tree {
    int64_t used_ns;
    bool runs;
};

/* One process as a tree of its own. */
static struct health_tree health_look(pid_t pid)
{
    char line[1024];
    const char *fields = health_stat(pid, line, sizeof(line));
    struct health_tree t = {0, false};
    long long used[4];

    if (!fields)
        return t;
    t.runs = strncmp(fields, " R", 2) == 0;
    if (sscanf(fields, // NOLINT(cert-err34-c)
               " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
               " %lld %lld %lld %lld",
               &used[0], &used[1], &used[2], &used[3]) == 4)
        t.used_ns = (used[0] + used[1] + used[2] + used[3]) *
                    (TICK_S / sysconf(_SC_CLK_TCK));
    return t;
}

/* Processor time of the process and of children that it has waited for, in
 * nanoseconds (counted in clock ticks); 0 if there is no such process. */
static int64_t health_time_ns(pid_t pid)
{
    return health_look(pid).used_ns;
}

/* Whether it computes, or would if it had a processor. */
static bool health_runs(pid_t pid)
{
    return health_look(pid).runs;
}

static void add_tree(struct health_tree *t, pid_t pid, int depth)
{
    struct health_tree own = health_look(pid);
    char path[64];
    long child;
    FILE *f;

    t->used_ns += own.used_ns;
    t->runs |= own.runs;
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid,
             (long)pid);
    f = depth < DEEPEST ? fopen(path, "re") : NULL;
    if (!f)
        return;
    while (fscanf(f, "%ld", &child) == 1) // NOLINT(cert-err34-c)
        add_tree(t, (pid_t)child, depth + 1);
    fclose(f);
}

static struct health_tree health_tree(pid_t pid)
{
    struct health_tree t = {0, false};

    add_tree(&t, pid, 0);
    return t;
}

/* ---- a child ---- */

/* Keeps the last CHILD_OUTPUT bytes. */
static void keep_output(struct child *c, const char *p, size_t n)
{
    struct buf *b = &c->output;

    if (b->len + n > 2 * CHILD_OUTPUT) {
        memmove(b->data, b->data + b->len - CHILD_OUTPUT, CHILD_OUTPUT);
        b->len = CHILD_OUTPUT;
    }
    buf_put(b, p, n);
    for (char *at = b->data + b->len - n;
         (at = memchr(at, '\0', (size_t)(b->data + b->len - at))); at++)
        *at = '?';
}

static void child_on_output(int fd, unsigned events, void *arg)
{
    struct child *c = arg;
    char data[65536];
    ssize_t n = read(fd, data, sizeof(data));

    (void)events;
    if (n > 0)
        keep_output(c, data, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        loop_remove(c->loop, c->pipe_id);
}

void child_drain(struct child *c)
{
    char data[16384];
    ssize_t n;

    /* Bounded: a child that is dead writes no more. */
    for (int i = 0; i < 64 && (n = read(c->pipe, data, sizeof(data))) > 0; i++)
        keep_output(c, data, (size_t)n);
}

struct child *child_new(struct loop *l, struct server *zygote, const char *name,
                        uint64_t memory, struct err *e)
{
    struct child *c = xcalloc(1, sizeof(*c));
    struct frame f = {.type = "fork"};
    char text[900], procs[800];
    int pair[2], out[2];

    c->loop = l;
    c->pidfd = c->judge_end = c->pipe = -1;
    c->asked_ns = tick_now_ns();
    buf_init(&c->output, 4 * CHILD_OUTPUT);
    snprintf(c->name, sizeof(c->name), "%s", name);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        err_sys(e, "socketpair");
        child_free(c);
        return NULL;
    }
    c->judge_end = pair[0];
    if (pipe2(out, O_CLOEXEC) < 0) {
        err_sys(e, "pipe");
        close(pair[1]);
        child_free(c);
        return NULL;
    }
    c->pipe = out[0];
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    /* Who prints much waits for us less often; a smaller one will do, too. */
    fcntl(out[0], F_SETPIPE_SZ, CHILD_PIPE);
    c->pipe_id = loop_add_fd(l, out[0], LOOP_READ, child_on_output, c, e);
    if (memory)
        cgroup_make(&c->group, c->name, memory);
    cgroup_procs(&c->group, procs, sizeof(procs));
    snprintf(text, sizeof(text), "%llu %s", (unsigned long long)memory, procs);
    f.payload = text;
    f.len = strlen(text);
    snprintf(f.id, sizeof(f.id), "%s", c->name);
    server_send(zygote, &f, (const int[]){pair[1], out[1]}, 2);
    return c;
}

void child_free(struct child *c)
{
    loop_remove(c->loop, c->pipe_id);
    loop_remove(c->loop, c->timer);
    if (c->pidfd >= 0)
        close(c->pidfd);
    if (c->judge_end >= 0)
        close(c->judge_end);
    if (c->pipe >= 0)
        close(c->pipe);
    buf_release(&c->output);
    free(c);
}

static void on_stuck(void *arg)
{
    struct child *c = arg;

    c->timer = 0;
    syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
}

/* The keeper is asked, not killed: it kills the candidate and ends when every
 * process of the box has. A candidate in a thin box may have stopped it. */
static void ask_keeper(struct child *c)
{
    c->asked_ns = tick_now_ns();
    loop_remove(c->loop, c->timer);
    c->timer =
        loop_add_timer(c->loop, c->asked_ns + STUCK_S * TICK_S, on_stuck, c);
    syscall(SYS_pidfd_send_signal, c->pidfd, SIGTERM, NULL, 0);
    syscall(SYS_pidfd_send_signal, c->pidfd, SIGCONT, NULL, 0);
}

void child_kill(struct child *c, const char *why)
{
    if (why && !c->killed)
        c->killed = why;
    if (!c->wanted_dead && c->pidfd >= 0)
        ask_keeper(c);
    c->wanted_dead = true;
}

static void child_on_deadline(void *arg);

static void child_wait_for(struct child *c, int64_t until_ns)
{
    c->timer = loop_add_timer(c->loop, until_ns, child_on_deadline, c);
}

/* From now on its time counts. */
static void begin_stage(struct child *c)
{
    if (c->stage_ns <= 0)
        return;
    c->stage_began_ns = tick_now_ns();
    c->used_ns = health_tree(c->pid).used_ns;
    child_wait_for(c, c->stage_began_ns + c->stage_ns);
}

void child_born(struct child *c, pid_t pid, int pidfd)
{
    c->pid = pid;
    c->pidfd = pidfd;
    if (c->wanted_dead)
        ask_keeper(c);
    else
        begin_stage(c);
}

/* Whether it has done next to nothing, and waits neither for a processor nor for
 * us to read what it prints. */
static bool is_idle(const struct child *c, const struct health_tree *t,
                    int64_t elapsed)
{
    int unread = 0;

    if (t->runs || t->used_ns - c->used_ns >= elapsed / 50)
        return false;
    return ioctl(c->pipe, FIONREAD, &unread) < 0 || unread == 0;
}

/* How much of its time it has not had, because it had to wait for a processor;
 * 0 if it has had its time. */
static int64_t owed_ns(const struct child *c, int64_t now)
{
    struct health_tree t = health_tree(c->pid);
    int64_t used = t.used_ns - c->used_ns;

    if (used > c->stage_ns / 5 * 4 || is_idle(c, &t, now - c->stage_began_ns))
        return 0;
    return c->stage_ns - used;
}

static void child_on_deadline(void *arg)
{
    struct child *c = arg;
    int64_t now = tick_now_ns(), owed = owed_ns(c, now);
    int64_t last = c->stage_began_ns + CHILD_SLOWEST * c->stage_ns;

    c->timer = 0;
    if (owed > 0 && now < last)
        child_wait_for(c, now + owed < last ? now + owed : last);
    else
        child_kill(c, c->over);
}

void child_deadline(struct child *c, int64_t ms, const char *why)
{
    if (c->wanted_dead)
        return;
    loop_remove(c->loop, c->timer);
    c->timer = 0;
    c->stage_ns = ms * TICK_MS;
    c->over = why;
    if (c->pidfd >= 0)
        begin_stage(c);
}

int64_t child_spent_ns(const struct child *c)
{
    int64_t elapsed, spent;
    struct health_tree t;

    if (c->stage_ns <= 0 || c->pidfd < 0)
        return 0;
    elapsed = tick_now_ns() - c->stage_began_ns;
    t = health_tree(c->pid);
    spent = t.used_ns - c->used_ns;
    if (spent > elapsed || is_idle(c, &t, elapsed))
        return elapsed;
    return spent > elapsed / CHILD_SLOWEST ? spent : elapsed / CHILD_SLOWEST;
}

const char *child_why(const struct child *c, const char *status)
{
    if (c->killed)
        return c->killed;
    return cgroup_ran_out(&c->group) ? "memory" : status;
}

uint64_t child_peak(const struct child *c)
{
    uint64_t peak = cgroup_peak(&c->group);

    return peak ? peak : c->resident;
}

/* ---- progress is processor time, which the kernel counts ---- */

#define BUSY_S 600 /* what a program that computes may take for an answer */
/* A look counts for no more than this: who was stopped himself for an hour has
 * not waited for an hour. */
#define LOOK_NS (2 * TICK_S)

void health_asked(struct health *h, pid_t pid)
{
    if (h->asked_ns)
        return;
    h->asked_ns = h->looked_ns = tick_now_ns();
    h->idle_ns = 0;
    h->used = health_time_ns(pid);
}

void health_answered(struct health *h)
{
    h->asked_ns = 0;
}

bool health_owes(const struct health *h)
{
    return h->asked_ns != 0;
}

bool health_stuck(struct health *h, pid_t pid, pid_t child, int64_t patience_ns)
{
    int64_t now = tick_now_ns(), since;
    int64_t used;
    bool moved;

    if (!h->asked_ns)
        return false;
    used = health_time_ns(pid);
    if (child > 0)
        used += health_tree(child).used_ns;
    moved = used != h->used || health_runs(pid);
    since = now - h->looked_ns;
    h->idle_ns = moved ? 0 : h->idle_ns + (since < LOOK_NS ? since : LOOK_NS);
    h->used = used;
    h->looked_ns = now;
    return h->idle_ns > patience_ns || now - h->asked_ns > BUSY_S * TICK_S;
}
