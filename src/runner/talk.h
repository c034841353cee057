/* talk.h: requests and answers on a socket. docs/RUNNER.md describes the
 * bytes. */
#ifndef RUNNER_TALK_H
#define RUNNER_TALK_H

#include "runner/answer.h"

#include <stddef.h>
#include <stdint.h>

#define TALK_WORDS 8
#define TALK_FDS   4

enum request_kind { REQUEST_LOAD = 1, REQUEST_RUN = 2, REQUEST_UNLOAD = 3 };

struct request {
    uint64_t word[TALK_WORDS]; /* the first is the kind */
    size_t words;
    int fd[TALK_FDS];
    size_t fds;
};

/* Returns 1 for a request, 0 if the judge closed its end, and -1 for invalid
 * input; nothing after that can be read. The caller closes the descriptors. */
int talk_receive(int sock, struct request *r);
void talk_close_fds(struct request *r);
int talk_send(int sock, const struct answer *a);

#endif
