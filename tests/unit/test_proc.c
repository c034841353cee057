/* test_proc.c: children that end well, badly, late, or not at all. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"
#include "fds.h"
#include "proc_run.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHELL(script)             \
    .argv = (const char *const[]) \
    {                             \
        "sh", "-c", script, NULL  \
    }

/* Runs it, with limits where none are given; a child that cannot be started
 * ends the test program. */
static struct proc_result run(struct proc_opts o)
{
    struct proc_result r;
    struct err e = ERR_INIT;

    if (!o.out_limit)
        o.out_limit = 100000;
    if (!o.err_limit)
        o.err_limit = 100000;
    if (!o.timeout_ns)
        o.timeout_ns = 300 * TICK_S;
    if (proc_run(&o, &r, &e) < 0)
        BUG("%s", e.text);
    return r;
}

/* The number a child printed first. */
static pid_t pid_in(const struct buf *b)
{
    struct str rest = {buf_str(b), b->len}, line;
    int64_t pid = 0;

    if (!str_cut(&rest, '\n', &line) || !str_to_i64(line, 2, INT_MAX, &pid))
        BUG("no pid in '%s'", buf_str(b));
    return (pid_t)pid;
}

/* Whether a process that is not our child ends within a minute. A zombie whose
 * parent does not reap it has ended, too. */
static bool ends(pid_t pid)
{
    int64_t until = tick_now_ns() + 300 * TICK_S;
    char path[64], stat[512];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (tick_now_ns() < until) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, stat, sizeof(stat) - 1);
        const char *state;

        if (fd >= 0)
            close(fd);
        if (n <= 0)
            return true;
        stat[n] = '\0';
        state = strrchr(stat, ')');
        if (state && state[2] == 'Z')
            return true;
        usleep(2000);
    }
    return false;
}

static void test_exit(void)
{
    struct proc_result r =
        run((struct proc_opts){SHELL("echo out; echo err >&2; exit 3")});

    ok(r.exit_code == 3 && r.signal == 0 && !r.timed_out, "an exit code");
    is(buf_str(&r.out), "out\n", "stdout is captured");
    is(buf_str(&r.err), "err\n", "stderr apart from it");
    ok(!r.out_truncated && !r.err_truncated && r.wall_ns > 0, "whole, timed");
    proc_result_release(&r);
    r = run((struct proc_opts){SHELL("kill -SEGV $$")});
    ok(r.exit_code == -1 && r.signal == SIGSEGV, "a signal");
    proc_result_release(&r);
}

static void test_surroundings(void)
{
    struct proc_result r = run((struct proc_opts){
        SHELL("pwd; echo $A $HOME; cat; ls /proc/self/fd | wc -l"),
        .cwd = "/usr",
        .env = (const char *const[]){"A=b", "PATH=/usr/bin:/bin", NULL}});

    is(buf_str(&r.out), "/usr\nb\n4\n",
       "folder and environment as given, empty stdin, no other descriptors");
    proc_result_release(&r);
    setenv("PROC_TEST", "ours", 1);
    r = run((struct proc_opts){SHELL("echo $PROC_TEST")});
    unsetenv("PROC_TEST");
    is(buf_str(&r.out), "ours\n", "without one the environment is ours");
    proc_result_release(&r);
}

static void test_signals_are_reset(void)
{
    struct proc_result blocked, ignored;
    sigset_t set, old;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    signal(SIGINT, SIG_IGN);
    blocked = run((struct proc_opts){SHELL("kill -TERM $$; exit 0")});
    ignored = run((struct proc_opts){SHELL("kill -INT $$; exit 0")});
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    ok(blocked.signal == SIGTERM, "a signal we block is open in the child");
    ok(ignored.signal == SIGINT, "one that we ignore is not ignored there");
    proc_result_release(&blocked);
    proc_result_release(&ignored);
    signal(SIGCHLD, SIG_IGN);
    ignored = run((struct proc_opts){SHELL("exit 8")});
    ok(ignored.exit_code == 8, "SIGCHLD ignored does not lose the status");
    proc_result_release(&ignored);
}

