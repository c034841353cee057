/* driver.c: opens the CUDA driver. */
#include "runner/driver.h"

#include <dlfcn.h>

#define ENTRY(name, arguments) {#name, offsetof(struct driver, name)},
static const struct {
    const char *name;
    size_t at;
} functions[] = {DRIVER_FUNCTIONS(ENTRY)},
  newer[] = {DRIVER_NEWER_FUNCTIONS(ENTRY)};
#undef ENTRY

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* C has no cast from a data pointer to a function pointer. */
static bool driver_find(struct driver *d, const char *name, size_t at)
{
    void *found = dlsym(d->library, name);

    *(void **)((char *)d + at) = found;
    return found != NULL;
}

int driver_open(struct driver *d, struct answer *a)
{
    /* Global, because candidates' libraries call cuTensorMapEncodeTiled by
     * name. */
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!d->library)
        // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no thread yet
        return answer_fail(a, NO_DEVICE, 0, "%s", dlerror());
    for (size_t i = 0; i < COUNT(functions); i++)
        if (!driver_find(d, functions[i].name, functions[i].at))
            return answer_fail(a, NO_DEVICE, 0, "the CUDA driver has no %s",
                               functions[i].name);
    for (size_t i = 0; i < COUNT(newer); i++)
        driver_find(d, newer[i].name, newer[i].at);
    return 0;
}

int driver_check(const struct driver *d, int code, enum status status,
                 const char *what, struct answer *a)
{
    const char *name = NULL, *text = NULL;

    if (code == 0)
        return 0;
    d->cuGetErrorName(code, &name);
    d->cuGetErrorString(code, &text);
    if (code == CU_OUT_OF_MEMORY &&
        (status == LAUNCH_FAILED || status == NO_MODULE))
        status = NO_MEMORY;
    return answer_fail(a, status, (uint64_t)code, "%s: %s: %s", what,
                       name ? name : "an error without a name",
                       text ? text : "");
}
