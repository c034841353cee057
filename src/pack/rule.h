/* rule.h: the static rules of a pack. A rule is a pattern over one form of a
 * candidate; its kind says what a match means. docs/PACKS.md describes rules
 * for authors. A hint is advice for the model about an error message: of a
 * pack's hints, the first whose pattern matches. */
#ifndef PACK_RULE_H
#define PACK_RULE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "pack/rx.h"
#include "pack/schema.h"
#include "source/form.h"

#include <stdbool.h>
#include <stddef.h>

enum rule_kind { RULE_REQUIRE, RULE_FORBID, RULE_WARN };
#define RULE_KINDS 3
extern const char *const rule_kinds[RULE_KINDS]; /* "require", … */

struct rule {
    const char *id, *message; /* borrowed from the JSON */
    enum rule_kind kind;
    enum form_kind form;
    bool own; /* from the pack itself, not from a file it extends */
    struct rx *rx;
};

/* The rules of one list in one file. */
struct rules {
    struct rule *rule;
    size_t len;
};

/* The location of a list, for errors. */
struct rule_place {
    const char *file, *pointer;
    bool own;
};

/* Compiles a list that the schema has accepted; the JSON must outlive the
 * rules. Returns false, with a line for each bad rule. Release it in either
 * case. */
bool rules_init(struct rules *r, const json_t *list,
                const struct rule_place *at, struct problems *out);
void rules_release(struct rules *r);

/* The rules applied to a candidate, inherited and own, in order. They are
 * shallow copies. */
struct ruleset {
    const char *name;
    struct rule *rule;
    size_t len;
};

const struct rule *ruleset_find(const struct ruleset *s, const char *id);

/* Findings that the engine reports itself; rules may not use these ids. */
#define RULE_LIMIT_HIT "limit-hit"
bool rule_id_is_reserved(const char *id);

#define RULE_HITS_MAX 20

struct rule_hit {
    size_t at;           /* offset in the form */
    const char *message; /* in the arena */
};

struct rule_hits {
    struct rule_hit hit[RULE_HITS_MAX];
    size_t len;
    size_t more;        /* matches that were not kept; the last message says
                           so */
    enum rx_result end; /* RX_LIMIT, RX_TIME: not searched to the end */
};

/* Finds all matches in valid UTF-8. For a `require` rule, only the first,
 * without a message. */
void rule_apply(const struct rule *r, struct rx_ctx *c, struct str text,
                struct arena *a, struct rule_hits *out);

enum hint_stage {
    HINT_PARSE,
    HINT_CHECK,
    HINT_COMPILE,
    HINT_LAUNCH,
    HINT_RUN,
    HINT_NUMERIC,
    HINT_ANY, /* for hint_find() */
};
#define HINT_STAGES 6
extern const char *const hint_stages[HINT_STAGES]; /* "parse", … */

struct hint {
    const char *id, *text, *cite; /* borrowed from the JSON; cite may be NULL */
    enum hint_stage stage;
    struct rx *rx;
};

struct hints {
    struct hint *hint;
    size_t len;
};

/* Compiles a list that the schema has accepted; the JSON must outlive the
 * hints. Returns false, with a line for each bad hint. Release it in either
 * case. */
bool hints_init(struct hints *h, const json_t *list, const char *file,
                struct problems *out);
void hints_release(struct hints *h);

/* The first matching hint of the stage, or NULL. Appends its text to `out`,
 * with $1 … filled in. `text` may be any bytes. */
const struct hint *hint_find(const struct hints *h, struct rx_ctx *c,
                             enum hint_stage stage, struct str text,
                             struct buf *out);

#endif
