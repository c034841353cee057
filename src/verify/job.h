/* job.h: what the verifier is asked (docs/PROTOCOL.md, Jobs), and how an answer
 * becomes the record that users see (docs/VERIFIER.md). */
#ifndef VERIFY_JOB_H
#define VERIFY_JOB_H

#include "base/json.h"
#include "pack/pack.h"
#include "source/task.h"
#include "verify/check.h"

#include <stdbool.h>
#include <stdint.h>

/* How a candidate or a task is judged. */
struct job_opts {
    const char *device, *precision, *protocol;
    bool timing;
    bool gate;            /* also check the task */
    bool self_test;       /* of a task: also try answers with known verdicts */
    bool foreign;         /* of a task: run it in boxes, not in the judge */
    int64_t memory_bytes; /* 0: the worker's own */
    int64_t call_ms;      /* 0: the pack's */
    int64_t whole_ms;     /* for the job; 0: the sum over its parts */
};

/* A seed. It cannot be known without the secret, and the same secret gives the
 * same seed. */
void job_seed(const char *secret, const char *task, const char *label,
              char out[HASH_HEX]);

/* The seeds of an attempt: its own, and one that 16 attempts in a row share,
 * so that the inputs and outputs that come from it are computed once. */
struct job_seeds {
    char own[HASH_HEX], pool[HASH_HEX];
};

void job_seeds(const char *secret, const char *task, size_t attempt,
               struct job_seeds *out);

/* New references. */
json_t *job_verify(const struct pack *p, const struct task *t,
                   struct str candidate, const struct job_opts *o,
                   const struct job_seeds *seeds);
json_t *job_task(const struct task *t, const struct job_opts *o,
                 const char *seed);
/* Divide a task at a level ("coarse", "medium", "fine"), or check a division
 * that somebody proposes (curriculum/contract.h). */
json_t *job_decompose(const struct task *t, const char *level,
                      const struct job_opts *o, const char *seed);
json_t *job_validate(const struct task *t, const json_t *proposal,
                     const struct job_opts *o, const char *seed);
/* The text that is sent; `id` is its hash (NULL: not needed). The caller frees
 * the text. */
char *job_text(const json_t *job, char *id);
/* What the processes of a verify job may spend in all (worker/child.h). */
int64_t job_deadline_ms(const struct pack *p, const struct job_opts *o);

/* The record of a candidate that the static rules refuse: nothing was run. */
json_t *job_static_reject(const struct check_result *r);
/* Appends the pack's hint to the feedback of a failed record. The hint is
 * looked up by the error's own text (`message`), since feedback also quotes
 * lines of the candidate, which may say anything. */
void job_add_hint(json_t *record, const struct pack *p);

#endif
