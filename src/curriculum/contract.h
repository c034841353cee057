/* contract.h: the form of a decomposition of one problem, as JSON: what a model
 * proposes, what the verifier answers, and what a folder keeps. The three
 * hardly differ. docs/CURRICULUM.md describes the members.
 *
 * All three are foreign bytes: every member is checked before anything uses it.
 * The verifier checks what only running can tell (shapes, values, whether the
 * pieces compose). */
#ifndef CURRICULUM_CONTRACT_H
#define CURRICULUM_CONTRACT_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define CONTRACT_SUBS 64 /* of one problem, at most */

enum piece_kind {
    PIECE_PARTITION,      /* a part of the original's data flow */
    PIECE_REFORMULATION,  /* the whole problem by another algorithm */
    PIECE_STEPPING_STONE, /* a simpler relative: nothing is claimed */
    PIECE_KINDS,
};
extern const char *const piece_kinds[PIECE_KINDS];

enum piece_level { LEVEL_COARSE, LEVEL_MEDIUM, LEVEL_FINE, PIECE_LEVELS };
extern const char *const piece_levels[PIECE_LEVELS];
extern const int piece_counts[PIECE_LEVELS]; /* about how many pieces that is */

enum contract_form {
    CONTRACT_PROPOSAL, /* a model's: with sources */
    CONTRACT_ANSWER,   /* the verifier's: with sources, sidecars, findings */
    CONTRACT_FILE,     /* a folder's: names of pieces in place of sources */
};

/* True for [a-z0-9_]{3,40}. */
bool contract_is_id(const char *s);
/* The place of a word in a table of `n`, or `n`. */
size_t contract_word(const char *s, const char *const *table, size_t n);

/* An error is ERR_INPUT, "FILE: /json/pointer: what is wrong". */
int contract_check(const json_t *v, const char *file, enum contract_form form,
                   struct err *e);

/* The object in a model's reply, checked as a proposal: a new reference, or
 * NULL, what to tell the model, and the reason's code. */
json_t *contract_extract(struct str reply, const char **code, struct err *e);

/* The subproblem with this id, or NULL. */
const json_t *contract_sub(const json_t *v, const char *id);

#endif
