/* scripted.h: a provider whose every end is the test's choice. */
#ifndef TESTS_SCRIPTED_H
#define TESTS_SCRIPTED_H

#include "llm/provider.h"

#include <stddef.h>

struct scripted;
/* How the `n`th request (from 0) ends, and after how long. */
typedef void scripted_fn(struct scripted *s, size_t n,
                         const struct llm_request *r, struct send_result *out,
                         int64_t *after_ns);

struct scripted {
    struct provider base;
    struct loop *loop;
    scripted_fn *next;
    void *arg;
    size_t sent, at_once, most_at_once, cancelled;
    int64_t last_ns; /* when the last one was sent */
};

/* An answer of this text and usage. */
struct send_result scripted_answer(const char *text, int64_t input,
                                   int64_t output);
struct send_result scripted_failure(enum send_outcome o, const char *error);

/* On a loop; freed by the client it is given to. */
struct scripted *scripted_new(struct loop *l, scripted_fn *next, void *arg,
                              bool priced);

/* Ends the last request that was sent, before its time. */
void scripted_end(struct scripted *s);

#endif
