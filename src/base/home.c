/* home.c: the program's own files, found from where the program lies. */
#include "base/home.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `path` without its last part, or "/" ; the caller frees. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash != path ? xstrndup(path, (size_t)(slash - path))
                                  : xstrdup("/");
}

static bool is_home(const char *dir)
{
    char *packs = fs_join(dir, "packs"), *worker = fs_join(dir, "worker");
    bool yes = fs_is_dir(packs) && fs_is_dir(worker);

    free(packs);
    free(worker);
    return yes;
}

/* The folder of the program or one of those above it (a source tree, where the
 * program lies in build/MODE), or PREFIX/share/monkeys. NULL: not found. */
static char *find_dir(const char *bin)
{
    char *dir = xstrdup(bin), *up;

    for (int i = 0; i < 3; i++) {
        if (is_home(dir))
            return dir;
        up = parent_of(dir);
        free(dir);
        dir = up;
    }
    free(dir);
    up = parent_of(bin);
    dir = fs_join(up, "share/monkeys");
    free(up);
    if (is_home(dir))
        return dir;
    free(dir);
    return NULL;
}

char *home_python(const char *dir)
{
    const char *given =
        getenv("MONKEYS_PYTHON"); // NOLINT(concurrency-mt-unsafe)
    char *path;

    if (given && *given)
        return xstrdup(given);
    path = fs_join(dir, ".venv/bin/python");
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return xstrdup("python3");
}

int home_find(struct home *h, struct err *e)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *bin;

    *h = (struct home){0};
    if (n < 0)
        return err_sys(e, "/proc/self/exe");
    exe[n] = '\0';
    bin = parent_of(exe);
    h->dir = find_dir(bin);
    if (!h->dir)
        err_set(e, ERR_SYSTEM,
                "packs/ and worker/ are neither next to %s nor in "
                "../share/monkeys; run 'make install'",
                exe);
    else {
        h->worker = fs_join(bin, "monkeys-worker");
        h->python = home_python(h->dir);
    }
    free(bin);
    return h->dir ? 0 : -1;
}

void home_release(struct home *h)
{
    free(h->dir);
    free(h->worker);
    free(h->python);
    *h = (struct home){0};
}

/* ---- devices ---- */

bool device_is_gpu(const char *device, int64_t *n)
{
    struct str number = str_of(device), word;

    return str_cut(&number, ':', &word) && str_eq(word, "cuda") &&
           str_to_i64(number, 0, DEVICE_MAX, n);
}

bool device_has_gpu(void)
{
    const char *listed = secure_getenv("CUDA_VISIBLE_DEVICES");
    bool none = listed && !isdigit((unsigned char)listed[0]) &&
                !str_starts(str_of(listed), "GPU-");

    return !none && (access("/dev/nvidiactl", F_OK) == 0 ||
                     access("/dev/dxg", F_OK) == 0); /* the latter: WSL */
}
