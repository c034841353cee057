/* borrow.h: asks a model how much of a kernel comes from the examples that its
 * attempt was shown (appendix N.1).
 *
 * A question is known by its prompt, so an answer that is stored is never paid
 * for again, whichever runs it is asked for. An answer that cannot be read is
 * asked for once more. */
#ifndef ANALYZE_BORROW_H
#define ANALYZE_BORROW_H

#include "analyze/analyze.h"
#include "llm/ask_all.h"
#include "prompt/ask.h"

struct borrow;
/* Attempts with these numbers that have code and were shown examples. NULL on
 * failure. */
struct borrow *borrow_new(struct analysis *a, const int64_t *attempt, size_t n,
                          struct err *e);
void borrow_free(struct borrow *b); /* may be NULL */
/* Asks what is not stored; runs the loop. */
enum ask_end borrow_run(struct borrow *b, const struct ask_parts *p,
                        const struct prompts *prompts, struct err *e);
size_t borrow_questions(const struct borrow *b);
/* Rows of the table `borrowing`: by run, number of the attempt, and outcome. */
void borrow_fill(const struct borrow *b, struct table *t);

#endif
