/* options.h: what a run is to do; the same values give the same run. */
#ifndef SEARCH_OPTIONS_H
#define SEARCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct search_opts {
    const char *method;    /* a name of method_names */
    const char *retrieval; /* "alternating", "similar", "random", "coverage" */
    const char *order;     /* "strict", "eager" */
    const char *precision, *device;
    int64_t seed;
    int64_t attempts;   /* of each task */
    int64_t examples;   /* in a prompt */
    int64_t batch;      /* tasks of a mini-batch */
    int64_t slots;      /* tasks at once where nothing else says so */
    int64_t max_tokens; /* of an answer; 0: the provider's setting */
    int64_t phase[3];   /* combined: attempts before each barrier */
    bool no_stop;       /* all attempts, also after a success */
    bool no_card;       /* the guide alone, as in the paper */
    bool no_wait;       /* end when all that is left waits for others */
    /* evolve and combined */
    int64_t islands, history;
    bool diff;
    /* the reviewer */
    const char *reviewer; /* "off", "loop", "end" */
    double threshold;     /* a score below it is a rejection */
};

/* The methods, in the order in which help lists them; `sep` stands between two
 * of them. Each has a file method_NAME.c. */
#define METHODS(X, sep)        \
    X(monkeys) sep X(sampling) \
    sep X(refine)              \
    sep X(evolve)              \
    sep X(combined)

#define METHOD_WORD(name) #name
#define METHOD_CHOICES    METHODS(METHOD_WORD, "|") /* "monkeys|sampling|…" */
extern const char *const method_names[];            /* NULL at the end */

#endif
