/* report.h: runs as one file that opens from disk, or as Markdown. */
#ifndef WEB_REPORT_H
#define WEB_REPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "run/view.h"

#include <stddef.h>

/* The details of attempts take at most this much of a report: the best attempt
 * of each task first, then the others. The page says what was left out. */
#define REPORT_DETAILS ((size_t)10 << 20)

/* Appends the document. -1: a stored text is missing or damaged. */
int report_html(struct run_view *const *runs, size_t n, struct buf *out,
                struct err *e);
/* The same as Markdown, for a pull request: what happened, the curve as a table,
 * why tasks are unsolved. What models wrote cannot become markup. */
int report_md(struct run_view *const *runs, size_t n, struct buf *out,
              struct err *e);

#endif
