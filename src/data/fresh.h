/* fresh.h: a new folder that appears whole or not at all: it is filled under
 * another name, and renamed at the end. */
#ifndef DATA_FRESH_H
#define DATA_FRESH_H

#include "base/err.h"

struct fresh {
    const char *to; /* borrowed */
    char *dir;      /* where to write; NULL: there is nothing to remove */
};

/* ERR_INPUT when `to` exists. */
int fresh_begin(struct fresh *f, const char *to, struct err *e);
/* The folder gets its name. */
int fresh_end(struct fresh *f, struct err *e);
/* Removes what was not ended; else does nothing. */
void fresh_drop(struct fresh *f);

#endif
