/* verdict.h: the words of a record, one table each: how a candidate ended, how
 * far it got, and how much is proven. Records, tables and the store use the
 * names; worker/judge/words.py holds the same words for the judge, and a test
 * compares the two. docs/VERIFIER.md explains them to users. */
#ifndef VERIFY_VERDICT_H
#define VERIFY_VERDICT_H

#include "base/buf.h"
#include "base/json.h"
#include "pack/hint.h"

#include <stdbool.h>

/* The order is that of every table users see. */
enum verdict {
    VERDICT_CORRECT,
    VERDICT_NO_CODE,
    VERDICT_TRUNCATED,
    VERDICT_STATIC_REJECT,
    VERDICT_COMPILE_ERROR,
    VERDICT_LAUNCH_ERROR,
    VERDICT_TIMEOUT,
    VERDICT_OUT_OF_MEMORY,
    VERDICT_CRASH,
    VERDICT_WRONG_SHAPE,
    VERDICT_WRONG_DTYPE,
    VERDICT_NOT_FINITE,
    VERDICT_WRONG_VALUES,
    VERDICT_HACK,
    VERDICT_INFRA,   /* the verifier failed: not a verdict on an attempt */
    VERDICT_UNKNOWN, /* no such name */
};
#define VERDICTS VERDICT_INFRA /* those that an attempt can end with */

/* Where it ended. */
enum stage {
    STAGE_EXTRACT, /* the reply held no program */
    STAGE_STATIC,
    STAGE_FORK,
    STAGE_LOAD,
    STAGE_RECORD,
    STAGE_COMPILE,
    STAGE_FIRST_CALL,
    STAGE_TRIALS,
    STAGE_TIMING,
    STAGE_EVIDENCE,
    STAGE_DONE,
};
#define STAGES (STAGE_DONE + 1)
extern const char *const stage_names[STAGES];

struct verdict_info {
    const char *name;
    double fitness;             /* how far it got, for evolution */
    enum stage stage;           /* the first at which it can end so */
    enum hint_stage hint_stage; /* which of a pack's hints may apply */
    bool compiled;              /* it cannot end so without having compiled */
    bool retry;      /* nothing is known about the candidate: ask again */
    int exit_status; /* of a command that was asked for this one verdict */
};
extern const struct verdict_info verdicts[VERDICT_INFRA + 1];

/* VERDICT_UNKNOWN for NULL and other words. */
enum verdict verdict_of(const char *name);
/* The verdict of a record; NULL or without one: unknown. */
enum verdict verdict_in(const json_t *record);

/* The fitness of an attempt, from 0 to 2: wrong values gain up to 0.1 by the
 * share of elements `within` the tolerance, correct ones up to 1 by `speedup`,
 * which counts up to 10. NaN: not known. */
double verdict_fitness(enum verdict v, double within, double speedup);

/* The record of a candidate that was never run: no program in the reply, or
 * refused by the static rules. A new reference; `rule` may be NULL. */
json_t *verdict_unrun(enum verdict v, const char *rule, struct str feedback);

/* How much is proven. */
enum evidence {
    EVIDENCE_NONE,
    EVIDENCE_E0,
    EVIDENCE_E2,
    EVIDENCE_E3,
};
#define EVIDENCES (EVIDENCE_E3 + 1)
/* What an archive entry needs. */
#define EVIDENCE_ARCHIVE EVIDENCE_E3

struct evidence_info {
    const char *name; /* NULL: none */
    const char *meaning;
};
extern const struct evidence_info evidences[EVIDENCES];

/* EVIDENCE_NONE for NULL, "" and unknown names. */
enum evidence evidence_of(const char *name);
/* Whether it may join an archive: correct, with enough evidence. */
bool verdict_may_join(const char *verdict, const char *evidence);
/* One line that explains the levels, for below a table that has them. */
void evidence_explain(struct buf *out);

#endif
