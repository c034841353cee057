/* test_loop.c: descriptors, timers, signals, children, and how they end. */
#include "base/mem.h"
#include "base/tick.h"
#include "fds.h"
#include "io/loop.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct loop *new_loop(void)
{
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);

    if (!l)
        BUG("%s", e.text);
    return l;
}

/* ---- timers ---- */

struct trace {
    struct loop *loop;
    char text[64];
};

static void note(struct trace *t, char c)
{
    size_t n = strlen(t->text);

    if (n + 1 < sizeof(t->text))
        t->text[n] = c;
}

static void note_a(void *arg)
{
    note(arg, 'a');
}

static void note_b(void *arg)
{
    note(arg, 'b');
}

static void note_c(void *arg)
{
    note(arg, 'c');
}

static void note_d_and_add_a(void *arg)
{
    struct trace *t = arg;

    note(t, 'd');
    loop_add_timer(t->loop, 0, note_a, t);
}

static void test_timer_order(void)
{
    struct loop *l = new_loop();
    struct trace t = {.loop = l};
    int64_t soon = tick_now_ns() + 50 * TICK_MS;
    uint64_t gone;
    bool late;

    loop_add_timer(l, soon + 3, note_c, &t);
    loop_add_timer(l, soon + 1, note_a, &t);
    gone = loop_add_timer(l, soon + 2, note_d_and_add_a, &t);
    loop_add_timer(l, soon + 2, note_b, &t);
    loop_add_timer(l, soon + 2, note_c, &t);
    /* On a stalled machine they were due when added: any order is right. */
    late = tick_now_ns() > soon;
    ok(loop_remove(l, gone), "a timer can be cancelled");
    ok(!loop_remove(l, gone), "once");
    loop_run(l);
    ok(late ? strlen(t.text) == 4 : strcmp(t.text, "abcc") == 0,
       "timers run by time, then by order of adding");
    ok(tick_now_ns() >= soon + 3, "not before their time");
    loop_free(l);
}

static void test_deferred(void)
{
    struct loop *l = new_loop();
    struct trace t = {.loop = l};

    loop_defer(l, note_d_and_add_a, &t);
    loop_defer(l, note_b, &t);
    loop_remove(l, loop_defer(l, note_c, &t));
    loop_defer(l, note_c, &t);
    loop_run(l);
    is(t.text, "dbca", "deferred calls run in order, new ones behind");
    loop_free(l);
}

struct flood {
    struct loop *loop;
    int left;
    bool other_ran, before_end;
};

static void flood_again(void *arg)
{
    struct flood *f = arg;

    if (--f->left > 0)
        loop_add_timer(f->loop, 0, flood_again, f);
    else
        f->before_end = f->other_ran;
}

static void flood_other(void *arg)
{
    ((struct flood *)arg)->other_ran = true;
}

static void test_no_starvation(void)
{
    struct loop *l = new_loop();
    struct flood f = {.loop = l, .left = 1000};

    loop_add_timer(l, 0, flood_again, &f);
    loop_add_timer(l, tick_now_ns(), flood_other, &f);
    loop_run(l);
    ok(f.before_end, "a timer that adds itself again lets others run");
    loop_free(l);
}

enum { MANY = 1000 };

struct one {
    struct many *all;
    int64_t at_ns;
    uint64_t id;
};

struct many {
    struct loop *loop;
    struct one one[MANY];
    int64_t last_ns;
    size_t ran;
    bool ordered;
};

static void on_one(void *arg)
{
    struct one *o = arg;
    struct many *m = o->all;

    m->ordered = m->ordered && o->at_ns >= m->last_ns &&
                 tick_now_ns() >= o->at_ns && o->id != 0;
    m->last_ns = o->at_ns;
    m->ran++;
    o->id = 0;
}

