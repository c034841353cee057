/* key.c: a secret in a file. */
#include "io/key.h"

#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int key_read(const char *path, char out[KEY_TEXT], struct err *e)
{
    struct stat st;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return err_sys(e, "%s", path);
    if (fstat(fd, &st) < 0 || st.st_mode & 077 || st.st_uid != geteuid())
        err_set(e, ERR_INPUT,
                "%s: others can read this secret, or it is not yours; "
                "'chmod 600' helps if nobody has read it yet",
                path);
    else
        n = read(fd, out, KEY_TEXT - 1);
    close(fd);
    if (n < 0)
        return e->kind ? -1 : err_sys(e, "%s", path);
    out[n] = '\0';
    if (strspn(out, "0123456789abcdef") != KEY_TEXT - 1)
        return err_set(e, ERR_INPUT,
                       "%s: not a secret of 64 hexadecimal digits", path);
    return 0;
}

int key_make(const char *path, char out[KEY_TEXT], struct err *e)
{
    unsigned char raw[(KEY_TEXT - 1) / 2];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = -1;

    if (fd < 0 && errno == EEXIST)
        return key_read(path, out, e);
    if (fd < 0)
        return err_sys(e, "%s", path);
    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw)) {
        err_sys(e, "getrandom");
    } else {
        for (size_t i = 0; i < sizeof(raw); i++)
            snprintf(out + 2 * i, 3, "%02x", raw[i]);
        rc = fs_write_all(fd, out, KEY_TEXT - 1, e);
        if (rc == 0 && fsync(fd) < 0)
            rc = err_sys(e, "%s", path);
    }
    close(fd);
    if (rc < 0)
        unlink(path);
    return rc;
}
