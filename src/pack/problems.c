/* problems.c: a list of lines. */
#include "pack/problems.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void problems_init(struct problems *p)
{
    *p = (struct problems){0};
}

void problems_release(struct problems *p)
{
    for (size_t i = 0; i < p->len; i++)
        free(p->line[i]);
    free(p->line);
    problems_init(p);
}

void problems_add(struct problems *p, const char *fmt, ...)
{
    va_list ap;

    if (p->len == PROBLEMS_MAX) {
        p->more++;
        return;
    }
    p->line = xgrow(p->line, &p->cap, p->len, sizeof(*p->line));
    va_start(ap, fmt);
    if (vasprintf(&p->line[p->len], fmt, ap) < 0)
        BUG("problems_add: no memory");
    va_end(ap);
    p->len++;
}

int problems_to_err(const struct problems *p, struct err *e)
{
    size_t others = p->len + p->more - 1;

    if (p->len == 0)
        BUG("problems_to_err without a problem");
    if (others == 0)
        return err_set(e, ERR_INPUT, "%s", p->line[0]);
    return err_set(e, ERR_INPUT, "%s (and %zu more: monkeys pack check)",
                   p->line[0], others);
}