static void test_no_start(void)
{
    struct proc_opts o = {.argv = (const char *const[]){"no-such-prog", NULL}};
    struct proc_result r;
    struct err e = ERR_INIT;

    ok(proc_run(&o, &r, &e) < 0 && e.sys == ENOENT, "no such program");
    is(e.text, "start no-such-prog: No such file or directory", "is named");
    o = (struct proc_opts){SHELL("true"), .cwd = "/no/such/folder"};
    ok(proc_run(&o, &r, &e) < 0, "no such folder");
    is(e.text, "start sh in /no/such/folder: No such file or directory",
       "is named, too");
    o.cwd = NULL;
    o.argv = (const char *const[]){"/etc/passwd", NULL};
    ok(proc_run(&o, &r, &e) < 0 && e.sys == EACCES, "not executable");
}

enum { MEGABYTE = 1 << 20 };

static void test_feeding(void)
{
    char *data = xmalloc(MEGABYTE);
    struct proc_result r;

    for (size_t i = 0; i < MEGABYTE; i++)
        data[i] = (char)(i * 31 >> 3);
    r = run((struct proc_opts){.argv = (const char *const[]){"cat", NULL},
                               .in = data,
                               .in_len = MEGABYTE,
                               .out_limit = MEGABYTE,
                               .timeout_ns = 60 * TICK_S});
    ok(r.exit_code == 0 && !r.out_truncated && r.out.len == MEGABYTE &&
           memcmp(r.out.data, data, MEGABYTE) == 0,
       "1 MB through cat comes back unchanged");
    proc_result_release(&r);
    r = run((struct proc_opts){SHELL("exec <&-; echo deaf; exit 5"), .in = data,
                               .in_len = MEGABYTE});
    ok(r.exit_code == 5 && strcmp(buf_str(&r.out), "deaf\n") == 0,
       "a child that closes its stdin does no harm");
    proc_result_release(&r);
    free(data);
}

static void test_limits(void)
{
    struct proc_result r = run((struct proc_opts){
        SHELL("yes | head -c 1000000; echo full >&2"), .out_limit = 1001});

    ok(r.exit_code == 0 && r.out.len == 1001 && r.out_truncated,
       "past the limit stdout is thrown away and flagged");
    ok(!r.err_truncated && strcmp(buf_str(&r.err), "full\n") == 0,
       "stderr is not concerned");
    proc_result_release(&r);
    r = run((struct proc_opts){SHELL("printf 12345"), .out_limit = 5});
    ok(r.out.len == 5 && !r.out_truncated, "exactly the limit is not past it");
    proc_result_release(&r);
    r = run((struct proc_opts){SHELL("yes >&2"), .err_limit = 10,
                               .kill_past_limit = true});
    ok(r.signal == SIGKILL && r.err_truncated && r.err.len == 10 &&
           !r.timed_out,
       "or the child is killed");
    proc_result_release(&r);
}

static void test_deadline(void)
{
    struct proc_result r = run((struct proc_opts){
        SHELL("sleep 1000 & echo $!; wait"), .timeout_ns = TICK_S});

    ok(r.timed_out && r.signal == SIGKILL && r.exit_code == -1,
       "past its time a child is killed");
    ok(r.wall_ns >= TICK_S, "not before");
    ok(ends(pid_in(&r.out)), "and its own children with it");
    proc_result_release(&r);
}

static void test_grace(void)
{
    struct proc_result r =
        run((struct proc_opts){SHELL("trap 'echo bye; exit 4' TERM;"
                                     "(trap '' TERM; sleep 1000) & echo $!;"
                                     "while :; do sleep 0.01; done"),
                               .timeout_ns = TICK_S, .grace_ns = 60 * TICK_S});

    ok(r.timed_out && r.exit_code == 4 && strstr(buf_str(&r.out), "bye\n"),
       "SIGTERM first lets a child end by itself");
    ok(ends(pid_in(&r.out)),
       "a descendant that ignores it is killed all the same");
    proc_result_release(&r);
    r = run(
        (struct proc_opts){SHELL("trap '' TERM; while :; do sleep 0.01; done"),
                           .timeout_ns = TICK_S, .grace_ns = 50 * TICK_MS});
    ok(r.timed_out && r.signal == SIGKILL && r.wall_ns >= TICK_S + 50 * TICK_MS,
       "a child that ignores SIGTERM is killed after the grace time");
    proc_result_release(&r);
}

