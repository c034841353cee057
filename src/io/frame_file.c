/* frame_file.c: frames in a file. */
#include "io/frame_file.h"

#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define MAX_FILE ((size_t)4 << 30)

/* *whole is where the last whole frame ends, *torn whether anything follows. */
static int frame_file_read_all(const char *path, frame_file_fn *fn, void *arg,
                               size_t *whole, bool *torn, struct err *e)
{
    struct buf b;
    struct frame f;
    long n = 1;
    int rc;

    *whole = 0;
    buf_init(&b, MAX_FILE);
    rc = fs_read(path, &b, e);
    while (rc == 0 && *whole < b.len) {
        n = frame_parse(b.data + *whole, b.len - *whole, &f, e);
        if (n <= 0)
            break;
        rc = fn(&f, arg, e);
        *whole += (size_t)n;
    }
    if (n < 0)
        rc = err_wrap(e, "%s: at byte %zu", path, *whole);
    *torn = *whole < b.len;
    buf_release(&b);
    return rc;
}

int frame_file_read(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e)
{
    size_t whole;
    bool torn;

    return fs_is_file(path)
               ? frame_file_read_all(path, fn, arg, &whole, &torn, e)
               : 0;
}

int frame_file_open(const char *path, frame_file_fn *fn, void *arg,
                    struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    size_t whole;
    bool torn;
    int rc = -1;

    if (fd < 0)
        return err_sys(e, "%s", path);
    /* Some file systems do not support locks. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        err_set(e, ERR_INPUT, "%s: another process is writing to it", path);
    else if (frame_file_read_all(path, fn, arg, &whole, &torn, e) == 0 &&
             (rc = torn ? ftruncate(fd, (off_t)whole) : 0) < 0)
        err_sys(e, "%s: cut the torn end", path);
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}
