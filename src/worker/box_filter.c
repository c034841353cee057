/* box_filter.c: which files and which system calls a candidate has. */
#include "worker/box_filter.h"

#include "worker/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock ----
 * The kernel's header may be older than the kernel, so the numbers stand here. */

struct ruleset {
    uint64_t files, ports, scopes;
};
struct path_rule {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

enum {
    LL_EXECUTE = 1 << 0,
    LL_WRITE_FILE = 1 << 1,
    LL_READ_FILE = 1 << 2,
    LL_READ_DIR = 1 << 3,
    LL_TRUNCATE = 1 << 14,
    LL_IOCTL_DEV = 1 << 15,
    LL_FILE_RIGHTS =
        LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV,
    LL_READ = LL_EXECUTE | LL_READ_FILE | LL_READ_DIR,
};

int box_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

    return abi < 0 ? 0 : (int)abi;
}

/* All rights this version of Landlock knows. */
static uint64_t all_rights(int abi)
{
    uint64_t rights = (1u << 13) - 1;

    if (abi >= 2)
        rights |= 1u << 13;
    if (abi >= 3)
        rights |= LL_TRUNCATE;
    if (abi >= 5)
        rights |= LL_IOCTL_DEV;
    return rights;
}

/* A path that is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights)
{
    struct path_rule rule = {rights, -1};
    struct stat st;
    int rc;

    rule.fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.fd < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -1;
    if (fstat(rule.fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed &= LL_FILE_RIGHTS;
    rc = (int)syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0);
    close(rule.fd);
    return rc;
}

/* One rule for each line of the policy that grants something. */
static int allow_policy(int ruleset, const char *policy, uint64_t all)
{
    const struct {
        const char *word;
        uint64_t rights;
    } grants[] = {
        {"ro ", LL_READ},
        {"dev ", LL_READ_FILE | LL_WRITE_FILE | (all & LL_IOCTL_DEV)},
        {"scratch ", all},
    };
    char path[PATH_MAX];

    while (*policy) {
        size_t len = strcspn(policy, "\n");

        for (size_t i = 0; i < sizeof(grants) / sizeof(grants[0]); i++) {
            size_t n = strlen(grants[i].word);

            if (len <= n || len - n >= sizeof(path) ||
                strncmp(policy, grants[i].word, n) != 0)
                continue;
            memcpy(path, policy + n, len - n);
            path[len - n] = '\0';
            if (allow(ruleset, path, grants[i].rights) < 0)
                return -1;
        }
        policy += len + (policy[len] == '\n');
    }
    return 0;
}

/* Without a pid namespace /proc is the host's, command lines of other users'
 * processes included: a candidate may list it, and read its own part, which
 * children its keeper has, and what says something about the machine only. */
