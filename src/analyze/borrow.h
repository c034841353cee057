/* borrow.h: asks a model how much of a kernel comes from the examples that its
 * attempt was shown (appendix N.1).
 *
 * Its prompt identifies a question, so a stored answer is never paid for again,
 * even for other runs. An answer that cannot be read is requested once more. */
#ifndef ANALYZE_BORROW_H
#define ANALYZE_BORROW_H

#include "analyze/analysis.h"
#include "llm/modeling.h"

struct borrow_values {
    struct modeling_values model;
    const char *store;       /* the folder of the answers */
    struct opt_list attempt; /* look at attempts with these numbers */
};

/* Gives the answers to the table `borrowing`. `home` is the folder that has prompts/. */
int borrow_ask_about_runs(const struct borrow_values *v, struct analysis *a,
                          const char *home, struct err *e);

#endif
