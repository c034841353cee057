/* answer.c: fills an answer. */
#include "runner/answer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int answer_fail(struct answer *a, enum status status, uint64_t detail,
                const char *fmt, ...)
{
    va_list ap;

    a->status = status;
    a->detail = detail;
    va_start(ap, fmt);
    vsnprintf(a->text, sizeof(a->text), fmt, ap);
    va_end(ap);
    return -1;
}

int answer_sys(struct answer *a, enum status status, const char *what)
{
    int code = errno;
    char text[128] = "";

    if (code == ENOMEM)
        status = NO_MEMORY;
    return answer_fail(a, status, (uint64_t)code, "%s: %s", what,
                       strerror_r(code, text, sizeof(text)));
}
