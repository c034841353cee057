/* fake_worker.h: a worker without a judge, on the loop of the test: it connects, proves
 * itself, joins, and answers one job after the other, each after a while, with `{"echo": NAME}`, where the
 * job has `"name": NAME`. What else it does a job can ask for with "do". */
#ifndef TESTS_FAKE_WORKER_H
#define TESTS_FAKE_WORKER_H

#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct fake_opts {
    const char *address, *secret, *name;
    size_t slots;
    uint64_t memory;
    int64_t delay_ns; /* of an answer */
};

struct fake_worker;

struct fake_worker *fake_worker_start(struct loop *l,
                                      const struct fake_opts *o);
/* Cuts the connection, in the middle of whatever it is doing. */
void fake_worker_free(struct fake_worker *w);
/* Neither reads nor says anything any more; then again. */
void fake_worker_freeze(struct fake_worker *w, bool frozen);
size_t fake_worker_jobs(const struct fake_worker *w);
int64_t fake_worker_busy_ns(const struct fake_worker *w);
bool fake_worker_is_open(const struct fake_worker *w);

#endif