static void test_many_timers(void)
{
    struct many *m = xcalloc(1, sizeof(*m));
    int64_t base = tick_now_ns() + 50 * TICK_MS;
    size_t removed = 0;
    bool late;

    m->loop = new_loop();
    m->ordered = true;
    for (int i = 0; i < MANY; i++) {
        m->one[i] = (struct one){
            .all = m, .at_ns = base + (int64_t)(i * 7919 % 1009) * 10000};
        m->one[i].id =
            loop_add_timer(m->loop, m->one[i].at_ns, on_one, &m->one[i]);
    }
    late = tick_now_ns() > base;
    for (int i = 0; i < MANY; i += 3) {
        removed += loop_remove(m->loop, m->one[i].id);
        m->one[i].id = 0;
    }
    loop_run(m->loop);
    ok(m->ran + removed == MANY && removed == 334,
       "of 1,000 timers all run that were not cancelled");
    ok(m->ordered || late, "in the order of their times");
    loop_free(m->loop);
    free(m);
}

/* ---- descriptors ---- */

struct pair {
    struct loop *loop;
    struct pair *other;
    int fd[2];
    uint64_t id;
    int calls;
    bool reuse; /* put a silent pipe in the removed one's place */
};

static void pair_open(struct pair *p, bool ready)
{
    if (pipe2(p->fd, O_CLOEXEC | O_NONBLOCK) < 0)
        BUG("pipe2");
    if (ready && write(p->fd[1], "x", 1) != 1)
        BUG("write");
}

static void pair_close(struct pair *p)
{
    close(p->fd[0]);
    close(p->fd[1]);
}

static void count_call(int fd, unsigned events, void *arg)
{
    (void)fd;
    (void)events;
    ((struct pair *)arg)->calls++;
}

static void remove_other(int fd, unsigned events, void *arg)
{
    struct pair *p = arg, *o = p->other;
    struct err e = ERR_INIT;

    (void)fd;
    (void)events;
    p->calls++;
    loop_remove(p->loop, p->id);
    loop_remove(p->loop, o->id);
    if (p->reuse) {
        int before = o->fd[0];

        pair_close(o);
        pair_open(o, false);
        ok(o->fd[0] == before, "the number of the closed descriptor is back");
        o->id = loop_add_fd(p->loop, o->fd[0], LOOP_READ, count_call, o, &e);
    }
}

static void test_remove_in_batch(bool reuse)
{
    struct loop *l = new_loop();
    struct err e = ERR_INIT;
    struct pair a = {.loop = l, .reuse = reuse};
    struct pair b = {.loop = l, .reuse = reuse};

    a.other = &b;
    b.other = &a;
    pair_open(&a, true);
    pair_open(&b, true);
    a.id = loop_add_fd(l, a.fd[0], LOOP_READ, remove_other, &a, &e);
    b.id = loop_add_fd(l, b.fd[0], LOOP_READ, remove_other, &b, &e);
    loop_run_for(l, 20 * TICK_MS);
    ok(a.calls + b.calls == 1, "an event of a removed source is dropped%s",
       reuse ? ", also when its descriptor is in use again" : "");
    loop_free(l);
    pair_close(&a);
    pair_close(&b);
}

static void stop_at_end_of_pipe(int fd, unsigned events, void *arg)
{
    struct pair *p = arg;
    char c;

    p->calls++;
    if (events == LOOP_READ && read(fd, &c, 1) == 0)
        loop_remove(p->loop, p->id);
}

static void test_hang_up(void)
{
    struct loop *l = new_loop();
    struct err e = ERR_INIT;
    struct pair p = {.loop = l};
    struct timespec before, after;
    int64_t cpu_ns;

    pair_open(&p, false);
    close(p.fd[1]);
    p.id = loop_add_fd(l, p.fd[0], LOOP_READ, stop_at_end_of_pipe, &p, &e);
    ok(loop_set_interest(l, p.id, 0, &e) == 0, "interest can be taken away");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    ok(!loop_run_for(l, 200 * TICK_MS), "the run ends when its time is over");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    cpu_ns = (after.tv_sec - before.tv_sec) * TICK_S + after.tv_nsec -
             before.tv_nsec;
    ok(p.calls == 0, "without interest a hang-up is not told");
    ok(cpu_ns < 100 * TICK_MS, "and waiting takes no processor time");
    ok(loop_set_interest(l, p.id, LOOP_READ, &e) == 0, "interest comes back");
    loop_run(l);
    ok(p.calls == 1, "and the hang-up is told as readable");
    loop_free(l);
    close(p.fd[0]);
}

static void note_events(int fd, unsigned events, void *arg)
{
    struct pair *p = arg;

    (void)fd;
    p->calls = (int)events;
    loop_stop(p->loop);
}