static int allow_host_proc(int ruleset, uint64_t rights)
{
    static const char *const facts[] = {
        "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",    "/proc/version",
        "/proc/uptime",  "/proc/loadavg", "/proc/devices", "/proc/filesystems",
        "/proc/sys",     "/proc/driver",
    };
    char keeper[48];

    snprintf(keeper, sizeof(keeper), "/proc/%d/task", (int)getppid());
    if (allow(ruleset, "/proc", LL_READ_DIR) < 0 ||
        allow(ruleset, keeper, LL_READ_FILE) < 0 ||
        allow(ruleset, "/proc/self", rights) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (allow(ruleset, facts[i], LL_READ_FILE) < 0)
            return -1;
    /* The rules hold for these nodes: held open, they stay what they are. */
    return open("/proc/self", O_PATH | O_CLOEXEC) < 0 ||
                   open(keeper, O_PATH | O_CLOEXEC) < 0
               ? -1
               : 0;
}

int box_restrict_files(const char *policy)
{
    int abi = box_landlock_abi(), full = strstr(policy, "level full\n") != NULL;
    uint64_t all = all_rights(abi), proc = LL_READ_FILE | LL_READ_DIR;
    /* No port may be bound or connected to; no signal and no abstract socket
     * may leave the box. */
    struct ruleset set = {all, abi >= 4 ? 3 : 0, abi >= 6 ? 3 : 0};
    size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    int fd, rc = -1;

    if (abi == 0) {
        /* In a full box the private root alone decides; a thin one has
         * nothing else. */
        errno = ENOSYS;
        return full ? 0 : -1;
    }
    fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    if (fd < 0)
        return -1;
    /* A GPU driver opens /proc/self/task/N/comm to write and truncate it. */
    if (strstr(policy, "proc write\n"))
        proc |= LL_WRITE_FILE | (all & LL_TRUNCATE);
    if (allow_policy(fd, policy, all) < 0 ||
        (full ? allow(fd, "/proc", proc) : allow_host_proc(fd, proc)) < 0)
        goto out;
    if (full && (allow(fd, "/tmp", all) < 0 || allow(fd, "/dev/shm", all) < 0))
        goto out;
    rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
out:
    close(fd);
    return rc;
}

/* ---- seccomp ---- */

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the box knows x86-64 and aarch64"
#endif

/* Newer than the headers of some systems; the same number everywhere. */
#define NR_PIDFD_GETFD    438
#define NR_IO_URING_SETUP 425
#define NR_MOUNT_SETATTR  442
#define NR_CLONE3         435

static const int refused[] = {
    /* looking into or changing other processes */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    NR_PIDFD_GETFD,
    /* reaching into the kernel */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    NR_IO_URING_SETUP,
    NR_IO_URING_SETUP + 1,
    NR_IO_URING_SETUP + 2,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    SYS_swapon,
    SYS_swapoff,
    SYS_personality,
    /* keys outlive processes */
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    /* building another world */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_move_mount,
    SYS_open_tree,
    NR_MOUNT_SETATTR,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    /* clocks and names of the host */
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
};

#define REFUSED_COUNT   (sizeof(refused) / sizeof(refused[0]))
#define NAMESPACE_FLAGS 0x7e020080u /* every CLONE_NEW… flag */

#define LOAD(field)                    \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
             (unsigned)offsetof(struct seccomp_data, field))
#define IF_EQUAL(k, then, otherwise) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(k), then, otherwise)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (unsigned)(value))

int box_filter_calls(void)
{
    const struct sock_filter head[] = {
        LOAD(arch),
        IF_EQUAL(OUR_ARCH, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        /* The x32 calls of x86-64 are other numbers for the same things. */
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_filter tail[] = {
        /* clone3 hides its flags in memory; without it libc uses clone */
        IF_EQUAL(NR_CLONE3, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
        IF_EQUAL(SYS_clone, 0, 4),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACE_FLAGS, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
        /* the death signal is what ends a box whose keeper is killed */
        IF_EQUAL(SYS_prctl, 0, 4),
        LOAD(args[0]),
        IF_EQUAL(PR_SET_PDEATHSIG, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
        IF_EQUAL(SYS_socket, 0, 3),
        LOAD(args[0]),
        IF_EQUAL(AF_UNIX, 1, 0),
        ANSWER(SECCOMP_RET_ERRNO | EACCES),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    struct sock_filter code[sizeof(head) / sizeof(head[0]) + 2 * REFUSED_COUNT +
                            sizeof(tail) / sizeof(tail[0])];
    struct sock_fprog program = {0, code};
    size_t n = sizeof(head) / sizeof(head[0]);

    memcpy(code, head, sizeof(head));
    for (size_t i = 0; i < REFUSED_COUNT; i++) {
        code[n++] = (struct sock_filter)IF_EQUAL(refused[i], 0, 1);
        code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
    }
    memcpy(code + n, tail, sizeof(tail));
    n += sizeof(tail) / sizeof(tail[0]);
    program.len = (unsigned short)n;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
