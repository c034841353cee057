/* summary.h: where a run stands, read from its store alone. */
#ifndef RUN_SUMMARY_H
#define RUN_SUMMARY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "find/outcome.h"
#include "store/store.h"
#include "verify/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct summary_task {
    const char *id, *skipped; /* NULL: it takes part */
    const char *aside;        /* why it was set aside at last, or NULL */
    int64_t attempts, solved_at;
    const char *verdict;  /* of the attempt that solved it, else the last */
    const char *rule;     /* of that attempt, or NULL */
    const char *evidence; /* likewise */
    const char **shown;   /* names of its examples */
    size_t shown_len, shown_cap;
    bool doubted; /* a reviewer refused the kernel */
};

/* A member of the archive, and what became of attempts that it was shown to. */
struct summary_entry {
    const char *name, *origin;
    int64_t version, left;         /* left: from which it is out; 0: it is in */
    struct outcome_count count[3]; /* by enum prompt_stage */
};

struct summary {
    struct summary_task *task;
    struct summary_entry *entry;
    size_t tasks, skipped, solved, doubted, aside;
    int64_t attempts, calls, answered, lost, failed, duplicates, infra;
    int64_t usd_micro, tokens_in, tokens_out, reserved_usd_micro;
    bool estimated; /* some usage was not told by the provider */
    int64_t entries, seeds;
    int64_t verdict[VERDICTS]; /* how many attempts ended so */
    int64_t first_at, last_at;
    struct arena memory;
};

int summary_read(struct store *s, struct summary *out, struct err *e);
void summary_release(struct summary *m);

/* One line; a table with a line for each task. */
void summary_line(const struct summary *m, struct buf *out);
void summary_table(const struct summary *m, struct buf *out);
/* A line for each member of the archive: how often it was shown, and how often
 * the attempt then succeeded. */
void summary_examples(const struct summary *m, struct buf *out);

#endif
