/* apart.c: fork, load, give up rights, run, stop. */
#include "runner/apart.h"

#include "base/tick.h"
#include "runner/drop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the call's process ---- */

static int apart_prepare(const struct apart *what, struct answer *a)
{
    if (drop_processes() < 0)
        return answer_sys(a, NO_DEVICE, "giving up processes");
    if (what->load(what->arg, a) < 0)
        return -1;
    if (drop_the_rest() < 0)
        return answer_sys(a, NO_DEVICE, "giving up system calls");
    return 0;
}

/* Reports before the library's code runs, and keeps no descriptor: nothing that
 * the code does can be taken for a report. It ends by stopping, which its parent
 * sees when no instruction of it runs any more; an exit would first take apart
 * its memory, on the clock. */
static _Noreturn void be_the_call(const struct apart *what, int report)
{
    struct answer a = {.node = NO_NODE};
    bool ready;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); // in a box it has one already
    ready = apart_prepare(what, &a) == 0;
    a.host_ns = (uint64_t)tick_now_ns();
    if (write(report, &a, sizeof(a)) != sizeof(a) || !ready)
        _exit(1);
    close_range(0, UINT_MAX, 0);
    what->run(what->arg);
    syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP);
    _exit(0);
}

/* ---- the runner ---- */

static int apart_wait_for(pid_t pid, int options)
{
    int status = 0;

    while (waitpid(pid, &status, options) < 0 && errno == EINTR)
        continue;
    return status;
}

static int read_report(int fd, struct answer *a)
{
    ssize_t n;

    do
        n = read(fd, a, sizeof(*a));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*a) ? 0 : -1;
}

/* How it ended, in the worker's words. Somebody else kills a process of ours: the
 * system, because memory is short, or a person. We end in the same way, so that the
 * worker finds out why, and judges the candidate again. */
static int ended(int status, struct answer *a)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        kill(getpid(), SIGKILL);
    if (WIFSIGNALED(status))
        return answer_fail(a, CALL_ENDED, 0, "signal %d", WTERMSIG(status));
    return answer_fail(a, CALL_ENDED, 0, "exit %d", WEXITSTATUS(status));
}

static int outcome(int report, int status, int64_t end_ns, struct answer *a)
{
    if (read_report(report, a) < 0)
        return ended(status, a);
    if (a->status != DONE)
        return -1;
    a->host_ns = (uint64_t)end_ns - a->host_ns;
    return WIFSTOPPED(status) ? 0 : ended(status, a);
}

int apart_run(const struct apart *what, struct answer *a)
{
    int64_t end_ns;
    int fd[2], status, rc;
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return answer_sys(a, NO_DEVICE, "a pipe");
    pid = fork();
    if (pid == 0)
        be_the_call(what, fd[1]);
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return answer_sys(a, NO_DEVICE, "a process for a call");
    }
    status = apart_wait_for(pid, WUNTRACED);
    end_ns = tick_now_ns();
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        apart_wait_for(pid, 0);
    }
    rc = outcome(fd[0], status, end_ns, a);
    close(fd[0]);
    return rc;
}
