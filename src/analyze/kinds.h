/* kinds.h: the functions behind the list of tables. Private to src/analyze. */
#ifndef ANALYZE_KINDS_H
#define ANALYZE_KINDS_H

#include "analyze/analyze.h"

#define KIND_DECLARE(name, what) \
    int kind_##name(struct analysis *a, struct table *t, struct err *e);
ANALYZE_KINDS(KIND_DECLARE)

/* The first columns of a table with a row per run: run, language, model and
 * method. */
void kind_run_columns(struct table *t);
void kind_run_cells(struct table *t, const struct analyze_run *r);

#endif
