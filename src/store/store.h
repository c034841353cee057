/* store.h: the database of a run: SQLite, append-only.
 *
 * Writing does not wait for the disk, unless 64 MiB are queued: each function below
 * copies its row, and a thread of the store writes the rows in order, many per
 * transaction, within 0.2 s. Use store_after() to wait until rows are durable. It
 * also reports a write that failed (a full disk); after a failure nothing more is
 * written, so the file holds all rows up to some point and none after it.
 *
 * A row whose key is already stored must be identical, apart from times, and is
 * then ignored. A different one is a caller's mistake, reported as a failed write.
 *
 * Reading happens in the caller's thread and sees what is durable. To read what was
 * just written, wait for it first.
 *
 * Rows have natural keys, and no times except in columns named `*_at` (micro-
 * seconds since 1970) and `wall_*`: two runs with the same replies and verdicts
 * differ in nothing else. docs/STORAGE.md describes every table. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

enum store_mode {
    STORE_NEW,  /* the file must not exist */
    STORE_OPEN, /* it must exist; an older schema is migrated after a copy */
    STORE_READ, /* it must exist; read-only */
};

/* `l` may be NULL when store_after() is not used. A newer schema, another kind
 * of file, a folder that cannot be written: ERR_INPUT with the remedy. */
struct store *store_open(const char *path, enum store_mode mode, struct loop *l,
                         struct err *e);
/* Writes what is queued; the error is the first one that happened. Callbacks of
 * store_after() that have not run by then do not run. Not from such a callback. */
int store_close(struct store *s, struct err *e);

/* Calls back from the loop, in order, when every row given so far is on disk (`e`
 * is NULL) or could not be written. */
typedef void store_fn(const struct err *e, void *arg);
void store_after(struct store *s, store_fn *fn, void *arg);
/* The same for a coroutine, which waits. -1 also when it was cancelled. */
int store_wait(struct store *s, struct err *e);
/* The same, but nothing else happens meanwhile. */
int store_sync(struct store *s, struct err *e);

/* ---- blobs: texts by their SHA-256, compressed, each stored once ---- */
void store_blob(struct store *s, struct str text, char hash[HASH_HEX]);
/* The same when the caller already knows the hash. */
void store_blob_as(struct store *s, struct str text, const char *hash);
int store_read_blob(struct store *s, const char *hash, struct buf *out,
                    struct err *e);

/* The same, copied to `a`. Without a hash (NULL or "") `out` stays as it is. */
int store_text(struct store *s, const char *hash, struct arena *a,
               struct str *out, struct err *e);
/* A verdict's record, with its times (JSON; NULL or "": none) back in it. The caller
 * owns the reference. */
json_t *store_record(struct store *s, const char *hash, const char *times,
                     struct err *e);

/* ---- rows; strings may be NULL where a column may be empty ---- */

/* Settings of the run: "secret", "seed", "method", … Each is set once. */
void store_set(struct store *s, const char *name, const char *value);

struct row_task {
    int64_t ord; /* place in the run's order, from 0: the key */
    const char *id, *hash /* normalised */, *source /* blob */;
    const char *path, *ops /* one a line */;
    const char *skipped; /* why it is not attempted; NULL: it is */
    /* A piece of other tasks; all NULL for a task that is none. */
    const char *kind, *level, *title;
    const char *needs, *parents; /* ids of pieces, of tasks; one a line */
    int64_t depth; /* 0: needs no piece; else 1 + the largest of those */
};
void store_task(struct store *s, const struct row_task *r);

/* A call to a model: one asking of a question, which purpose and asked identify.
 * Written when money is reserved for it (`state` "open"), when the reservation
 * grows, and when it ends. Key: purpose, asked, try. The last row counts, but an
 * answered call never changes. */
struct row_call {
    const char *purpose; /* "plan", "code", "evolve", "review", "embed", … */
    const char *asked;   /* hash of what is asked */
    int64_t try;         /* from 1: which asking of the question it is */
    int64_t task, attempt; /* what it is for; -1 and 0: no task */
    const char *state;     /* "open", "answered", "failed", "lost" */
    const char *prompt /* blob: the messages */, *prompt_hash;
    const char *reply /* blob */, *thought /* blob */;
    const char *finish, *model, *error;
    int64_t input, cached, output, reasoning;
    bool estimated;
    int64_t reserved_usd_micro, reserved_tokens;
    int64_t cost_usd_micro, cost_tokens;
    int64_t assumed_usd_micro; /* of the cost: what nobody metered */
    int64_t requests; /* sent by the process that ended it; open, lost: 0 */
    int64_t wall_us, asked_at, answered_at;
};
void store_call(struct store *s, const struct row_call *r);

/* An attempt: what was decided before the call, and the result. */
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
    double cosine;      /* rounded to 6 digits; -2: not compared */
    const char *reason; /* "piece": a piece of the task itself, in the place
                           reserved for it; NULL: it was retrieved */
};
void store_shown(struct store *s, const struct row_shown *r);

/* A verdict: the record that `verify --json` prints, without times, which go to a
 * table of their own. Key: task, attempt. */
struct row_verdict {
    int64_t task, attempt;
    const char *verdict, *stage, *evidence;
    bool compiled, kernelbench_pass;
    double max_abs, max_rel, error_ratio; /* NaN: not measured */
    const char *feedback /* blob */, *record /* blob */, *times /* JSON */;
    int64_t wall_us, judged_at;
};
void store_verdict(struct store *s, const struct row_verdict *r);

