/* check.h: the static check of one candidate: source text and rule set to
 * findings. It reads, it never runs anything. A candidate is accepted when it
 * has no finding of severity error. */
#ifndef VERIFY_CHECK_H
#define VERIFY_CHECK_H

#include "base/str.h"
#include "pack/rule.h"
#include "pack/rx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_EXCERPT_CHARS 120

enum check_severity { CHECK_ERROR, CHECK_WARNING };
extern const char *const check_severities[2]; /* "error", "warning" */

struct finding {
    const char *rule; /* the rule's id, or one of the engine's own */
    enum check_severity severity;
    uint32_t line, column; /* from 1; 0: the file as a whole */
    const char *message;
    const char *excerpt; /* the source line, cut; "" for the whole file */
};

struct check_result {
    bool accepted;
    size_t errors, warnings;
    const struct finding *finding; /* by place, then in the order of the set */
    size_t len;
};

/* Working memory for any number of files, one after the other; for one thread.
 * NULL limits are the default ones. */
struct check;
struct check *check_new(const struct rx_limits *limits);
void check_free(struct check *c);

/* The result lives until the next check_source() or check_free(). A source
 * that cannot be read (encoding, size, syntax) has that as its only finding:
 * no rule is tried on half a file. */
struct check_result check_source(struct check *c, const struct ruleset *set,
                                 struct str src);

#endif
