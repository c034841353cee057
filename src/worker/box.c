/* box.c: the steps of the sandbox, in the order that box.h tells. Linked into the
 * worker and loaded by the zygotes as libmonkeys-box.so.
 *
 * The verdict on a candidate is worth nothing if the candidate can reach the
 * judge, the data, or the next candidate, so no single mechanism is relied on:
 * what namespaces hide, Landlock forbids as well, and seccomp refuses the calls
 * that have broken out of either before. Every step that fails ends the process;
 * a box with a step left out would look like one. It is made of system calls and
 * not of bwrap, because it starts in a process that has imported torch already,
 * thousands of times. */
#include "worker/box.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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

/* Files as the policy of box.h says; /tmp and /dev/shm (full) or the scratch
 * folders (thin) are writable. 0, or -1 with errno; ENOSYS without Landlock. */
static int box_restrict_files(const char *policy)
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

/* System calls no candidate needs are refused with EPERM. 0 or -1. */
static int box_filter_calls(void)
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

/* ---- errors ---- */

struct why {
    char *text;
    size_t size;
};

static int box_fail(const struct why *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int box_fail(const struct why *w, const char *fmt, ...)
{
    int sys = errno;
    char what[1024], reason[128];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    snprintf(w->text, w->size, "%s: %s", what,
             strerror_r(sys, reason, sizeof(reason)));
    return -1;
}

/* ---- reading the policy ---- */

/* Copies the value of the next line whose word is `word`, starting at *at, which
 * moves behind it. False at the end. */
static int next_value(const char **at, const char *word, char *out, size_t size)
{
    size_t n = strlen(word);

    while (**at) {
        const char *line = *at;
        size_t len = strcspn(line, "\n");

        *at = line + len + (line[len] == '\n');
        if (len > n && line[n] == ' ' && strncmp(line, word, n) == 0 &&
            len - n - 1 < size) {
            memcpy(out, line + n + 1, len - n - 1);
            out[len - n - 1] = '\0';
            return 1;
        }
    }
    return 0;
}

static int first_value(const char *policy, const char *word, char *out,
                       size_t size)
{
    out[0] = '\0';
    return next_value(&policy, word, out, size);
}

static unsigned long long box_number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static int is_full(const char *policy)
{
    char level[16];

    return first_value(policy, "level", level, sizeof(level)) &&
           strcmp(level, "full") == 0;
}

/* ---- outer: user and namespaces ---- */

static int box_write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    int sys = errno;

    if (fd >= 0)
        close(fd);
    errno = sys;
    return n < 0 ? -1 : 0;
}

static int drop_user(const char *policy, const struct why *w)
{
    char text[32];
    unsigned uid;

    if (getuid() != 0)
        return 0;
    if (!first_value(policy, "uid", text, sizeof(text))) {
        errno = EINVAL;
        return box_fail(w, "box: started as root and the policy names no user");
    }
    uid = (unsigned)box_number(text);
    if (uid == 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        return box_fail(w, "box: become user %u", uid);
    /* /proc/self would stay root's otherwise, and the user map with it. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return 0;
}

static int enter_namespaces(const struct why *w)
{
    unsigned uid = getuid(), gid = getgid();
    char map[64];

    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWNS | CLONE_NEWUTS) < 0)
        return box_fail(w, "box: unshare");
    if (box_write_text("/proc/self/setgroups", "deny") < 0)
        return box_fail(w, "box: setgroups");
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    if (box_write_text("/proc/self/uid_map", map) < 0)
        return box_fail(w, "box: uid_map");
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    if (box_write_text("/proc/self/gid_map", map) < 0)
        return box_fail(w, "box: gid_map");
    return 0;
}

// NOLINTNEXTLINE(readability-non-const-parameter): box_fail() writes to it
int box_outer(const char *policy, char *text, size_t size)
{
    struct why w = {text, size};
    char cgroup[PATH_MAX];

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return box_fail(&w, "box: death signal");
    /* Without a pid namespace orphans come here, where they can be found. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return box_fail(&w, "box: subreaper");
    /* A host out of memory ends candidates before anything of ours. */
    if (box_write_text("/proc/self/oom_score_adj", "1000") < 0)
        return box_fail(&w, "box: oom_score_adj");
    if (first_value(policy, "cgroup", cgroup, sizeof(cgroup)) &&
        box_write_text(cgroup, "0") < 0)
        return box_fail(&w, "box: join %s", cgroup);
    if (drop_user(policy, &w) < 0)
        return -1;
    /* Changing the uid clears the death signal. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return box_fail(&w, "box: death signal");
    return is_full(policy) ? enter_namespaces(&w) : 0;
}

/* ---- inner: the private root ---- */

static void make_parents(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        mkdir(path, 0755);
        *p = '/';
    }
}

/* Names the folder at fault, and the remedy: who installs languages reads the
 * folder, but the box has a user of its own. */
static int fail_closed(const struct why *w, const char *path)
{
    char part[PATH_MAX];

    snprintf(part, sizeof(part), "%s", path);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (access(part, X_OK) < 0)
            break;
        *p = '/';
    }
    errno = EACCES;
    return box_fail(
        w,
        "box: candidates run as another user, who needs %s but cannot read "
        "%s; 'chmod a+rx %s' lets all users read it",
        path, part, part);
}

