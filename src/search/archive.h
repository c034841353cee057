/* archive.h: the kernels that prompts take their examples from: seeds, imported
 * kernels, and for each task of the run the first that is correct at E3.
 * Entries are numbered from 1 in the order they joined, and keep their numbers
 * when others leave. The version of the archive grows when entries join or
 * leave; entries that join at the same barrier share one.
 *
 * An entry is withdrawn when the reviewer refuses it at the end of the run. It is
 * retired when it was found broken on being verified again (run/recheck.h).
 * Neither is shown any more.
 *
 * Two tasks are twins if they have the same hash: their sources are the same
 * apart from comments, docstrings and white space. A task is never shown an
 * entry for its twin. */
#ifndef SEARCH_ARCHIVE_H
#define SEARCH_ARCHIVE_H

#include "prompt/prompt.h"
#include "search/find.h"
#include "search/search.h"

struct archive;

struct archive *archive_new(size_t dim);
void archive_free(struct archive *a);

/* Copies the example and returns its number. Sets the archive's version. */
int64_t archive_join(struct archive *a, const struct search_example *x,
                     int64_t version);
/* The entry is withdrawn. Sets the archive's version. */
void archive_withdraw(struct archive *a, int64_t entry, int64_t version);
/* Notes whether a kernel is retired, in the order of the passes: the last one
 * counts. `problem` and `solution` are hashes of its texts as they are. After
 * all of them were noted, archive_hide_retired() hides the retired ones, and
 * those that join later are hidden, too. This does not change the version. */
void archive_rechecked(struct archive *a, const char *problem,
                       const char *solution, bool retired);
void archive_hide_retired(struct archive *a);
int64_t archive_version(const struct archive *a);
/* The version it had when its `size`-th entry joined; 0: before the first. */
int64_t archive_version_at(const struct archive *a, size_t size);
/* How many entries have joined, including those that were withdrawn. */
size_t archive_size(const struct archive *a);
const struct find *archive_index(const struct archive *a);

/* Whether an entry solves a task with this hash; also one that was withdrawn. */
bool archive_has(const struct archive *a, const char *task_hash);
bool archive_is_retired(const struct archive *a, int64_t entry);
/* Whether two entries are for the same task or for twins. */
bool archive_are_twins(const struct archive *a, int64_t x, int64_t y);
/* The texts of an entry, borrowed. */
struct prompt_example archive_example(const struct archive *a, int64_t entry);
/* The first `k` entries with origin "seed" that are neither retired nor twins
 * of the task. */
size_t archive_seeds(const struct archive *a, const struct task *t,
                     struct find_hit *hit, size_t k);

/* The ported program of a correct kernel: a ModelNew that the judge writes
 * from the trace, so it has what was verified and nothing else. Prompts show
 * the model's own code; this one is stored and exported beside it. `record` is
 * the blob of the verdict's record. `text`, or `why` with the reason that there is no
 * such program, is empty; both are if the record says nothing. */
struct archive_ported {
    struct str text;
    const char *why;
};
int archive_ported(struct store *s, const char *record, struct arena *a,
                   struct archive_ported *out, struct err *e);

#endif
