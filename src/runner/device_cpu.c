/* device_cpu.c: runs a program on the CPU. The region is shared memory, and functions
 * come from a candidate's libraries, which run apart.
 *
 * The runner itself never loads such a library. Each call starts as a copy of it
 * that has computed nothing yet: what a library writes anywhere but to the region,
 * to its own memory, to libc's, to the stack, ends with the process. The runner
 * stays as trusted as the judge, so its clock and its answers count, and nothing
 * of the call still runs when it answers. Loaded here instead, one candidate's
 * constructor could change the clock, the moves, or the next candidate.
 *
 * C can look at addresses, so they are the same in every call and in a delivered
 * file (worker/judge/ported_parts.py): a heap and a stack (worker/shared/native.py
 * has the functions that use them), and the region behind them. Of the region
 * a library sees the pages of its arguments, and nothing of what else the judge
 * has there; the file does the same. */
#include "runner/device.h"

#include "base/mem.h"
#include "base/tick.h"
#include "runner/move.h"
#include "runner/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a library: a file in memory, which the process of a call loads ---- */

struct library {
    void *handle; /* once loaded */
    int fd;
};

struct apart {
    /* Loads the libraries; none of their code runs. */
    int (*load)(void *arg, struct answer *a);
    void (*run)(void *arg);
    void *arg;
};

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int library_write_all(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, data, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* The file is sealed, because pages of code are read from it when first
 * touched. */
/* Makes a file of `m`, without a name on any disk. */
static int library_hold(struct library *l, const struct program_module *m,
                        struct answer *a)
{
    l->handle = NULL;
    l->fd = memfd_create("library", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (l->fd < 0 || library_write_all(l->fd, m->data, m->bytes) < 0 ||
        fcntl(l->fd, F_ADD_SEALS, SEALS) < 0)
        return answer_sys(a, NO_DEVICE, "memory for a library");
    return 0;
}

static void library_release(struct library *l)
{
    if (l->fd >= 0)
        close(l->fd);
}

/* Loads it into this process. */
static int library_open(struct library *l, struct answer *a)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", l->fd);
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle)
        // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
        return answer_fail(a, NO_MODULE, 0, "%s", dlerror());
    return 0;
}

/* The address of a function, or NULL after filling in the answer. */
static void *library_find(const struct library *l, const char *name,
                          struct answer *a)
{
    void *found = dlsym(l->handle, name);

    if (!found)
        answer_fail(a, NO_SYMBOL, 0, "the library has no function '%s'", name);
    return found;
}

/* Builds the arguments of a library function: numbers, and addresses relative
 * to `base`. They live in the arena. */
static void library_bind(struct program_launch *l, uint64_t base,
                         struct arena *arena)
{
    uint64_t *words = arena_alloc(arena, (l->params + 1) * sizeof(*words));

    for (size_t i = 0; i < l->params; i++)
        words[i] =
            l->param[i].value + (l->param[i].kind == PARAM_POINTER ? base : 0);
    l->bound = words;
}

static void library_call(void *function, const struct program_launch *l)
{
    void (*call)(const uint64_t *words);

    /* C has no cast from a data pointer to a function pointer. */
    *(void **)&call = function;
    call(l->bound);
}

/* ---- what the process of a call gives up, for good ----
 *
 * A limit, before it loads the library, and a seccomp filter, before the library's
 * code runs. The box around the runner blocks what no candidate may do; the filter
 * blocks what compiled numeric code does not need. A blocked call fails with
 * EPERM. */

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the runner knows x86-64 and aarch64"
#endif

#define LOAD(field)                    \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
             (unsigned)offsetof(struct seccomp_data, field))
#define IF_EQUAL(k, then, otherwise) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(k), then, otherwise)
#define IF_SET(k, then, otherwise) \
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(k), then, otherwise)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (unsigned)(value))
#define ALLOW         ANSWER(SECCOMP_RET_ALLOW)
#define REFUSE        ANSWER(SECCOMP_RET_ERRNO | EPERM)
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))

