/* problems.h: collects all problems with a set of files, so that an author can
 * fix them in one go. A line reads `FILE: /json/pointer: what is wrong; what to
 * do`. */
#ifndef PACK_PROBLEMS_H
#define PACK_PROBLEMS_H

#include "base/err.h"

#include <stddef.h>

#define PROBLEMS_MAX 100 /* kept; the rest are only counted */

struct problems {
    char **line;
    size_t len, cap;
    size_t more; /* how many were not kept */
};

void problems_init(struct problems *p); /* allocates nothing */
void problems_release(struct problems *p);
void problems_add(struct problems *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets the error to the first line and the number of further lines. Returns
 * -1. */
int problems_to_err(const struct problems *p, struct err *e);

#endif
