/* views.h: what the page and the report show, as JSON: one function per view.
 * docs/PAGE.md describes the objects. `monkeys serve` answers a request with one
 * of them, `monkeys report` puts them all into a file.
 *
 * Runs keep their places: number N of a view is runs[N]. What a model wrote is
 * text like any other here: long lines are cut, nothing else is changed, so a
 * reader treats it as untrusted.
 *
 * Each function returns a new reference, or NULL with an error: a stored text
 * that is missing or damaged. */
#ifndef ANALYZE_VIEWS_H
#define ANALYZE_VIEWS_H

#include "base/err.h"
#include "base/json.h"
#include "run/view.h"

#include <stddef.h>
#include <stdint.h>

/* How the runs went: counts, curves, verdicts by round, why tasks failed. */
json_t *views_overview(struct run_view *const *runs, size_t n, struct err *e);
/* Tasks x attempts: a short array per task. */
json_t *views_grid(struct run_view *const *runs, size_t n, struct err *e);
/* Only the tasks that changed after these versions of the runs, with their
 * places. */
json_t *views_grid_since(struct run_view *const *runs, size_t n,
                         const int64_t *since);
/* The members of each archive, where they were shown, and what followed. */
json_t *views_archive(struct run_view *const *runs, size_t n, struct err *e);
/* Failed attempts by what went wrong, the most common first. */
json_t *views_clusters(struct run_view *const *runs, size_t n, struct err *e);
/* The correct kernels: speed-up, launches, bytes, bandwidth. */
json_t *views_kernels(struct run_view *const *runs, size_t n, struct err *e);
/* Who verifies, where workers connect to a run. */
json_t *views_workers(struct run_view *const *runs, size_t n, struct err *e);

/* Those above, by the names that the page has for them: what a report holds, and
 * what a server answers. */
enum { VIEWS = 6 };
extern const struct views_one {
    const char *name;
    json_t *(*make)(struct run_view *const *runs, size_t n, struct err *e);
} views_all[VIEWS];

/* One task with all its attempts, one of them in full: of this number, or
 * (0) the best. NULL without an error: there is no such attempt. */
json_t *views_task(struct run_view *v, struct run_task *t, int64_t attempt,
                   struct err *e);
/* Its two halves: without any attempt in full, and only that. */
json_t *views_lines(struct run_view *v, struct run_task *t, struct err *e);
json_t *views_attempt(struct run_view *v, struct run_task *t, int64_t attempt,
                      struct err *e);

/* What kind of program has these operators (one a line): "convolution", … */
const char *views_family(const char *ops);

/* Lines of text are cut after this many bytes, texts after that many. */
#define VIEWS_LONGEST_LINE 4000
#define VIEWS_LONGEST_TEXT ((size_t)256 << 10)

/* ---- what makes them ---- */

/* A text, cut as views.h says; NULL is null. */
json_t *views_text(const char *s);
/* The same for every string in a value; takes and returns the reference. */
json_t *views_cut(json_t *v);

/* "1,234,567"; "$0.0123", or "$12.34"; "28 s", "3 min", "2 h 5 min" */
void headline_number(int64_t n, struct buf *out);
void headline_usd(int64_t usd_micro, struct buf *out);
void headline_time(double seconds, struct buf *out);

#endif
