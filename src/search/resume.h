/* resume.h: what the store of a run holds when the search begins: tasks that
 * must be the same, finished attempts, verdicts without an attempt, members of
 * the archive. Calls and their replies are the ledger's. */
#ifndef SEARCH_RESUME_H
#define SEARCH_RESUME_H

#include "search/search_int.h"

/* A stored verdict whose attempt is missing. */
struct kept_verdict {
    char record[HASH_HEX];
    char times[]; /* JSON, or "" */
};

/* A member that the run added to the archive before. */
struct kept_entry {
    size_t subject;
    int64_t version;
};

/* Reads all of it. If the store does not have all tasks, the run is new, and
 * they are written. In eager order, members join s->archive here, in the order
 * in which they joined before; in strict order, they join at the barriers. */
struct resume *resume_load(struct search *s, struct err *e);
void resume_free(struct resume *r); /* may be NULL */

/* NULL: the store has no such attempt of the task, or no such verdict. */
const struct past *resume_past(const struct resume *r, const struct subject *t,
                               size_t number);
const struct kept_verdict *resume_verdict(const struct resume *r,
                                          const struct subject *t, int number);

/* Strict order: the next stored member that is to join; NULL: all have. */
const struct kept_entry *resume_entry(const struct resume *r);
void resume_entry_joined(struct resume *r);
/* The newest version of the archive that a stored attempt has seen. */
int64_t resume_seen_version(const struct resume *r);

#endif
