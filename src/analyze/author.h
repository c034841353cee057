/* author.h: what runs tell the author of a language: what goes wrong, which
 * primitives nobody finds, which hints help, which names models make up. */
#ifndef ANALYZE_AUTHOR_H
#define ANALYZE_AUTHOR_H

#include "analyze/analysis.h"

/* Appends the report, as Markdown. */
int author_report(struct analysis *a, struct buf *out, struct err *e);

#endif