static void test_write_interest(void)
{
    struct loop *l = new_loop();
    struct err e = ERR_INIT;
    struct pair p = {.loop = l};
    int file;

    pair_open(&p, false);
    p.id = loop_add_fd(l, p.fd[1], LOOP_WRITE, note_events, &p, &e);
    loop_run(l);
    ok(p.calls == LOOP_WRITE, "an empty pipe is writable");
    ok(!loop_add_fd(l, p.fd[1], LOOP_WRITE, note_events, &p, &e) &&
           e.sys == EEXIST,
       "a descriptor cannot be watched twice");
    file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ok(!loop_add_fd(l, file, LOOP_READ, note_events, &p, &e) && e.sys == EPERM,
       "nor can a regular file");
    close(file);
    ok(loop_remove(l, p.id), "removed");
    ok(loop_run_for(l, 60 * TICK_S), "a loop without sources returns");
    loop_free(l);
    pair_close(&p);
}

/* ---- signals ---- */

static void note_signal(int signo, void *arg)
{
    struct pair *p = arg;

    p->calls = signo;
    loop_stop(p->loop);
}

static bool is_blocked(int signo)
{
    sigset_t set;

    sigemptyset(&set);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, signo) == 1;
}

static void test_signals(void)
{
    struct loop *l = new_loop();
    struct err e = ERR_INIT;
    struct pair p = {.loop = l};
    uint64_t id = loop_add_signal(l, SIGUSR1, note_signal, &p, &e);

    ok(id && is_blocked(SIGUSR1), "a signal with a source is blocked");
    loop_run(l);
    ok(p.calls == 0, "a signal source alone does not keep the loop running");
    kill(getpid(), SIGUSR1);
    loop_add_timer(l, tick_now_ns() + 60 * TICK_S, note_a, NULL);
    loop_run(l);
    ok(p.calls == SIGUSR1, "the signal arrives as a call");
    loop_remove(l, id);
    ok(!is_blocked(SIGUSR1), "removing the source unblocks the signal");
    ok(!loop_add_signal(l, 4711, note_signal, &p, &e) && e.sys == EINVAL,
       "a number that is no signal is refused");
    loop_free(l);
}

static void test_stops(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    struct err e = ERR_INIT;
    struct loop *l = new_loop();
    struct pair p = {.loop = l};

    sigaction(SIGHUP, &(struct sigaction){.sa_handler = SIG_DFL}, &before);
    ok(loop_add_stops(l, note_signal, &p, &e) == 0, "stops are listened for");
    for (size_t i = 0; i < 3; i++) {
        kill(getpid(), stops[i]);
        loop_add_timer(l, tick_now_ns() + 60 * TICK_S, note_a, NULL);
        loop_run(l);
        ok(p.calls == stops[i], "%s stops", strsignal(stops[i]));
    }
    loop_free(l);
    sigaction(SIGHUP, &ignore, NULL);
    l = new_loop();
    ok(loop_add_stops(l, note_signal, &p, &e) == 0 && !is_blocked(SIGHUP) &&
           is_blocked(SIGTERM),
       "a hangup that is ignored stays ignored");
    loop_free(l);
    sigaction(SIGHUP, &before, NULL);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signo)
{
    (void)signo;
    alarms++;
}

static void test_interrupted_wait(void)
{
    struct sigaction act = {.sa_handler = on_alarm}, old;
    struct itimerval soon = {{0, 2000}, {0, 2000}}, off = {0};
    struct loop *l = new_loop();
    struct trace t = {.loop = l};
    int64_t at = tick_now_ns() + 30 * TICK_MS;

    sigaction(SIGALRM, &act, &old);
    setitimer(ITIMER_REAL, &soon, NULL);
    loop_add_timer(l, at, note_a, &t);
    loop_run(l);
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    ok(alarms > 0 && t.text[0] == 'a' && tick_now_ns() >= at,
       "a wait that signals interrupt goes on");
    loop_free(l);
}

/* ---- children ---- */

static pid_t start_shell(const char *script)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, xstrdup(script), NULL};
    pid_t pid = -1;

    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) != 0)
        BUG("spawn");
    free(argv[2]);
    return pid;
}

