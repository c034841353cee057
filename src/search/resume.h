/* resume.h: what the store of a run holds when the search begins: the tasks,
 * from which src/run has taken its own; finished attempts; a verdict whose
 * attempt a crash has cut off (attempt.h); the archive's entries. Calls and
 * their replies belong to the ledger. */
#ifndef SEARCH_RESUME_H
#define SEARCH_RESUME_H

#include "search/state.h"

/* Reads all of it. If tasks are missing in the store and no call was made for a
 * task, the run had not begun: they are written. After a call it is an error.
 * Entries that have left join again, since decisions of the run saw them; the
 * review at the end, repeated from its stored replies, removes them. In eager
 * order, stored entries join s->archive here, in the same order as before; in
 * strict order, they join at the barriers. */
struct resume *resume_load(struct search *s, struct err *e);
void resume_free(struct resume *r); /* may be NULL */

/* NULL: the store has no such attempt of the task, or no such verdict. */
const struct finished *resume_finished(const struct resume *r,
                                       const struct task_state *t,
                                       size_t number);
const struct row_verdict *
resume_verdict(const struct resume *r, const struct task_state *t, int number);

/* Strict order: the next stored entry of the run's own or of the shared archive that has
 * not joined again; NULL: all have. */
const struct row_entry *resume_entry(const struct resume *r);
void resume_entry_joined(struct resume *r);
bool resume_is_shared(const struct row_entry *x);
/* A shared entry joined before this round; 0: no attempt has seen it. */
int64_t resume_round(const struct resume *r, const struct row_entry *x);
/* Whether the shared archive was looked at before this round. */
bool resume_looked(const struct resume *r, int64_t round);
/* An entry of the shared archive joins again, with the texts of the store. */
int resume_join_shared(struct search *s, const struct row_entry *k,
                       struct err *e);
/* The newest version of the archive that a stored attempt has seen. */
int64_t resume_seen_version(const struct resume *r);

#endif
