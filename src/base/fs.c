/* fs.c: whole files and folders. */
#include "base/fs.h"

#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_PATH 1000 /* bytes: far below what the kernel takes */

static int read_fd(int fd, const char *path, struct buf *b, struct err *e)
{
    char chunk[65536];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, "%s: cannot read", path);
        if (n == 0)
            return 0;
        if (buf_add(b, chunk, (size_t)n, e) < 0)
            return err_wrap(e, "%s", path);
    }
}

int fs_read(const char *path, struct buf *b, struct err *e)
{
    struct stat st;
    int fd, rc;

    if (strcmp(path, "-") == 0)
        return read_fd(STDIN_FILENO, "standard input", b, e);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        err_sys(e, "%s: cannot open", path);
        e->kind = ERR_INPUT;
        return -1;
    }
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) {
        close(fd);
        return err_set(e, ERR_INPUT, "%s: not a file", path);
    }
    if (S_ISFIFO(st.st_mode))
        fcntl(fd, F_SETFL, 0);
    rc = read_fd(fd, path, b, e);
    close(fd);
    return rc;
}

int fs_write_all(int fd, const void *p, size_t n, struct err *e)
{
    const char *at = p;

    while (n) {
        ssize_t done = write(fd, at, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return err_sys(e, "cannot write");
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* A place that cannot be was named wrongly; a full disk is the machine's. */
static int bad_place(struct err *e)
{
    switch (e->sys) {
    case EACCES:
    case EEXIST:
    case EISDIR:
    case ENAMETOOLONG:
    case ENOENT:
    case ENOTDIR:
    case EROFS:
        e->kind = ERR_INPUT;
        break;
    default:
        break;
    }
    return -1;
}

/* A device or pipe, such as /dev/null: there is nothing to replace. */
static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int write_special(const char *path, const void *data, size_t n,
                         struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return err_sys(e, "%s: cannot open", path);
    rc = fs_write_all(fd, data, n, e);
    if (rc < 0)
        err_wrap(e, "%s", path);
    close(fd);
    return rc;
}

static int fs_swap_in(const char *path, struct str data, bool wait,
                      struct err *e)
{
    if (is_special(path))
        return write_special(path, data.p, data.n, e);

    int rc = -1;
    char *tmp = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(tmp, O_CLOEXEC);

    if (fd < 0) {
        err_sys(e, "%s: cannot create", path);
        bad_place(e);
        goto out;
    }
    if (fs_write_all(fd, data.p, data.n, e) < 0) {
        err_wrap(e, "%s", path);
        unlink(tmp);
        goto out;
    }
    if (fchmod(fd, 0644) < 0 || (wait && fsync(fd) < 0) ||
        rename(tmp, path) < 0) {
        err_sys(e, "%s: cannot replace", path);
        unlink(tmp);
        goto out;
    }
    rc = 0;
out:
    if (fd >= 0)
        close(fd);
    free(tmp);
    return rc;
}

int fs_replace(const char *path, const void *data, size_t n, struct err *e)
{
    return fs_swap_in(path, (struct str){data, n}, true, e);
}

int fs_replace_later(const char *path, const void *data, size_t n,
                     struct err *e)
{
    return fs_swap_in(path, (struct str){data, n}, false, e);
}

int fs_mkdirs(const char *path, struct err *e)
{
    char *p = xstrdup(path);
    int rc = 0;

    for (char *at = p + 1; rc == 0 && *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(p, 0777) < 0 && errno != EEXIST)
            rc = err_sys(e, "%s: cannot create the folder", p);
        *at = '/';
    }
    if (rc == 0 && mkdir(p, 0777) < 0 && errno != EEXIST)
        rc = err_sys(e, "%s: cannot create the folder", p);
    free(p);
    return rc < 0 ? bad_place(e) : 0;
}

bool fs_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool fs_is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int fs_list(const char *dir, bool missing_ok, struct fs_names *out,
            struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *de;

    *out = (struct fs_names){0};
    if (!d && errno == ENOENT && missing_ok)
        return 0;
    if (!d) {
        err_sys(e, "%s: cannot list", dir);
        e->kind = ERR_INPUT;
        return -1;
    }
    while ((de = readdir(d))) { // NOLINT(concurrency-mt-unsafe): d is ours
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        out->name = xgrow(out->name, &out->cap, out->len, sizeof(*out->name));
        out->name[out->len++] = xstrdup(de->d_name);
    }
    closedir(d);
    if (out->len)
        qsort(out->name, out->len, sizeof(*out->name), by_bytes);
    return 0;
}

void fs_names_release(struct fs_names *n)
{
    for (size_t i = 0; i < n->len; i++)
        free(n->name[i]);
    free(n->name);
    *n = (struct fs_names){0};
}

/* A candidate may leave folders so deep that the kernel takes no path to them, and
 * that recursion would use up the stack. Those are moved up to `top`, which then has
 * to be gone through once more; true if there are any. */
static bool remove_below(const char *dir, const char *top)
{
    struct err ignored = ERR_INIT;
    struct fs_names names;
    bool moved = false;

    if (fs_list(dir, true, &names, &ignored) == 0) {
        for (size_t i = 0; i < names.len; i++) {
            char *path = fs_join(dir, names.name[i]);
            char *up = fs_join(top, "up-XXXXXX");

            if (unlink(path) == 0)
                ;
            else if (strlen(path) < strlen(top) + LONG_PATH)
                moved = remove_below(path, top) || moved;
            else
                moved = (mkdtemp(up) && rename(path, up) == 0) || moved;
            free(up);
            free(path);
        }
        fs_names_release(&names);
    }
    rmdir(dir);
    return moved;
}

void fs_remove_tree(const char *dir)
{
    while (remove_below(dir, dir))
        ;
}

int fs_fresh_begin(struct fs_fresh *f, const char *to, bool replace,
                   struct err *e)
{
    *f = (struct fs_fresh){.to = to};
    if (!replace && access(to, F_OK) == 0)
        return err_set(e, ERR_INPUT,
                       "%s: exists already; remove it, or name another folder "
                       "with -o",
                       to);
    f->dir = xasprintf("%s.XXXXXX", to);
    if (mkdtemp(f->dir) && chmod(f->dir, 0755) == 0)
        return 0;
    err_sys(e, "%s: cannot create", to);
    e->kind = ERR_INPUT;
    free(f->dir);
    f->dir = NULL;
    return -1;
}

int fs_fresh_end(struct fs_fresh *f, struct err *e)
{
    if (rename(f->dir, f->to) < 0)
        return err_sys(e, "%s: cannot replace", f->to);
    free(f->dir);
    f->dir = NULL;
    return 0;
}

int fs_fresh_move(struct fs_fresh *f, const char *name, const char *to,
                  struct err *e)
{
    char *path = fs_join(f->dir, name);
    int rc = rename(path, to) < 0 ? err_sys(e, "%s: cannot replace", to) : 0;

    free(path);
    return rc;
}

void fs_fresh_drop(struct fs_fresh *f)
{
    if (f->dir)
        fs_remove_tree(f->dir);
    free(f->dir);
    f->dir = NULL;
}

char *fs_join(const char *dir, const char *name)
{
    size_t n = strlen(dir);

    return xasprintf("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
}

const char *fs_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