static void test_held_pipe(void)
{
    struct proc_result r =
        run((struct proc_opts){SHELL("setsid sleep 1000 & echo $!; exit 6")});

    ok(r.exit_code == 6 && !r.timed_out,
       "a descendant that holds the pipe does not hold us");
    ok(kill(pid_in(&r.out), SIGKILL) == 0, "and is left alone");
    proc_result_release(&r);
    r = run((struct proc_opts){
        SHELL("setsid sh -c 'while echo x; do :; done' & exit 0"),
        .out_limit = 10});
    ok(r.exit_code == 0 && r.out_truncated,
       "nor does one that goes on writing");
    proc_result_release(&r);
}

static void count_done(struct proc *p, struct proc_result *r, void *arg)
{
    int *good = arg;

    if (r->exit_code == 0 && strcmp(buf_str(&r->out), "hello\n") == 0)
        ++*good;
    proc_free(p);
}

static void test_many_children(void)
{
    struct proc_opts o = {SHELL("cat"), .in = "hello\n", .in_len = 6,
                          .out_limit = 100, .timeout_ns = 60 * TICK_S};
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    int started = 0, good = 0;

    for (int i = 0; i < 50; i++)
        started += proc_start(l, &o, count_done, &good, &e) != NULL;
    loop_run(l);
    ok(started == 50 && good == 50,
       "50 children at once, each freed in its call");
    loop_free(l);
}

static void never_done(struct proc *p, struct proc_result *r, void *arg)
{
    (void)p;
    (void)r;
    *(bool *)arg = true;
}

/* The number that a child writes to the file. */
static pid_t pid_from(const char *path)
{
    struct err e = ERR_INIT;
    struct buf text = {.limit = 100};
    pid_t pid;

    while (fs_read(path, &text, &e) == 0 && !strchr(buf_str(&text), '\n')) {
        buf_reset(&text);
        usleep(2000);
    }
    pid = pid_in(&text);
    buf_release(&text);
    return pid;
}

/* Other suites may have left children of their own: only this one is asked for. */
static void test_kill_and_free(void)
{
    char path[] = "/tmp/proc-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    struct proc_opts sleeps = {SHELL("sleep 1000")};
    struct proc_opts writes = {
        .argv = (const char *const[]){"sh", "-c", "echo $$ >$0; sleep 1000",
                                      path, NULL}};
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    bool called = false;
    struct proc *p = proc_start(l, &sleeps, never_done, &called, &e);
    pid_t pid;

    proc_kill(p);
    loop_run(l);
    ok(called, "a killed child is reported");
    proc_kill(p);
    proc_free(p);
    called = false;
    p = proc_start(l, &writes, never_done, &called, &e);
    pid = pid_from(path);
    proc_free(p);
    loop_run(l);
    ok(!called, "a freed one is not");
    ok(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD, "but it is reaped");
    loop_free(l);
    close(fd);
    unlink(path);
}

static void note_result(struct proc *p, struct proc_result *r, void *arg)
{
    struct buf *out = arg;

    (void)p;
    buf_printf(out, "%s%s", buf_str(&r->out), buf_str(&r->err));
}

/* With stdin and stdout closed, a pipe would take their numbers. */
static void test_closed_stdio(void)
{
    struct proc_opts o = {SHELL("cat; echo err >&2"), .in = "in\n", .in_len = 3,
                          .out_limit = 100, .err_limit = 100};
    int saved[2] = {fcntl(0, F_DUPFD_CLOEXEC, 3), fcntl(1, F_DUPFD_CLOEXEC, 3)};
    struct err e = ERR_INIT;
    struct loop *l = loop_new(&e);
    struct proc *p;
    struct buf said = {.limit = 1000};
    ssize_t stray;

    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    p = proc_start(l, &o, note_result, &said, &e);
    stray = write(STDOUT_FILENO, "stray", 5);
    loop_run(l);
    for (int i = 0; i < 2; i++) {
        if (saved[i] < 0)
            continue;
        dup2(saved[i], i);
        close(saved[i]);
    }
    ok(stray < 0 && strcmp(buf_str(&said), "in\nerr\n") == 0,
       "what we print to a closed stdout does not reach a child");
    proc_free(p);
    loop_free(l);
    buf_release(&said);
}

SUITE(proc)
{
    size_t before = fds_open();

    test_exit();
    test_surroundings();
    test_signals_are_reset();
    test_no_start();
    test_feeding();
    test_limits();
    test_deadline();
    test_grace();
    test_held_pipe();
    test_many_children();
    test_kill_and_free();
    test_closed_stdio();
    ok(before > 0 && fds_open() == before, "no descriptor is left open");
}
