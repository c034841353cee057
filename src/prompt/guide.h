/* guide.h: a guide from documents of any length, by a recursive language
 * model.
 *
 * A reader is a conversation over documents: it sees a manifest or a text that
 * fits its window, asks for more (guide.c), and ends with an answer. The first
 * reader has all documents and writes the guide. A question about a span goes
 * to a new reader one level below, with half the window. So many readers share
 * a text that is too long for one, and the number of levels, of calls and of
 * dollars is bounded.
 *
 * Every call goes through the ledger; the reader's place and turn and its
 * prompt identify it. What a reader sees follows only from the documents and
 * earlier replies. So a build that was stopped is repeated from the store, at
 * no cost, up to where it stopped. */
#ifndef PROMPT_GUIDE_H
#define PROMPT_GUIDE_H

#include "base/arena.h"
#include "base/err.h"
#include "llm/ask_all.h"
#include "prompt/prompt.h"

#include <stddef.h>
#include <stdint.h>

/* The documents of a folder, and of those below it. */
struct sources {
    struct source *item; /* by name */
    size_t len, cap;
    size_t bytes;
    struct arena memory;
};

/* Hidden files, and files that are not text, are passed over. Release in any case. A
 * folder without a document, or with more than 64 MiB of them, is ERR_INPUT. */
int sources_read(struct sources *s, const char *dir, struct err *e);
void sources_release(struct sources *s);

/* All borrowed. */
struct guide_parts {
    struct ask_parts ask;
    const struct prompts *prompts;
    const struct sources *sources;
};

struct guide_opts {
    const char *dsl;  /* its id */
    const char *name; /* as prompts call it */
    int64_t words;    /* of the guide, about */
    int64_t depth;    /* levels of readers below the first */
    int64_t window;   /* tokens of a prompt of the first reader */
    int64_t calls;    /* at most, altogether */
};

struct guide;
struct guide *guide_new(const struct guide_parts *p,
                        const struct guide_opts *o);
void guide_free(struct guide *g);
/* Works until it ends; runs the loop. The units of work are readers. */
enum ask_end guide_run(struct guide *g, struct err *e);
/* The guide, and what it lacks, a line each; "" before the end. */
struct str guide_text(const struct guide *g);
struct str guide_findings(const struct guide *g);

#endif
