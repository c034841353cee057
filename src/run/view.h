/* view.h: a run opened for reading, also while it is running: every task, each
 * attempt with its calls, examples and verdict, each entry of the archive. What follows
 * a run or counts all of it uses it: the page, reports, the summary. What shows or copies
 * a part of a run asks queries (query.h): `show`, `analyze`, exports.
 *
 * Rows are read when the view is opened and when it is refreshed. Texts
 * (prompts, replies, code, records) stay in the store until you ask for one by
 * its hash, which the row has. Everything in a view is borrowed from it. */
#ifndef RUN_VIEW_H
#define RUN_VIEW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A finished attempt. */
struct run_attempt {
    struct row_attempt row;
    struct row_verdict *verdict; /* stored before the attempt; NULL only in a
                                    damaged run */
    struct row_call *call;       /* in the order of asking */
    size_t calls;
    struct row_shown *shown; /* by rank */
    size_t shown_len;
    const char *error, *kind, *doubt; /* private: what was asked for */
};

struct run_task {
    struct row_task row;
    struct run_attempt *attempt; /* in their order */
    size_t attempts;
    struct row_call *call; /* all calls for the task, also those of the attempt
                              under way; by attempt and time */
    size_t calls;
    int64_t version;      /* of the view when a row of the task was last read */
    struct run_rows *own; /* private */
};

/* The rows of all tasks, or of one that was read again. */
struct run_rows {
    struct store_list attempt, verdict, shown, call;
    struct arena memory;
};

/* What a run does, or how it ended. */
enum run_state {
    RUN_RUNNING,
    RUN_FINISHED, /* every task is solved or has used its attempts */
    RUN_WAITING,  /* others must answer first; see SEARCH_WAITING */
    RUN_NO_BUDGET,
    RUN_STOPPED,
    RUN_STUCK,   /* provider or verifier failed tasks; see SEARCH_STUCK */
    RUN_FAILED,  /* an error ended it, such as a store that cannot be written */
    RUN_KILLED,  /* the process ended without storing how */
    RUN_UNKNOWN, /* not stored, by an older version of the program */
    RUN_STATES,
};
extern const char *const run_states[RUN_STATES];

struct run_view {
    const char *dir;
    enum run_state state;
    long pid;                /* while it runs, else 0 */
    struct run_task *task;   /* in the run's order: task[row.ord] */
    size_t tasks;            /* without pieces */
    size_t all;              /* the tasks, then the pieces of a curriculum */
    struct row_entry *entry; /* entry[number - 1] */
    size_t entries;
    struct row_event *event;
    size_t events;
    struct row_call *call; /* those that belong to no task */
    size_t calls;
    int64_t version; /* 1 when it is opened; grows when a refresh finds news */
    /* private */
    int64_t seen, data_version; /* what of the store was read */
    int64_t workers_at; /* the time of the workers' file that was read */
    struct store_list list[STORE_WHATS]; /* of the run as a whole */
    struct run_rows rows, *loose; /* loose: calls that belong to no task */
    struct store *store;
    bool owns_store;
    struct map facts, errors, kinds; /* that were asked for */
    struct arena memory;
};

/* ERR_INPUT when `dir` holds no run. */
int run_view_open(const char *dir, struct run_view *v, struct err *e);
/* The same with an open store, which the caller keeps. Shows only what is on
 * disk: call store_sync() first to see everything. */
int run_view_read(struct store *s, const char *dir, struct run_view *v,
                  struct err *e);
void run_view_close(struct run_view *v);
/* Reads what was stored since, for a page that follows the run: 1 when there
 * was something, 0 when not, which takes microseconds. The cost of the former
 * is that of the new rows, and a few milliseconds for 10,000 tasks. What was
 * borrowed from the view before is void. A folder that was removed and made
 * again is read as a whole. -1: the view is closed. */
int run_view_refresh(struct run_view *v, struct err *e);
/* Makes it version `version` of a run that was read before: all tasks
 * changed. */
void run_view_renumber(struct run_view *v, int64_t version);

/* Facts of the run: "method", "dsl", "model", "precision", "device", "seed", …
 * "" when it is not known. */
const char *run_view_fact(struct run_view *v, const char *name);
/* The task or piece of this id, its attempt of this number; NULL: there is
 * none. */
struct run_task *run_view_task(struct run_view *v, const char *id);
struct run_attempt *run_view_attempt(struct run_task *t, int64_t number);
/* All calls: list 0 has those that belong to no task, list 1 + i those of task i. */
struct row_call *run_view_calls(const struct run_view *v, size_t list,
                                size_t *n);
/* The entry of this number; NULL: there is none. */
const struct row_entry *run_view_entry(const struct run_view *v,
                                       int64_t number);
/* The attempt that stands for a task: of those that solved it the one with the
 * highest fitness (of equals the first), else the last; NULL: none is
 * finished. */
struct run_attempt *run_task_best(const struct run_task *t);

/* The verifier's record of an attempt, as `verify --json` prints it (trials,
 * trace, …), times included; NULL with an error, or (without one) when there is
 * none. The caller owns the reference. */
json_t *run_view_record(struct run_view *v, const struct run_attempt *a,
                        struct err *e);
/* The first line of the error in that record that says something, kept for the
 * next time; "" when there is none; NULL with an error. */
const char *run_view_error(struct run_view *v, struct run_attempt *a,
                           struct err *e);
/* Its verdict and the kind of that error (verdict_error_kind()), as one and the
 * same pointer for all attempts that failed alike; kept, too. */
const char *run_view_failure(struct run_view *v, struct run_attempt *a,
                             struct err *e);
/* Why the time of a kernel is hard to believe ("" when it is not, or was not
 * measured), kept; NULL with an error. See verify/verdict.h. */
const char *run_view_doubt(struct run_view *v, struct run_attempt *a,
                           struct err *e);
/* The workers that connected to the run, as docs/PAGE.md says: {"at",
 * "workers"}; those of a run that has ended have left. The caller owns the
 * reference; NULL without an error: there were none. */
json_t *run_view_workers(const struct run_view *v, struct err *e);
/* When that was last written; 0: never. */
int64_t run_view_workers_at(const char *dir);

#endif
