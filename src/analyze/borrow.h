/* borrow.h: asks a model how much of a kernel comes from the examples that its
 * attempt was shown (appendix N.1).
 *
 * A question is known by its prompt, so an answer that is stored is never paid
 * for again, whichever runs it is asked for. An answer that cannot be read is
 * asked for once more. */
#ifndef ANALYZE_BORROW_H
#define ANALYZE_BORROW_H

#include "analyze/analysis.h"
#include "llm/modeling.h"

struct borrow_values {
    struct modeling_values model;
    const char *store;       /* the folder of the answers */
    struct opt_list attempt; /* look at attempts with these numbers */
};

/* Fills the table `borrowing`: by run, number of the attempt, and outcome. `home` is
 * the folder that has prompts/. */
int borrow_fill(const struct borrow_values *v, struct analysis *a,
                const char *home, struct table *t, struct err *e);

#endif
