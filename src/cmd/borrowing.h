/* borrowing.h: asking a model about borrowing, for `monkeys analyze`. */
#ifndef CMD_BORROWING_H
#define CMD_BORROWING_H

#include "analyze/borrow.h"
#include "llm/modeling.h"

struct borrowing_values {
    struct modeling_values model;
    const char *store; /* the folder of the answers */
    struct opt_list attempt;
};

/* Asks about the runs; the answers go to `t`. */
int borrowing_ask(const struct borrowing_values *v, struct analysis *a,
                  struct table *t, struct err *e);

#endif
