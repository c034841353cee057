/* builder.h: a guide from documents of any length, by a recursive language
 * model.
 *
 * A reader is a conversation over documents: it sees a manifest or a text that
 * fits its window, asks for more (action.h), and ends with an answer. The first
 * reader has all documents and writes the guide. A question about a span goes
 * to a reader of its own, with half the window, one level below; so a text that
 * is too long for one reader is read by many, and the number of levels, of
 * calls and of dollars is bounded.
 *
 * Every call goes through the ledger, known by the reader's place and turn and
 * by its prompt. What a reader sees follows from the documents and from earlier
 * replies alone: a build that was stopped is repeated from the store, for
 * nothing, up to where it stopped. */
#ifndef GUIDE_BUILDER_H
#define GUIDE_BUILDER_H

#include "base/err.h"
#include "guide/sources.h"
#include "ledger/ledger.h"
#include "prompt/prompt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All borrowed. */
struct guide_parts {
    struct loop *loop;
    struct ledger *ledger;
    struct llm *front;
    const struct prompts *prompts;
    const struct sources *sources;
};

struct guide_opts {
    const char *dsl;    /* its id */
    const char *name;   /* as prompts call it */
    int64_t words;      /* of the guide, about */
    int64_t depth;      /* levels of readers below the first */
    int64_t window;     /* tokens of a prompt of the first reader */
    int64_t calls;      /* at most, altogether */
    int64_t max_tokens; /* of an answer; 0: the provider's setting */
};

enum guide_end {
    GUIDE_DONE,
    GUIDE_NO_BUDGET,
    GUIDE_STOPPED,
    GUIDE_FAILED, /* see the error */
};

struct guide_progress {
    size_t calls, readers, open; /* open: readers that have not answered yet */
};

struct guide;
struct guide *guide_new(const struct guide_parts *p,
                        const struct guide_opts *o);
void guide_free(struct guide *g);
/* Works until it ends; runs the loop. `step` is called after each reply. */
enum guide_end guide_run(struct guide *g,
                         void (*step)(const struct guide_progress *p,
                                      void *arg),
                         void *arg, struct err *e);
/* From a callback of the loop: ask no more. */
void guide_stop(struct guide *g);
/* The guide, and what layout_check() says about it; "" before the end. */
struct str guide_text(const struct guide *g);
struct str guide_findings(const struct guide *g);

#endif
