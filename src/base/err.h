/* err.h: one failure, told once. A function that can fail takes `struct err *e`
 * last and returns -1 or NULL after filling it; callers on the way up add what
 * they were doing with err_wrap(). Nothing is allocated, nothing is printed:
 * only main.c speaks to the user. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

enum err_kind {
    ERR_NONE,
    ERR_USAGE,     /* the command line is wrong */
    ERR_INPUT,     /* a file or an answer from outside is wrong */
    ERR_LIMIT,     /* a bound of ours was reached */
    ERR_SYSTEM,    /* the machine refused: errno is in `sys` */
    ERR_BUDGET,    /* the user's budget is used up */
    ERR_INTERRUPT, /* the user asked us to stop */
};

struct err {
    enum err_kind kind;
    int sys; /* errno, or 0 */
    char text[1024];
};

#define ERR_INIT        \
    {                   \
        ERR_NONE, 0, "" \
    }

/* Each returns -1, so that `return err_set(…)` is the whole failure path. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As err_set, with the text of the current errno behind it. */
int err_sys(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts "what we were doing: " in front of the text. */
int err_wrap(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit status a failure of this kind ends in. */
int err_exit_status(const struct err *e);

#endif
