/* box.c: the steps of the sandbox, in the order box.h tells. Linked into the
 * worker and loaded by the zygotes as libmonkeys-box.so. */
#include "worker/box.h"

#include "worker/box_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

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
        "box: candidates have a user of their own, who needs %s but "
        "cannot read %s; 'chmod a+rx %s' lets everybody read it",
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