/* Other architectures use different numbers for the same calls. */
#define HEAD                                                                \
    LOAD(arch), IF_EQUAL(OUR_ARCH, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS), \
        LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),   \
        ANSWER(SECCOMP_RET_KILL_PROCESS)

/* Signals to itself, which abort() sends. */
#define ONLY_TO(pid, call) \
    IF_EQUAL(call, 0, 4), LOAD(args[0]), IF_EQUAL(pid, 0, 1), ALLOW, REFUSE

/* Allows memory, but not executable memory. */
#define NOT_EXECUTABLE(call) \
    IF_EQUAL(call, 0, 4), LOAD(args[2]), IF_SET(PROT_EXEC, 0, 1), REFUSE, ALLOW

/* No new processes or threads, for a user other than root. */
static int drop_processes(void)
{
    const struct rlimit none = {0, 0};

    return setrlimit(RLIMIT_NPROC, &none);
}

static const int kept[] = {
    SYS_write, /* what it reports before the library's code runs */
    SYS_close_range,
    /* memory */
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    /* the clock, where it is not read without a system call */
    SYS_clock_gettime,
    /* its end */
    SYS_getpid,
    SYS_gettid,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
};

/* No new processes or threads, no other programs, no new executable memory, no
 * files, no sockets, no waiting, and signals only to itself. Still allowed:
 * memory, the time, and to end. */
