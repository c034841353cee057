/* drop.c: a limit and a seccomp filter. The box around the runner blocks what no
 * candidate may do; the filter blocks what compiled numeric code does not need.
 * A blocked call fails with EPERM. */
#include "runner/drop.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int drop_processes(void)
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

int drop_the_rest(void)
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
