/* box_check.c: namespaces, Landlock, seccomp and memory cgroup, each tried in a
 * child that answers through its exit status: 0 for "works", else the step that
 * failed. */
#include "worker/box_check.h"

#include "worker/box.h"
#include "worker/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534u

/* Runs `step` in a child; its return value, or -1 when it died. */
static int in_child(int (*step)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(step());
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int box_check_write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

    if (fd >= 0)
        close(fd);
    return n < 0 ? -1 : 0;
}

/* ---- another user ---- */

static int try_other_user(void)
{
    return setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
           setresuid(NOBODY, NOBODY, NOBODY) < 0;
}

bool box_check_users(void)
{
    return getuid() == 0 && in_child(try_other_user) == 0;
}

/* ---- namespaces ---- */

static const char *const namespace_steps[] = {
    "work: user, pid, net, ipc, mount, uts",
    "unshare is refused",
    "the user map cannot be written",
    "no second process in the pid namespace",
    "a new /proc cannot be mounted",
};

static int mount_proc(void)
{
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 NULL) < 0;
}

static int try_namespaces(void)
{
    unsigned uid, gid;
    char map[64];
    int inner;

    /* Otherwise /proc/self belongs to root and the map cannot be written */
    if (box_check_users() && try_other_user() == 0)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    uid = getuid();
    gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWNS | CLONE_NEWUTS) < 0)
        return 1;
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    if (box_check_write_file("/proc/self/setgroups", "deny") < 0 ||
        box_check_write_file("/proc/self/uid_map", map) < 0)
        return 2;
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    if (box_check_write_file("/proc/self/gid_map", map) < 0)
        return 2;
    inner = in_child(mount_proc);
    return inner < 0 ? 3 : inner ? 4 : 0;
}

/* ---- Landlock ---- */

/* Forbids reading any file, then reads one that everybody may read. */
static int try_landlock(void)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs =
                                             LANDLOCK_ACCESS_FS_READ_FILE};
    long fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

    if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_landlock_restrict_self, (int)fd, 0) < 0)
        return 1;
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES ? 0
                                                                            : 2;
}

/* ---- seccomp ---- */

/* Refuses uname() with an errno no kernel gives for it, then calls it. */
static int try_seccomp(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    struct utsname name;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return 1;
    return uname(&name) < 0 && errno == EXDEV ? 0 : 2;
}

/* ---- memory cgroup ---- */

static void print_cgroup(FILE *out)
{
    struct cgroup g;

    if (cgroup_make(&g, "probe", (uint64_t)64 << 20))
        fprintf(out, "cgroup yes version %d, memory limits can be set\n",
                g.version);
    else
        fprintf(out, "cgroup no none delegated to this user; only rlimits "
                     "bound the memory\n");
    cgroup_remove(&g);
}

/* ---- memory ---- */

static void print_memory(FILE *out)
{
    fprintf(out, "memory yes %llu bytes, %llu of them for candidates now\n",
            (unsigned long long)memory_size(),
            (unsigned long long)memory_for_children());
}

int box_check_print(FILE *out)
{
    int step = in_child(try_namespaces), abi = box_landlock_abi(), works;

    if (step < 0 ||
        step >= (int)(sizeof(namespace_steps) / sizeof(namespace_steps[0])))
        fprintf(out, "namespaces no the attempt was killed\n");
    else
        fprintf(out, "namespaces %s %s\n", step ? "no" : "yes",
                namespace_steps[step]);
    works = abi > 0 && in_child(try_landlock) == 0;
    fprintf(out, "landlock %s ABI %d%s\n", works ? "yes" : "no", abi,
            works || !abi ? "" : ", but it does not restrict");
    works = in_child(try_seccomp) == 0;
    fprintf(out, "seccomp %s %s\n", works ? "yes" : "no",
            works ? "filters are obeyed" : "filters cannot be installed");
    print_cgroup(out);
    print_memory(out);
    return 0;
}

const char *box_check_level(void)
{
    bool landlock = box_landlock_abi() > 0 && in_child(try_landlock) == 0;

    if (in_child(try_seccomp) != 0)
        return "none";
    if (in_child(try_namespaces) == 0)
        return "full";
    return landlock ? "thin" : "none";
}