static int drop_the_rest(void)
{
    const struct sock_filter head[] = {
        HEAD,
        ONLY_TO(getpid(), SYS_tgkill),
        NOT_EXECUTABLE(SYS_mmap),
        NOT_EXECUTABLE(SYS_mprotect),
    };
    struct sock_filter code[COUNT(head) + 2 * COUNT(kept) + 1];
    struct sock_fprog program;
    size_t n = COUNT(head);

    memcpy(code, head, sizeof(head));
    for (size_t i = 0; i < COUNT(kept); i++) {
        code[n++] = (struct sock_filter)IF_EQUAL(kept[i], 0, 1);
        code[n++] = (struct sock_filter)ALLOW;
    }
    code[n++] = (struct sock_filter)REFUSE;
    program = (struct sock_fprog){(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

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

/* ---- the runner, which waits for it ---- */

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

/* Fills in `host_ns`: from just before run() to when nothing of it runs any
 * more. If the process ends instead, the answer is CALL_ENDED. */
static int apart_run(const struct apart *what, struct answer *a)
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

/* ---- the device ---- */

#define ROOM        ((char *)0x280000000000)
#define ROOM_BYTES  ((size_t)16 << 30)
#define GAP         ((size_t)64 << 10)
#define STACK_BYTES ((size_t)8 << 20)

struct device {
    char *region;
    uint64_t bytes;
    const struct program *program;
    struct library *library; /* one per module */
    size_t libraries;
    void **function; /* once they are loaded */
    /* The launch whose arguments can be seen, or NULL: the whole region. */
    const struct program_launch *seeing;
};

static struct device *cpu_open(struct answer *a)
{
    (void)a;
    return xcalloc(1, sizeof(struct device));
}

/* At this address, or not at all. */
static void *map_at(void *at, size_t bytes, int flags, int fd)
{
    void *p = mmap(at, bytes, PROT_READ | PROT_WRITE,
                   flags | MAP_FIXED_NOREPLACE, fd, 0);

    if (p == at || p == MAP_FAILED)
        return p;
    munmap(p, bytes); // by a system that does not know the flag
    errno = EEXIST;
    return MAP_FAILED;
}

static int cpu_map(struct device *d, int fd, uint64_t bytes, struct answer *a)
{
    struct stat st;
    void *p;

    if (fstat(fd, &st) < 0)
        return answer_sys(a, NO_DEVICE, "the region");
    if (!bytes || (uint64_t)st.st_size < bytes)
        return answer_fail(a, BAD_REQUEST, 0,
                           "the region has %lld bytes, not %llu",
                           (long long)st.st_size, (unsigned long long)bytes);
    p = map_at(ROOM + ROOM_BYTES, bytes, MAP_SHARED, fd);
    if (p == MAP_FAILED)
        return answer_sys(a, NO_DEVICE, "mapping the region");
    d->region = p;
    d->bytes = bytes;
    return 0;
}

/* ---- nodes ---- */

static void protect_rest(struct device *d, const struct program_launch *l,
                         int rights)
{
    uint64_t end = 0, next;

    for (size_t i = 0; i <= l->seen; i++) {
        next = i < l->seen ? l->pages[i].begin : d->bytes;
        /* A machine without memory for this is at fault; see ended(). */
        if (next > end && mprotect(d->region + end, next - end, rights) < 0)
            raise(SIGKILL);
        if (i < l->seen)
            end = l->pages[i].end;
    }
}

/* Only what this call sees of the region can be touched from now on; with NULL,
 * everything. */
static void see(struct device *d, const struct program_launch *l)
{
    const struct program_launch *was = d->seeing;

    if (was && l && was->seen == l->seen &&
        !memcmp(was->pages, l->pages, l->seen * sizeof(*l->pages)))
        return;
    if (was)
        protect_rest(d, was, PROT_READ | PROT_WRITE);
    if (l)
        protect_rest(d, l, PROT_NONE);
    d->seeing = l;
}

static void device_cpu_execute(struct device *d, const struct program_node *n,
                               bool mute)
{
    if (!mute)
        see(d, n->op == OP_CALL ? &n->launch : NULL);
    switch (n->op) {
    case OP_COPY:
        move_copy(d->region, n);
        break;
    case OP_FILL:
        move_fill(d->region, n);
        break;
    case OP_ADD:
        move_add(d->region, n);
        break;
    case OP_CALL:
        if (!mute)
            library_call(d->function[n->launch.function], &n->launch);
        break;
    case OP_LAUNCH:
        BUG("a launch on the CPU");
    }
}

static void execute_all(struct device *d, const struct program_call *c,
                        bool mute)
{
    for (size_t i = 0; i < c->nodes; i++)
        device_cpu_execute(d, &c->node[i], mute);
}

/* ---- a call's own process ---- */

struct apart_call {
    struct device *device;
    const struct program_call *call; /* NULL: only load */
    bool timed;
};

static int open_libraries(struct device *d, struct answer *a)
{
    for (size_t i = 0; i < d->libraries; i++)
        if (library_open(&d->library[i], a) < 0)
            return -1;
    for (size_t i = 0; i < d->program->functions; i++) {
        const struct program_function *f = &d->program->function[i];

        d->function[i] = library_find(&d->library[f->module], f->name, a);
        if (!d->function[i])
            return -1;
    }
    return 0;
}

/* A new process would meet the region page by page, on the clock. What nobody
 * has written since the judge took it out of the file is left out of it. */
static void map_pages(struct device *d)
{
    unsigned char there[4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n, run;

    for (uint64_t at = 0; at < d->bytes; at += n * page) {
        n = (d->bytes - at + page - 1) / page;
        n = n < sizeof(there) ? n : sizeof(there);
        if (mincore(d->region + at, n * page, there) < 0)
            return;
        for (size_t i = 0; i < n; i += run + 1) {
            for (run = 0; i + run < n && there[i + run] & 1;)
                run++;
            if (run)
                madvise(d->region + at + i * page, run * page,
                        MADV_POPULATE_WRITE);
        }
    }
}

/* The pages are zeros until the call touches them. Where its address space is
 * limited, the heap is smaller than what the library believes; large pages would
 * be cleared on the clock, for calls that need a few bytes. */
static int map_room(struct answer *a)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *stack = ROOM + ROOM_BYTES - GAP - STACK_BYTES;
    size_t heap = (size_t)(stack - GAP - ROOM);

    if (map_at(stack, STACK_BYTES, flags, -1) == MAP_FAILED)
        return answer_sys(a, NO_DEVICE, "mapping a stack");
    while (map_at(ROOM, heap, flags, -1) == MAP_FAILED) {
        heap = (heap - heap / 8) & ~(GAP - 1);
        if (errno != ENOMEM || heap < STACK_BYTES)
            return answer_sys(a, NO_DEVICE, "mapping a heap");
    }
    madvise(ROOM, heap, MADV_NOHUGEPAGE);
    madvise(stack, STACK_BYTES, MADV_NOHUGEPAGE);
    return 0;
}

static int load_apart(void *arg, struct answer *a)
{
    const struct apart_call *c = arg;

    if (open_libraries(c->device, a) < 0 || map_room(a) < 0)
        return -1;
    if (c->timed)
        map_pages(c->device);
    if (c->call && c->call->nodes && c->call->node[0].op == OP_CALL)
        see(c->device, &c->call->node[0].launch); // not on the clock
    return 0;
}

static void run_apart(void *arg)
{
    const struct apart_call *c = arg;

    if (c->call)
        execute_all(c->device, c->call, false);
}

static int device_cpu_apart(struct device *d, const struct program_call *call,
                            bool timed, struct answer *a)
{
    struct apart_call c = {d, call, timed};
    const struct apart what = {load_apart, run_apart, &c};

    return apart_run(&what, a);
}

/* ---- loading ---- */

static int hold_libraries(struct device *d, const struct program *p,
                          struct answer *a)
{
    d->program = p;
    d->function = xcalloc(p->functions + 1, sizeof(*d->function));
    d->library = xcalloc(p->modules + 1, sizeof(*d->library));
    for (size_t i = 0; i < p->modules; i++) {
        d->libraries++;
        if (library_hold(&d->library[i], &p->module[i], a) < 0)
            return -1;
    }
    return 0;
}

static int cpu_load(struct device *d, struct program *p, struct arena *arena,
                    struct answer *a)
{
    if (program_has(p, MODULE_CUBIN))
        return answer_fail(a, BAD_PROGRAM, 0, "a cubin needs --device cuda");
    if (hold_libraries(d, p, a) < 0)
        return -1;
    for (size_t i = 0; i < p->calls; i++)
        for (size_t k = 0; k < p->call[i].nodes; k++)
            if (p->call[i].node[k].op == OP_CALL)
                library_bind(&p->call[i].node[k].launch,
                             (uint64_t)(uintptr_t)d->region, arena);
    if (!p->modules)
        return 0;
    dlopen("libm.so.6", RTLD_NOW); // so that no call has to look for it
    return device_cpu_apart(d, NULL, false, a);
}

/* ---- running ---- */

static bool calls_a_library(const struct program_call *c)
{
    for (size_t i = 0; i < c->nodes; i++)
        if (c->node[i].op == OP_CALL)
            return true;
    return false;
}

static int cpu_run(struct device *d, const struct program_call *c,
                   unsigned flags, struct answer *a)
{
    int64_t start = tick_now_ns();

    if (!(flags & RUN_MUTE) && calls_a_library(c))
        return device_cpu_apart(d, c, flags & RUN_TIMED, a);
    execute_all(d, c, flags & RUN_MUTE);
    a->host_ns = (uint64_t)(tick_now_ns() - start);
    return 0;
}

static int cpu_unload(struct device *d, struct answer *a)
{
    (void)a;
    for (size_t i = 0; i < d->libraries; i++)
        library_release(&d->library[i]);
    free(d->library);
    free(d->function);
    if (d->region)
        munmap(d->region, d->bytes);
    *d = (struct device){0};
    return 0;
}

const struct device_kind device_cpu = {
    "cpu", cpu_open, cpu_map, cpu_load, cpu_run, cpu_unload,
};
