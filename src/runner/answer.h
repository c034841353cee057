/* answer.h: the outcome of a request. It is sent to the judge as these bytes,
 * and functions that can fail fill it in, like `struct err` elsewhere. */
#ifndef RUNNER_ANSWER_H
#define RUNNER_ANSWER_H

#include <stdint.h>

enum status {
    DONE,
    BAD_REQUEST,    /* not a request, or not allowed now */
    BAD_PLAN,       /* invalid plan: word and reason in the text */
    NO_MODULE,      /* a module failed to load */
    NO_SYMBOL,      /* function not found in a module */
    LAUNCH_FAILED,  /* a launch was refused; the runner can continue */
    CONTEXT_BROKEN, /* a kernel broke the context: replace the runner */
    NO_MEMORY,      /* on the device or the host */
    NO_DEVICE,      /* the machine's fault, never the candidate's */
    CALL_ENDED,     /* a library ended its process: how is in the text */
};

#define NO_NODE UINT64_MAX

struct answer {
    uint64_t status;
    uint64_t detail; /* errno or CUresult, or 0 */
    uint64_t host_ns;
    uint64_t device_ns;
    uint64_t node; /* of the call that failed, or NO_NODE */
    char text[2048];
};

/* Returns -1, so that `return answer_fail(…)` is the whole failure path. */
int answer_fail(struct answer *a, enum status status, uint64_t detail,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same with the text of the current errno. */
int answer_sys(struct answer *a, enum status status, const char *what);

#endif