static void note_exit(const siginfo_t *info, void *arg)
{
    siginfo_t again = {0};

    *(siginfo_t *)arg = *info;
    ok(waitid(P_PID, (id_t)info->si_pid, &again, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           again.si_pid == info->si_pid,
       "during the call the child is a zombie");
}

static void test_children(void)
{
    struct loop *l = new_loop();
    struct err e = ERR_INIT;
    siginfo_t exited = {0}, killed = {0};
    pid_t a = start_shell("exit 7"), b = start_shell("kill -9 $$");
    pid_t c = start_shell("exit 0");

    ok(loop_add_child(l, a, note_exit, &exited, &e) &&
           loop_add_child(l, b, note_exit, &killed, &e) &&
           loop_add_child(l, c, NULL, NULL, &e),
       "three children are watched");
    loop_run(l);
    ok(exited.si_code == CLD_EXITED && exited.si_status == 7, "exit status");
    ok(killed.si_code == CLD_KILLED && killed.si_status == SIGKILL, "signal");
    ok(waitpid(a, NULL, WNOHANG) < 0 && waitpid(b, NULL, WNOHANG) < 0 &&
           waitpid(c, NULL, WNOHANG) < 0 && errno == ECHILD,
       "all are reaped");
    ok(!loop_add_child(l, a, NULL, NULL, &e) && e.sys == ESRCH,
       "a process that is gone cannot be watched");
    loop_free(l);
}

/* ---- the run ---- */

static void stop_loop(void *arg)
{
    struct trace *t = arg;

    note(t, 's');
    loop_stop(t->loop);
}

static void test_stop(void)
{
    struct loop *l = new_loop();
    struct trace t = {.loop = l};

    loop_defer(l, stop_loop, &t);
    loop_defer(l, note_a, &t);
    loop_run(l);
    is(t.text, "s", "after loop_stop nothing more is called");
    ok(loop_run_for(l, 60 * TICK_S), "a run that has nothing left ends early");
    is(t.text, "sa", "what was pending ran then");
    loop_defer(l, note_b, &t);
    ok(loop_run_for(l, 0) && strcmp(t.text, "sab") == 0,
       "a run of no time does what is ready");
    loop_free(l);
}

static void test_ids(void)
{
    struct loop *l = new_loop();
    uint64_t a = loop_defer(l, note_a, NULL), b;

    loop_remove(l, a);
    b = loop_defer(l, note_a, NULL);
    ok(a != b && !loop_remove(l, a) && loop_remove(l, b),
       "an old id does not mean the new source in its place");
    ok(!loop_remove(l, 0), "0 is no source");
    loop_free(l);
}

struct ring {
    struct loop *loop;
    int fd[2], turns;
};

static void pass_on(int fd, unsigned events, void *arg)
{
    struct ring *r = arg;
    char c;

    (void)events;
    if (read(fd, &c, 1) == 1 && ++r->turns < 1000 &&
        write(r->fd[1], &c, 1) == 1)
        return;
    loop_stop(r->loop);
}

static void *run_ring(void *arg)
{
    struct ring *r = arg;
    struct err e = ERR_INIT;

    r->loop = new_loop();
    if (pipe2(r->fd, O_CLOEXEC) < 0 || write(r->fd[1], "x", 1) != 1 ||
        !loop_add_fd(r->loop, r->fd[0], LOOP_READ, pass_on, r, &e))
        BUG("ring");
    loop_run(r->loop);
    loop_free(r->loop);
    close(r->fd[0]);
    close(r->fd[1]);
    return NULL;
}

static void test_loops_in_threads(void)
{
    struct ring a = {0}, b = {0};
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_ring, &a) != 0)
        BUG("pthread_create");
    run_ring(&b);
    pthread_join(thread, NULL);
    ok(a.turns == 1000 && b.turns == 1000, "two threads, a loop each");
}

SUITE(loop)
{
    size_t before = fds_open();

    test_timer_order();
    test_deferred();
    test_no_starvation();
    test_many_timers();
    test_remove_in_batch(false);
    test_remove_in_batch(true);
    test_hang_up();
    test_write_interest();
    test_signals();
    test_stops();
    test_interrupted_wait();
    test_children();
    test_stop();
    test_ids();
    test_loops_in_threads();
    ok(before > 0 && fds_open() == before, "no descriptor is left open");
}
