/* port.h: how the search reaches the verifier. */
#ifndef SEARCH_PORT_H
#define SEARCH_PORT_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "task/task.h"

#include <stdbool.h>
#include <stddef.h>

/* The record as `verify --json` has it (borrowed), or NULL and why there is
 * none: the machinery failed, which is nobody's attempt. */
typedef void port_fn(const json_t *record, const char *why, void *arg);

struct search_port {
    /* Judges a candidate; `fn` is called once, from here or from the loop. */
    int (*judge)(struct search_port *p, const struct task *t, struct str code,
                 int attempt, port_fn *fn, void *arg, struct err *e);
    /* Nobody judges any more. */
    bool (*dead)(struct search_port *p);
    /* Questions that only somebody else can answer. */
    size_t (*waiting)(struct search_port *p);
};

#endif
