/* method.c: the methods there are. */
#include "search/method.h"

#include <string.h>

#define METHOD_POINTER(name) &method_##name,
#define METHOD_NAME(name)    #name,
static const struct method *const methods[] = {METHODS(METHOD_POINTER, ) NULL};
const char *const method_names[] = {METHODS(METHOD_NAME, ) NULL};

const struct method *method_find(const char *name)
{
    for (const struct method *const *m = methods; *m; m++)
        if (strcmp((*m)->name, name) == 0)
            return *m;
    return NULL;
}
