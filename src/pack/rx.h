/* rx.h: regular expressions on untrusted text: PCRE2 in UTF and multi-line
 * mode, with limits on steps, depth, memory, and the time of a round of
 * searches. Reaching a limit is a separate result, never "no match". */
#ifndef PACK_RX_H
#define PACK_RX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define RX_PATTERN_MAX ((size_t)8192) /* bytes */
#define RX_GROUPS      10             /* $0 … $9 */

/* A compiled pattern, safe to share between threads. Compiling returns NULL,
 * with "at offset N: why", if the pattern is invalid, matches the empty string
 * (it would then find everything or forbid nothing), or has a callout or \C. */
struct rx;
struct rx *rx_new(const char *pattern, struct err *e);
void rx_free(struct rx *rx);
size_t rx_group_count(const struct rx *rx); /* not counting $0 */

struct rx_limits {
    uint32_t match;    /* steps per start position */
    uint32_t depth;    /* of nested backtracking */
    uint32_t heap_kib; /* for backtracking */
    size_t jit_stack_bytes;
    int64_t round_ns; /* processor time between two calls of rx_round() */
};
extern const struct rx_limits rx_limits_default;

/* The working memory for searches. One per thread. */
struct rx_ctx;
struct rx_ctx *rx_ctx_new(const struct rx_limits *l);
void rx_ctx_free(struct rx_ctx *c);
void rx_round(struct rx_ctx *c); /* restarts the time limit */

enum rx_result {
    RX_NONE,
    RX_MATCH,
    RX_LIMIT, /* steps, depth or memory */
    RX_TIME,  /* the round's time is used up */
};

/* The first match that starts at or after `from`. `text` is valid UTF-8. */
enum rx_result rx_find(struct rx_ctx *c, const struct rx *rx, struct str text,
                       size_t from);
/* Where to search for the next match after RX_MATCH; past text.n at the end. */
size_t rx_next(const struct rx_ctx *c, struct str text);
/* Offset and text of the last match; group 0 is the whole match. A group that
 * did not take part is empty. */
size_t rx_at(const struct rx_ctx *c);
struct str rx_group(const struct rx_ctx *c, struct str text, size_t n);

/* Appends `model` with $0 … $9 replaced by the groups of the last match, each
 * on one line and cut to a readable length. Without a match they are empty. */
void rx_expand(const struct rx_ctx *c, struct str text, const char *model,
               struct buf *out);
/* The highest N of $N in `model`, or -1. */
int rx_model_groups(const char *model);

#endif
