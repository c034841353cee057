/* library.c: shared objects in memory. */
#include "runner/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int library_write_all(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, data, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* The file is sealed, because pages of code are read from it when first
 * touched. */
int library_hold(struct library *l, const struct plan_module *m,
                 struct answer *a)
{
    l->handle = NULL;
    l->fd = memfd_create("library", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (l->fd < 0 || library_write_all(l->fd, m->data, m->bytes) < 0 ||
        fcntl(l->fd, F_ADD_SEALS, SEALS) < 0)
        return answer_sys(a, NO_DEVICE, "memory for a library");
    return 0;
}

void library_release(struct library *l)
{
    if (l->fd >= 0)
        close(l->fd);
}

int library_open(struct library *l, struct answer *a)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", l->fd);
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle)
        // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
        return answer_fail(a, NO_MODULE, 0, "%s", dlerror());
    return 0;
}

void *library_find(const struct library *l, const char *name, struct answer *a)
{
    void *found = dlsym(l->handle, name);

    if (!found)
        answer_fail(a, NO_SYMBOL, 0, "the library has no function '%s'", name);
    return found;
}

void library_bind(struct plan_launch *l, uint64_t base, struct arena *arena)
{
    uint64_t *words = arena_alloc(arena, (l->params + 1) * sizeof(*words));

    for (size_t i = 0; i < l->params; i++)
        words[i] =
            l->param[i].value + (l->param[i].kind == PARAM_POINTER ? base : 0);
    l->bound = words;
}

void library_call(void *function, const struct plan_launch *l)
{
    void (*call)(const uint64_t *words);

    /* C has no cast from a data pointer to a function pointer. */
    *(void **)&call = function;
    call(l->bound);
}
