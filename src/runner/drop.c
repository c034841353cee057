/* drop.c: two seccomp filters. The box around the runner blocks what no
 * candidate may do; these block what compiled numeric code does not need. A
 * blocked call fails with EPERM. */
#include "runner/drop.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the runner knows x86-64 and aarch64"
#endif

/* Missing from the headers of some systems; the numbers are the same
 * everywhere. */
#define NR_CLONE3   435
#define NR_RSEQ_X86 334
#define NR_RSEQ     293

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

/* clone3 passes its flags in memory, where a filter cannot read them; without
 * it libc uses clone. */
#define ONLY_THREADS                                                          \
    IF_EQUAL(NR_CLONE3, 0, 1), ANSWER(SECCOMP_RET_ERRNO | ENOSYS),            \
        IF_EQUAL(SYS_clone, 0, 4), LOAD(args[0]), IF_SET(CLONE_THREAD, 0, 1), \
        ALLOW, REFUSE

/* Allows memory, but not executable memory. */
#define NOT_EXECUTABLE(call) \
    IF_EQUAL(call, 0, 4), LOAD(args[2]), IF_SET(PROT_EXEC, 0, 1), REFUSE, ALLOW

static int install(struct sock_filter *code, size_t n)
{
    struct sock_fprog program = {(unsigned short)n, code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_TSYNC, &program) == 0
               ? 0
               : -1;
}

int drop_processes(void)
{
    struct sock_filter code[] = {
        HEAD,
        ONLY_THREADS,
        IF_EQUAL(SYS_execve, 0, 1),
        REFUSE,
        IF_EQUAL(SYS_execveat, 0, 1),
        REFUSE,
        /* Its SIGCONT would go to a process that the judge has stopped. */
        IF_EQUAL(SYS_timer_create, 0, 1),
        REFUSE,
#ifdef SYS_fork
        IF_EQUAL(SYS_fork, 0, 1),
        REFUSE,
        IF_EQUAL(SYS_vfork, 0, 1),
        REFUSE,
#endif
        ALLOW,
    };

    return install(code, COUNT(code));
}

static const int kept[] = {
    /* its socket and its output */
    SYS_read,
    SYS_write,
    SYS_writev,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_sendto,
    SYS_fstat,
    SYS_newfstatat,
    SYS_close,
    /* memory */
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    /* threads */
    SYS_futex,
    SYS_set_robust_list,
#ifdef __x86_64__
    NR_RSEQ_X86,
    SYS_arch_prctl,
#else
    NR_RSEQ,
#endif
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getpid,
    SYS_gettid,
    SYS_exit,
    /* time */
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    /* exit */
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_tgkill,
    SYS_exit_group,
    SYS_getrandom,
};

int drop_the_rest(void)
{
    const struct sock_filter head[] = {
        HEAD,
        ONLY_THREADS,
        NOT_EXECUTABLE(SYS_mmap),
        NOT_EXECUTABLE(SYS_mprotect),
    };
    struct sock_filter code[COUNT(head) + 2 * COUNT(kept) + 1];
    size_t n = COUNT(head);

    memcpy(code, head, sizeof(head));
    for (size_t i = 0; i < COUNT(kept); i++) {
        code[n++] = (struct sock_filter)IF_EQUAL(kept[i], 0, 1);
        code[n++] = (struct sock_filter)ALLOW;
    }
    code[n++] = (struct sock_filter)REFUSE;
    return install(code, n);
}
