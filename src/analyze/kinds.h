/* kinds.h: the functions behind the list of tables, where they are made in C. Private to src/analyze. */
#ifndef ANALYZE_KINDS_H
#define ANALYZE_KINDS_H

#include "analyze/analyze.h"

#define KIND_BY_SQL(name, what)
#define KIND_DECLARE(name, what) \
    int kind_##name(struct analysis *a, struct table *t, struct err *e);
ANALYZE_KINDS(KIND_BY_SQL, KIND_DECLARE)

#endif
