/* store.h: one run's memory: a SQLite database that only grows.
 *
 * Writing does not wait for the disk, unless 64 MiB wait already: each function
 * below copies its row, and a thread of the store writes them in that order,
 * many to a transaction, at the latest 0.2 s after it became free. What must be
 * durable before something else happens waits with store_after(). A write that
 * fails (a full disk) is told there, and once it has, nothing more is written:
 * the file holds the rows up to some point and none after it.
 *
 * A row whose key is stored already must say the same, times aside, and is then
 * passed over. One that says something else is a mistake of the caller's; it is
 * told as a write that failed.
 *
 * Reading is done by the caller's thread and sees what is durable; who needs
 * to read what was just written waits for it first.
 *
 * Rows have natural keys and no clock in them but columns named `*_at` (micro-
 * seconds since 1970) and `wall_*`: two runs with the same replies and verdicts
 * differ in nothing else. docs/STORAGE.md describes every table. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

enum store_mode {
    STORE_NEW,  /* the file must not exist */
    STORE_OPEN, /* it must; an older schema is migrated after a copy */
    STORE_READ, /* likewise, and nothing can be written */
};

/* `l` may be NULL when store_after() is not used. A newer schema, another kind
 * of file, a folder that cannot be written: ERR_INPUT with the remedy. */
struct store *store_open(const char *path, enum store_mode mode, struct loop *l,
                         struct err *e);
/* Writes what is waiting; the error is the first that happened. Callbacks of
 * store_after() that have not come by then do not come. Not from one of them. */
int store_close(struct store *s, struct err *e);

/* Calls back from the loop when every row given so far is on disk, or `e` says
 * why not (NULL: all is well). In the order of asking. */
typedef void store_fn(const struct err *e, void *arg);
void store_after(struct store *s, store_fn *fn, void *arg);
/* The same, waiting here. */
int store_sync(struct store *s, struct err *e);

/* ---- blobs: texts by their SHA-256, compressed, each stored once ---- */
void store_blob(struct store *s, struct str text, char hash[HASH_HEX]);
/* The same for a text whose hash the caller has. */
void store_blob_as(struct store *s, struct str text, const char *hash);
int store_read_blob(struct store *s, const char *hash, struct buf *out,
                    struct err *e);

/* ---- rows; strings may be NULL where a column may be empty ---- */

/* Facts of the run: "secret", "seed", "method", … A name is set once. */
void store_set(struct store *s, const char *name, const char *value);

struct row_task {
    int64_t ord; /* place in the run's order, from 0: the key */
    const char *id, *hash /* normalised */, *source /* blob */;
    const char *path, *ops /* one a line */;
    const char *skipped; /* why the gate refused it; NULL: it takes part */
};
void store_task(struct store *s, const struct row_task *r);

/* A call to a model. Written when its reservation is made (`state` "open"),
 * again when that grows, and when it ends. Key: purpose, asked, try. The last
 * one counts, but an answered call never changes again. */
struct row_call {
    const char *purpose; /* "plan", "code", "evolve", "review", "embed", … */
    const char *asked;   /* hash of what is asked */
    int64_t try;         /* from 1: how often it was asked */
    int64_t task, attempt; /* whose it is; -1 and 0: no task's */
    const char *state;     /* "open", "answered", "failed", "lost" */
    const char *prompt /* blob: the messages */, *prompt_hash;
    const char *reply /* blob */, *thought /* blob */;
    const char *finish, *model, *error;
    int64_t input, cached, output, reasoning;
    bool estimated;
    int64_t reserved_usd_micro, reserved_tokens;
    int64_t cost_usd_micro, cost_tokens;
    int64_t assumed_usd_micro; /* of the cost: what nobody metered */
    int64_t requests, wall_us, asked_at, answered_at;
};
void store_call(struct store *s, const struct row_call *r);

/* An attempt: what was decided before the model was asked, and what it gave. */
struct row_attempt {
    int64_t task, attempt; /* the key; attempts from 1 */
    const char *method;
    int64_t iteration, batch, archive_version;
    const char *retrieval; /* "similar", "random", "coverage", "seeds" */
    int64_t parent;        /* attempt this one started from; 0: none */
    int64_t island;        /* -1: none */
    const char *plan /* blob */, *code /* blob */, *code_hash /* normalised */;
    const char *stage; /* reached: see verdicts */
    const char *verdict;
    const char *rule; /* of a hack or a static rejection */
    double fitness;
    int64_t same_as; /* earlier attempt with the same code; 0: none */
    bool solved;
};
void store_attempt(struct store *s, const struct row_attempt *r);