/* Makes `to` exist as what `from` is, so that it can be mounted on. */
static int make_target(const char *from, char *to, const struct why *w)
{
    struct stat st;
    int fd;

    if (stat(from, &st) < 0)
        return errno == EACCES ? fail_closed(w, from)
                               : box_fail(w, "box: %s", from);
    if (S_ISDIR(st.st_mode) && access(from, R_OK | X_OK) < 0)
        return fail_closed(w, from);
    make_parents(to);
    if (S_ISDIR(st.st_mode)) {
        if (mkdir(to, 0755) < 0 && errno != EEXIST)
            return box_fail(w, "box: mkdir %s", to);
        return 0;
    }
    fd = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return box_fail(w, "box: create %s", to);
    close(fd);
    return 0;
}

/* A remount must repeat the flags that the user namespace has locked. */
static unsigned long locked_flags(const char *path)
{
    static const struct {
        unsigned long seen, flag;
    } pairs[] = {{ST_NOSUID, MS_NOSUID},
                 {ST_NODEV, MS_NODEV},
                 {ST_NOEXEC, MS_NOEXEC},
                 {ST_NOATIME, MS_NOATIME},
                 {ST_RELATIME, MS_RELATIME}};
    struct statvfs v;
    unsigned long flags = 0;

    if (statvfs(path, &v) < 0)
        return 0;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (v.f_flag & pairs[i].seen)
            flags |= pairs[i].flag;
    return flags;
}

static int bind_one(const char *root, const char *path, int read_only,
                    const struct why *w)
{
    char to[2 * PATH_MAX + 16];

    snprintf(to, sizeof(to), "%s%s", root, path);
    if (make_target(path, to, w) < 0)
        return -1;
    if (mount(path, to, NULL, MS_BIND | MS_REC, NULL) < 0)
        return box_fail(w, "box: bind %s", path);
    if (!read_only)
        return 0;
    if (mount(NULL, to, NULL,
              MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | locked_flags(to),
              NULL) < 0)
        return box_fail(w, "box: read-only %s", path);
    return 0;
}

static int link_one(const char *root, const char *path, const struct why *w)
{
    char to[2 * PATH_MAX + 16], target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof(target) - 1);

    if (n < 0)
        return box_fail(w, "box: link %s", path);
    target[n] = '\0';
    snprintf(to, sizeof(to), "%s%s", root, path);
    make_parents(to);
    if (symlink(target, to) < 0 && errno != EEXIST)
        return box_fail(w, "box: link %s", path);
    return 0;
}

