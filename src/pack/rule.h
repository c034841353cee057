/* rule.h: the static rules of a pack. A rule is a pattern over one view of a
 * candidate; what a match means is the rule's kind. docs/PACKS.md describes
 * them for authors. */
#ifndef PACK_RULE_H
#define PACK_RULE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "facts/view.h"
#include "pack/problems.h"
#include "pack/rx.h"

#include <stdbool.h>
#include <stddef.h>

enum rule_kind { RULE_REQUIRE, RULE_FORBID, RULE_WARN };
#define RULE_KINDS 3
extern const char *const rule_kinds[RULE_KINDS]; /* "require", … */

struct rule {
    const char *id, *message; /* borrowed from the JSON */
    enum rule_kind kind;
    enum view_kind view;
    bool own; /* in the pack itself, not in a file it extends */
    struct rx *rx;
};

/* The rules of one list in one file. */
struct rules {
    struct rule *rule;
    size_t len;
};

/* Where a list is, for errors. */
struct rule_place {
    const char *file, *pointer;
    bool own;
};

/* Compiles a list that the schema has accepted; the JSON must outlive the
 * rules. False, with a line for each bad rule, when one is wrong; release it
 * in any case. */
bool rules_init(struct rules *r, const json_t *list,
                const struct rule_place *at, struct problems *out);
void rules_release(struct rules *r);

/* What is applied to a candidate: inherited and own rules in order, copies
 * that borrow what they point to. */
struct ruleset {
    const char *name;
    struct rule *rule;
    size_t len;
};

const struct rule *ruleset_find(const struct ruleset *s, const char *id);

/* The findings that the engine makes itself; rules may not have these ids. */
#define RULE_LIMIT_HIT "limit-hit"
bool rule_id_is_reserved(const char *id);

#define RULE_HITS_MAX 20

struct rule_hit {
    size_t at;           /* in the view */
    const char *message; /* in the arena */
};

struct rule_hits {
    struct rule_hit hit[RULE_HITS_MAX];
    size_t len;
    size_t more;        /* matches after the last that was kept; the last
                           message says so */
    enum rx_result end; /* RX_LIMIT, RX_TIME: not searched to the end */
};

/* All matches in valid UTF-8; of a `require` rule only the first, without a
 * message. */
void rule_apply(const struct rule *r, struct rx_ctx *c, struct str text,
                struct arena *a, struct rule_hits *out);

#endif
