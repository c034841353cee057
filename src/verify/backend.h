/* backend.h: where the jobs of a door go: to a worker that is started here
 * (local.c), to workers that connect to us (tcp.c), or into a folder that a
 * worker on another host reads and writes (jobs.c). Each back end has a file
 * and a line in the table of backend.c. */
#ifndef VERIFY_BACKEND_H
#define VERIFY_BACKEND_H

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "io/loop.h"
#include "verify/verifier.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The answer to a job: the judge's record (borrowed), or NULL and why there is
 * none. `job` is the caller's. */
typedef void backend_fn(void *job, const json_t *answer, const char *why,
                        void *arg);

/* Each back end has one as its first member. */
struct backend {
    const struct backend_type *type;
    struct loop *loop;
    const struct verifier_opts *o;
    size_t pending; /* jobs without an answer */
    char secret[HASH_HEX];
    backend_fn *fn;
    void *arg;
};

struct backend_type {
    const char *name;
    const char *operand; /* what follows NAME=; NULL: it takes none */
    bool elsewhere;      /* answers are read only when the program is started
                            again */
    size_t size;         /* of its struct, which begins zeroed */
    int (*open)(struct backend *b, const char *operand, struct err *e);
    /* Also after a failed open. */
    void (*close)(struct backend *b);
    /* Takes over `what`. The answer comes before this returns, or later from
     * the loop; none comes after -1. */
    int (*ask)(struct backend *b, json_t *what, int64_t deadline_ms, void *job,
               struct err *e);
    bool (*is_dead)(const struct backend *b); /* NULL: never */
    /* No worker is there now; one may come. NULL: never. */
    bool (*is_lonely)(const struct backend *b);
    char *(*hint)(const struct backend *b); /* NULL: no hint */
};
extern const struct backend_type backend_local, backend_tcp, backend_jobs;

/* The one that o->verifier names. */
struct backend *backend_open(struct loop *l, const struct verifier_opts *o,
                             backend_fn *fn, void *arg, struct err *e);
void backend_close(struct backend *b);

/* For the files behind it: hands an answer to the caller. */
void backend_answer(struct backend *b, void *job, const json_t *answer,
                    const char *why);

#endif
