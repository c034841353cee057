/* search_opts.h: the options of a search, as `monkeys run --help` describes them.
 * In strict order, the same options, tasks, examples, replies and verdicts give
 * the same run. */
#ifndef SEARCH_SEARCH_OPTS_H
#define SEARCH_SEARCH_OPTS_H

#include <stdbool.h>
#include <stdint.h>

struct search_opts {
    const char *method;    /* a name of method_names */
    const char *retrieval; /* "alternating", "similar", "random", "coverage" */
    const char *order;     /* "strict", "eager" */
    const char *precision, *device;
    int64_t seed;
    int64_t attempts;   /* per task */
    int64_t examples;   /* per prompt */
    int64_t batch;      /* monkeys: tasks per mini-batch */
    int64_t slots;      /* other methods: tasks at once */
    int64_t max_tokens; /* per reply; 0: the provider's setting */
    int64_t phase[3];   /* combined: attempts per task in each phase */
    bool no_stop;       /* make all attempts, also after a success */
    bool no_card;       /* show the guide alone, as in the paper */
    bool no_wait;       /* do not wait for replies in a spool folder */
    /* evolve and combined */
    int64_t islands, history;
    bool diff;
    /* With pieces: see search_add_piece(). */
    int64_t refine_after; /* attempts before a task that stays unsolved gets
                             the pieces of its next level; 0: all at once */
    bool piece_example;   /* an example is a solved piece of the task */
    /* The reviewer, a model that reads correct kernels. "off": never. "loop":
     * each one, before its verdict is stored; a refused kernel is a failed
     * attempt. "end": when every task is solved or has used its attempts, the
     * entries that the run has added to the archive; refused ones leave it. A
     * run that ends otherwise is not reviewed until it is resumed and finishes:
     * until then export writes unreviewed kernels, and a shared archive gets
     * none. */
    const char *reviewer;
    double threshold; /* a lower score is a refusal */
};

/* The methods, in the order in which help lists them; `sep` stands between two
 * of them. Each has a struct method_NAME in method.c. */
#define METHODS(X, sep)        \
    X(monkeys) sep X(sampling) \
    sep X(refine)              \
    sep X(evolve)              \
    sep X(combined)

#define METHOD_WORD(name) #name
#define METHOD_CHOICES    METHODS(METHOD_WORD, "|") /* "monkeys|sampling|…" */
extern const char *const method_names[];            /* NULL at the end */

#endif