/* An entry of the archive. Key: entry, from 1 in the order they joined. */
struct row_entry {
    int64_t entry, version; /* the archive's version after it joined */
    const char *origin;     /* "seed", "archive", "run", "shared" */
    int64_t task, attempt;  /* -1 and 0 when it came from outside */
    const char *name;       /* the task's id, or the seed's name */
    const char *task_hash, *problem /* blob */, *plan /* blob or NULL */;
    const char *solution /* blob */, *evidence;
    const char *ported; /* blob: a ModelNew made from its trace; or NULL */
    int64_t withdrawn;  /* read only: the version at which it left the archive;
                           0: it has not */
};
void store_entry(struct store *s, const struct row_entry *r);
/* An entry that a reviewer refused is not part of the archive from `version` on. */
void store_entry_leaves(struct store *s, int64_t entry, int64_t version,
                        const char *why);

/* A review. Key: hash. */
struct row_review {
    const char *hash; /* of the reviewer's model and prompt */
    double score;
    const char *reply; /* blob */
};
void store_review(struct store *s, const struct row_review *r);

/* An embedding, stored so that it is paid for once. Key: source, hash. */
struct row_vector {
    const char *source; /* "hash/1", or the endpoint's model */
    const char *hash;   /* of the text */
    const float *v;
    size_t dim;
};
void store_vector(struct store *s, const struct row_vector *r);

/* A kernel that was verified again after it had been found correct. Key: pass,
 * problem, solution; the row of the last pass counts. */
struct row_recheck {
    int64_t pass; /* from 1 */
    const char *problem /* blob */, *solution /* blob */;
    const char *under; /* pack, device and the like: see run/recheck.h */
    const char *verdict, *evidence;
    const char *why; /* the first line of the error, or NULL */
    int64_t judged_at;
    int64_t rules; /* of truth: see verify/verdict.h */
};
void store_recheck(struct store *s, const struct row_recheck *r);

/* A look at the shared archive (run --archive postgres://…). Key: look. */
struct row_look {
    int64_t look;           /* from 1 */
    int64_t round;          /* before which it happened, or, in eager order, in
                               which; 0: before the search */
    int64_t shared_version; /* of the shared archive, as far as the run has
                               read it */
    int64_t version;        /* of the run's archive from then on */
};
void store_look(struct store *s, const struct row_look *r);

/* An event for people to read: "begun", "ended", "call", "infra", "aside",
 * "review", "shared". */
struct row_event {
    int64_t seq; /* from 1 */
    const char *kind;
    int64_t task, attempt; /* -1, 0: of no task */
    const char *text;
    int64_t at;
};
void store_event(struct store *s, const char *kind, int64_t task,
                 int64_t attempt, const char *text);

/* ---- reading: rows in key order; strings are valid until the callback returns;
 * a result other than 0 from it ends the reading and is returned ---- */
int store_get(struct store *s, const char *name, struct buf *out,
              struct err *e); /* 1 when there, 0 when not */

enum store_what {
    STORE_TASKS, /* struct row_task */
    STORE_CALLS, /* … */
    STORE_ATTEMPTS,
    STORE_SHOWN,
    STORE_VERDICTS,
    STORE_ENTRIES,
    STORE_RECHECKS,
    STORE_LOOKS,
    STORE_EVENTS,
    STORE_CHANGES,
    STORE_REVIEWS,
    STORE_VECTORS,
    STORE_WHATS
};
typedef int store_row_fn(const void *row, void *arg);
int store_each(struct store *s, enum store_what what, store_row_fn *fn,
               void *arg, struct err *e);

/* The rows of a table as a list, which is appended to; not of vectors. */
struct store_list {
    void *row; /* the caller frees it */
    size_t len, cap;
    size_t size; /* of an element, which begins with the row: the rest is
                    zeroed; 0: of the row alone */
};
#define STORE_ALL INT64_MIN
/* All rows, or those of one task or entry, which reads no others; of events and
 * changes, those after this number. Texts are copied to `a`; a text that equals the one
 * in the row before shares its memory. */
int store_list(struct store *s, enum store_what what, int64_t of,
               struct store_list *l, struct arena *a, struct err *e);

/* The connection that reads, for queries of the caller's own; it stays the store's. */
struct sqlite3 *store_reader(const struct store *s);

/* ---- following a run that somebody else writes ---- */

/* A number that changes when another connection has committed: compare it with
 * that of the last look. Costs microseconds. */
int store_data_version(struct store *s, int64_t *out, struct err *e);
/* True when the file's name now belongs to another file. */
bool store_is_replaced(const struct store *s);
/* What is read between the two is of one moment. */
int store_hold(struct store *s, struct err *e);
void store_let_go(struct store *s);
/* What was stored after row `seq` of the log, in order: the table, and the task,
 * entry or pass that the row belongs to. Rows of `shown` and `verdict` come with
 * the attempt that is stored after them. */
struct row_change {
    int64_t seq;
    const char *name;
    int64_t number;
};
int store_last_change(struct store *s, int64_t *seq, struct err *e);
/* True for a file that an older program wrote: it has no such log, or has had it
 * only since the store was opened. */
bool store_has_no_log(const struct store *s);

/* ---- for tests ---- */

/* The connection that writes, and the bytes that wait for it. */
struct sqlite3 *store_writing(const struct store *s);
size_t store_queued(struct store *s);
/* Before the first row: the process ends instead of doing the N-th
 * operation of the writer (a row, a commit, a callback). */
void store_fault_set(struct store *s, int64_t n);

#endif
