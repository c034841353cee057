/* lock.c: flock() on DIR/lock, which contains the owner's pid for messages.
 * The file is never removed: that would let two processes in. */
#include "store/lock.h"

#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int in_use(const char *dir, int fd, struct err *e)
{
    char owner[24] = "";
    ssize_t n = pread(fd, owner, sizeof(owner) - 1, 0);
    size_t digits = n > 0 ? strspn(owner, "0123456789") : 0;

    if (!digits) /* its pid is not written yet */
        return err_set(e, ERR_INPUT, "%s: in use by another process", dir);
    return err_set(e, ERR_INPUT, "%s: in use by process %.*s", dir, (int)digits,
                   owner);
}

static int sign(const char *path, int fd, struct err *e)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) < 0)
        return err_sys(e, "%s: cannot write", path);
    if (fs_write_all(fd, text, (size_t)n, e) < 0)
        return err_wrap(e, "%s", path);
    return 0;
}

int lock_take(const char *dir, struct lock *l, struct err *e)
{
    char *path = fs_join(dir, "lock");
    int rc = -1;

    l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (l->fd < 0) {
        err_sys(e, "%s: cannot open", path);
        e->kind = ERR_INPUT;
    } else if (flock(l->fd, LOCK_EX | LOCK_NB) == 0) {
        rc = sign(path, l->fd, e);
    } else if (errno == EWOULDBLOCK) {
        in_use(dir, l->fd, e);
    } else {
        err_sys(e, "%s: cannot lock", path);
    }
    l->held = rc == 0;
    if (rc < 0 && l->fd >= 0)
        close(l->fd);
    free(path);
    return rc;
}

void lock_drop(struct lock *l)
{
    if (l->held)
        close(l->fd);
    l->held = false;
}

struct store *lock_store(const char *dir, const char *name, struct loop *loop,
                         struct lock *l, struct err *e)
{
    char *db = fs_join(dir, name);
    struct store *s = NULL;

    if (fs_mkdirs(dir, e) == 0 && lock_take(dir, l, e) == 0) {
        s = store_open(db, fs_is_file(db) ? STORE_OPEN : STORE_NEW, loop, e);
        if (!s)
            lock_drop(l);
    }
    free(db);
    return s;
}

/* A lock that is only tried could keep a run from starting at that moment, so it
 * is tried only while the process that signed it is there. */
long lock_owner(const char *dir)
{
    char *path = fs_join(dir, "lock"), text[24] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    long pid = 0;

    free(path);
    if (fd < 0)
        return 0;
    if (pread(fd, text, sizeof(text) - 1, 0) > 0)
        pid = strtol(text, NULL, 10);
    if (pid <= 0 || (kill((pid_t)pid, 0) < 0 && errno == ESRCH) ||
        flock(fd, LOCK_SH | LOCK_NB) == 0)
        pid = 0;
    close(fd);
    return pid;
}
