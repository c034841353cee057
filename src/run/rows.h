/* rows.h: how the rows of a run come into a view: from its store one by one, kept in
 * the view's memory, then joined. For those that fill a view (view.c: all or one task;
 * view_follow.c: what is new); others read view.h. */
#ifndef RUN_ROWS_H
#define RUN_ROWS_H

#include "run/view.h"

enum { RUN_ROWS_WORDS = 32 };

/* A reading: lists of `v` that still grow. */
struct run_rows {
    struct run_view *v;
    size_t task_cap, entry_cap, event_cap, call_cap;
    size_t attempt_cap, verdict_cap, shown_cap, recheck_cap;
    /* What the view has already of the task that is read again. */
    const struct run_attempt *known;
    size_t knowns;
    struct map *known_calls; /* the key to the index; NULL: none */
    bool disordered;         /* a call that it has was asked at another time */
    const char *word[RUN_ROWS_WORDS]; /* that were met last */
    size_t words;
};

/* For the store_each_… functions; `arg` is a struct run_rows. Of a task that is read
 * again, attempts that the view has are left out, and calls are replaced. */
int run_rows_task(const struct row_task *r, void *arg);
int run_rows_call(const struct row_call *r, void *arg);
int run_rows_attempt(const struct row_attempt *r, void *arg);
int run_rows_verdict(const struct row_verdict *r, void *arg);
int run_rows_shown(const struct row_shown *r, void *arg);
int run_rows_entry(const struct row_entry *r, int64_t left, void *arg);
int run_rows_recheck(const struct row_recheck *r, void *arg);
int run_rows_event(const char *kind, int64_t task, int64_t attempt,
                   const char *text, int64_t at, void *arg);

/* What a call is known by among those of its task. */
void run_rows_call_key(struct buf *b, const struct row_call *r);
/* The order of calls, for qsort: by task, attempt, time and try. */
int run_rows_call_order(const void *a, const void *b);
/* Sorts the calls from this one on. */
void run_rows_sort_calls(struct run_view *v, size_t from);
/* Joins rows that are in order: tasks with attempts, attempts with what is theirs. */
int run_rows_join(struct run_view *v, struct err *e);
/* What the run does, or how it ended, by its lock and its events. */
enum run_state run_rows_state(const struct run_view *v);

#endif
