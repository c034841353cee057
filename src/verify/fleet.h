/* fleet.h: which worker has which job. It decides and remembers;
 * verify/verify_workers.c sends and waits.
 *
 * Work waits in order of arrival. It is leased to one worker at a time, and
 * each lease has a new id, the fence. Answers for an expired lease (its worker
 * was given up, or has answered before) are rejected, so nothing counts twice.
 * When a worker leaves, its work goes to the front of the queue. Work that
 * several lost workers had may be the cause, so it is given up.
 *
 * A worker has slots, and memory that the work on it shares. Work counts as
 * much as its task has used before, new work as one slot's share. A worker
 * prefers tasks whose truth (what the reference gives for the inputs) it has
 * computed, then tasks that no worker has, and only then those of another
 * worker. */
#ifndef VERIFY_FLEET_H
#define VERIFY_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLEET_FENCE  40 /* bytes of a fence, with its NUL */
#define FLEET_DEATHS 3  /* where nothing else is known */
#define FLEET_TRUTHS 32 /* tasks whose truth a worker is taken to have */

struct fleet;
struct worker; /* one that has joined */
struct work;   /* asked, not answered yet */

/* Work is given up when it was with `deaths` workers as they left. */
struct fleet *fleet_new(int deaths);
/* Forgets all work and all workers. */
void fleet_free(struct fleet *f);

/* `memory_bytes` 0: not known, slots alone decide. */
struct worker *fleet_join(struct fleet *f, size_t slots, uint64_t memory_bytes,
                          void *arg);
/* Frees the worker. Its work waits again; what is given up is handed to
 * fleet_next_lost(). */
void fleet_leave(struct fleet *f, struct worker *w);

/* `key` names the task, as one that shares its truth; copied. */
void fleet_add(struct fleet *f, const char *key, void *arg);
/* The next unit of work that has a worker now: true, the arguments of both,
 * and the fence it goes under. */
bool fleet_lease(struct fleet *f, void **work, void **worker,
                 char fence[FLEET_FENCE]);
/* Work that was given up; false: no more. */
bool fleet_next_lost(struct fleet *f, void **work);

/* The answer of a worker has come: the argument of its work, which is
 * forgotten. NULL: the fence does not hold. `peak_bytes`: what it used; 0: not
 * known. */
void *fleet_answer(struct fleet *f, const struct worker *w, const char *fence,
                   uint64_t peak_bytes);
/* The worker could not judge it. True: another worker gets it. False: it was
 * refused before, or there is no other worker; the caller must answer it
 * (fleet_answer). A fence that does not hold is ignored. */
bool fleet_refuse(struct fleet *f, struct worker *w, const char *fence);

struct fleet_counts {
    size_t workers, slots, waiting, leased;
    size_t leases, cached; /* ever; of these, to a worker that had the truth */
    size_t fenced;         /* answers that were not accepted */
};
struct fleet_counts fleet_counts(const struct fleet *f);
/* The bytes that the first waiting work needs if no worker has so many: it
 * would wait forever. Else 0. */
uint64_t fleet_too_large(const struct fleet *f);

struct worker_counts {
    size_t leased, answered, truths;
    uint64_t memory_taken;
};
struct worker_counts worker_counts(const struct worker *w);
/* The arguments of its work, the first leased first; at most `max`. Returns how
 * many. */
size_t worker_works(const struct worker *w, void **work, size_t max);

#endif