/* An example that an attempt was shown; key: task, attempt, rank. */
struct row_shown {
    int64_t task, attempt, rank; /* from 1 */
    int64_t entry;
    double cosine; /* rounded to 6 digits; -2: not compared */
};
void store_shown(struct store *s, const struct row_shown *r);

/* A verifier's record: JSON as `verify --json` prints it, without times; these
 * go to their own table. Key: task, attempt. */
struct row_verdict {
    int64_t task, attempt;
    const char *verdict, *stage, *evidence;
    bool compiled, kernelbench_pass;
    double max_abs, max_rel, error_ratio; /* NaN: not measured */
    const char *feedback /* blob */, *record /* blob */, *times /* JSON */;
    int64_t wall_us, judged_at;
};
void store_verdict(struct store *s, const struct row_verdict *r);

/* A member of the archive. Key: entry, from 1 in the order they joined. */
struct row_entry {
    int64_t entry, version; /* the archive's version once it was in */
    const char *origin;     /* "seed", "archive", "run" */
    int64_t task, attempt;  /* -1, 0 for one that came from outside */
    const char *name;       /* the task's id, or the seed's name */
    const char *task_hash, *problem /* blob */, *plan /* blob or NULL */;
    const char *solution /* blob */, *evidence;
    const char *ported; /* blob: a ModelNew made from its trace; or NULL */
};
void store_entry(struct store *s, const struct row_entry *r);
/* An entry that a reviewer refused leaves the archive from `version` on. */
void store_entry_leaves(struct store *s, int64_t entry, int64_t version,
                        const char *why);

/* What a reviewer said, by what it read. Key: hash. */
struct row_review {
    const char *hash; /* of the reviewer's model and prompt */
    double score;
    const char *reply; /* blob */
};
void store_review(struct store *s, const struct row_review *r);

/* An embedding, so that no text is paid for twice. Key: source, hash. */
struct row_vector {
    const char *source; /* "hash/1", or the endpoint's model */
    const char *hash;   /* of the text */
    const float *v;
    size_t dim;
};
void store_vector(struct store *s, const struct row_vector *r);

/* What happened, for people: "infra", "paused", "budget", "duplicate", … */
void store_event(struct store *s, const char *kind, int64_t task,
                 int64_t attempt, const char *text);

/* ---- reading: rows in the order of their keys; the callback's strings are
 * gone when it returns; other than 0 from it ends the reading and is
 * returned ---- */
int store_get(struct store *s, const char *name, struct buf *out,
              struct err *e); /* 1 when there, 0 when not */
int store_each_task(struct store *s, int (*fn)(const struct row_task *, void *),
                    void *arg, struct err *e);
int store_each_call(struct store *s, int (*fn)(const struct row_call *, void *),
                    void *arg, struct err *e);
int store_each_attempt(struct store *s,
                       int (*fn)(const struct row_attempt *, void *), void *arg,
                       struct err *e);
int store_each_shown(struct store *s,
                     int (*fn)(const struct row_shown *, void *), void *arg,
                     struct err *e);
int store_each_verdict(struct store *s,
                       int (*fn)(const struct row_verdict *, void *), void *arg,
                       struct err *e);
/* `left` is the version from which it is out, 0 while it is in. */
int store_each_entry(struct store *s,
                     int (*fn)(const struct row_entry *, int64_t left, void *),
                     void *arg, struct err *e);
int store_each_review(struct store *s,
                      int (*fn)(const struct row_review *, void *), void *arg,
                      struct err *e);
int store_each_vector(struct store *s, const char *source,
                      int (*fn)(const struct row_vector *, void *), void *arg,
                      struct err *e);
int store_each_event(struct store *s,
                     int (*fn)(const char *kind, int64_t task, int64_t attempt,
                               const char *text, int64_t at, void *),
                     void *arg, struct err *e);

#endif
