/* err.c: the failure record. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
    va_list ap;

    e->kind = kind;
    e->sys = 0;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    return -1;
}

int err_sys(struct err *e, const char *fmt, ...)
{
    int sys = errno;
    char why[128];
    va_list ap;
    size_t n;

    e->kind = ERR_SYSTEM;
    e->sys = sys;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    n = strlen(e->text);
    snprintf(e->text + n, sizeof(e->text) - n, ": %s",
             strerror_r(sys, why, sizeof(why)));
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char old[sizeof(e->text)];
    va_list ap;
    size_t n;

    memcpy(old, e->text, sizeof(old));
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    n = strlen(e->text);
    snprintf(e->text + n, sizeof(e->text) - n, ": %s", old);
    return -1;
}

int err_late(struct err *e, int rc, int closed, const struct err *late)
{
    if (rc < 0 || closed == 0)
        return rc;
    *e = *late;
    return -1;
}

int err_exit_status(const struct err *e)
{
    switch (e->kind) {
    case ERR_NONE:
        return 0;
    case ERR_USAGE:
    case ERR_INPUT:
        return 2;
    case ERR_BUDGET:
        return 3;
    case ERR_INTERRUPT:
        return 130;
    case ERR_LIMIT:
    case ERR_SYSTEM:
        break;
    }
    return 4;
}
