/* asking.h: a client made of options, a folder to play in, and questions. */
#ifndef TESTS_ASKING_H
#define TESTS_ASKING_H

#include "base/arena.h"
#include "llm/llm.h"

struct asking {
    char *dir; /* temporary, removed at the end */
    struct loop *loop;
    struct arena arena; /* the questions */
    struct llm_opts opts;
    struct budget budget;
    struct llm *llm; /* NULL: `error` says why */
    /* the last end */
    size_t done;
    enum llm_outcome outcome;
    enum llm_finish finish;
    struct llm_usage usage;
    int requests;
    char text[300], model[64];
    char error[1100];
};

/* Defaults that can answer; set what is missing, then asking_open(). */
void asking_begin(struct asking *a, const char *provider);
void asking_open(struct asking *a);
void asking_end(struct asking *a);
/* "DIR/name"; good until the fourth call after it. */
const char *asking_path(const struct asking *a, const char *name);
/* Starts a call for attempt `n` with this text. */
void asking_start(struct asking *a, int n, const char *text);
/* The same, until it has ended. */
void asking_ask(struct asking *a, int n, const char *text);
/* Replaces DIR/name. */
void asking_write(const struct asking *a, const char *name, const char *text);
/* Whether any file below DIR holds the text. */
bool asking_finds(const struct asking *a, const char *text);

#endif
