/* archive.h: the solved kernels that prompts draw their examples from. Members
 * are numbered in the order they joined; the archive's version counts how often
 * it changed. */
#ifndef SEARCH_ARCHIVE_H
#define SEARCH_ARCHIVE_H

#include "find/find.h"
#include "prompt/prompt.h"
#include "search/search.h"

struct archive;

struct archive *archive_new(size_t dim);
void archive_free(struct archive *a);

/* Copies the example; returns its number. `version` is the archive's from now
 * on. */
int64_t archive_join(struct archive *a, const struct search_example *x,
                     int64_t version);
void archive_leave(struct archive *a, int64_t entry, int64_t version);
int64_t archive_version(const struct archive *a);
size_t archive_size(const struct archive *a);
const struct find *archive_index(const struct archive *a);

/* The texts of a member, borrowed. */
struct prompt_example archive_example(const struct archive *a, int64_t entry);
/* The first `k` members with origin "seed" that are not the task's twins. */
size_t archive_seeds(const struct archive *a, const struct task *t,
                     struct find_hit *hit, size_t k);

/* The ModelNew that the judge made from the trace of a correct kernel, by the
 * blob of the verdict's record: in `text`, or in `why` the reason that there is
 * none. Both stay empty where the record says nothing. */
int archive_ported(struct store *s, const char *record, struct buf *text,
                   struct buf *why, struct err *e);

#endif