static int make_tree(const char *policy, const char *root, const struct why *w)
{
    static const char *const dirs[] = {"/tmp", "/dev", "/dev/shm", "/proc"};
    char value[PATH_MAX + 16];
    const char *at;

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        snprintf(value, sizeof(value), "%s%s", root, dirs[i]);
        if (mkdir(value, 0777) < 0 && errno != EEXIST)
            return box_fail(w, "box: mkdir %s", dirs[i]);
    }
    for (at = policy; next_value(&at, "link", value, sizeof(value));)
        if (link_one(root, value, w) < 0)
            return -1;
    for (at = policy; next_value(&at, "ro", value, sizeof(value));)
        if (bind_one(root, value, 1, w) < 0)
            return -1;
    for (at = policy; next_value(&at, "dev", value, sizeof(value));)
        if (bind_one(root, value, 0, w) < 0)
            return -1;
    snprintf(value, sizeof(value), "%s/proc", root);
    if (mount("proc", value, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) <
        0)
        return box_fail(w, "box: mount /proc");
    return 0;
}

static int private_root(const char *policy, const struct why *w)
{
    char root[PATH_MAX], size[32], options[64];

    if (!first_value(policy, "root", root, sizeof(root)) ||
        !first_value(policy, "tmp", size, sizeof(size))) {
        errno = EINVAL;
        return box_fail(w, "box: the policy names no root or no size");
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return box_fail(w, "box: private mounts");
    snprintf(options, sizeof(options), "mode=755,size=%s", size);
    if (mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return box_fail(w, "box: tmpfs on %s", root);
    if (make_tree(policy, root, w) < 0)
        return -1;
    if (chdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return box_fail(w, "box: pivot_root");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/tmp") < 0)
        return box_fail(w, "box: leave the old root");
    if (sethostname("box", 3) < 0)
        return box_fail(w, "box: host name");
    return 0;
}

/* ---- inner: limits ---- */

static int set_limits(const char *policy, const struct why *w)
{
    static const struct {
        const char *name;
        __rlimit_resource_t what;
    } names[] = {{"as", RLIMIT_AS},         {"nproc", RLIMIT_NPROC},
                 {"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE},
                 {"cpu", RLIMIT_CPU},       {"stack", RLIMIT_STACK}};
    const struct rlimit none = {0, 0};
    char value[64];
    const char *at = policy;

    if (setrlimit(RLIMIT_CORE, &none) < 0)
        return box_fail(w, "box: no core files");
    while (next_value(&at, "limit", value, sizeof(value))) {
        size_t len = strcspn(value, " "), i = 0;
        struct rlimit lim;

        while (i < sizeof(names) / sizeof(names[0]) &&
               (strlen(names[i].name) != len ||
                strncmp(names[i].name, value, len) != 0))
            i++;
        if (i == sizeof(names) / sizeof(names[0])) {
            errno = EINVAL;
            return box_fail(w, "box: limit %s", value);
        }
        lim.rlim_cur = lim.rlim_max = box_number(value + len);
        if (setrlimit(names[i].what, &lim) < 0)
            return box_fail(w, "box: limit %s", value);
    }
    return 0;
}

/* The first process of a user namespace has all rights in it; a candidate
 * needs none. */
static int drop_rights(const struct why *w)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    const struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

    if (syscall(SYS_capset, &head, none) < 0)
        return box_fail(w, "box: drop capabilities");
    return 0;
}

// NOLINTNEXTLINE(readability-non-const-parameter): box_fail() writes to it
int box_inner(const char *policy, char *text, size_t size)
{
    struct why w = {text, size};

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return box_fail(&w, "box: death signal");
    if (is_full(policy) && private_root(policy, &w) < 0)
        return -1;
    if (set_limits(policy, &w) < 0 || drop_rights(&w) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return box_fail(&w, "box: no new privileges");
    if (box_restrict_files(policy) < 0)
        return box_fail(&w, "box: Landlock");
    if (box_filter_calls() < 0)
        return box_fail(&w, "box: seccomp");
    return 0;
}
