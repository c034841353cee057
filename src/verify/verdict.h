/* verdict.h: the words of a record, one table each: how a candidate ended, how
 * far it got, and how much is proved. Records, tables and the store use the
 * names; worker/judge/words.py holds the same words for the judge, and a test
 * compares the two. docs/VERIFIER.md explains them to users. */
#ifndef VERIFY_VERDICT_H
#define VERIFY_VERDICT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "pack/rule.h"

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
    VERDICT_HACK, /* a cheat: found by the verifier, or by the reviewer */
    /* Only another device can tell: it says nothing about the candidate, is not
     * asked again, and an attempt ends with it. */
    VERDICT_NOT_JUDGED,
    VERDICT_INFRA,   /* the verifier failed: no attempt ends with it */
    VERDICT_UNKNOWN, /* no such name */
};
#define VERDICTS VERDICT_INFRA /* how many an attempt can end with */

/* How far a candidate got. */
enum stage {
    STAGE_EXTRACT, /* no program was found in the reply */
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
    double fitness;             /* the base of verdict_fitness() */
    enum stage stage;           /* the earliest that it can end at */
    enum hint_stage hint_stage; /* which of a pack's hints may apply */
    bool compiled;              /* it implies that the candidate compiled */
    bool retry;      /* says nothing about the candidate: ask again */
    int exit_status; /* of a command that judges one candidate */
};
extern const struct verdict_info verdicts[VERDICT_INFRA + 1];

/* VERDICT_UNKNOWN for NULL and other words. */
enum verdict verdict_of(const char *name);
/* The verdict of a record; NULL or without one: unknown. */
enum verdict verdict_in(const json_t *record);

/* The fitness of an attempt, from 0 to 2. To the verdict's own fitness,
 * wrong_values adds a tenth of `within`, the share of elements within the
 * tolerance; correct adds a tenth of `speedup`, but at most 1. NaN means
 * unknown and adds nothing. */
double verdict_fitness(enum verdict v, double within, double speedup);

/* The median time in a record, in milliseconds: of the candidate ("ms") or of a
 * reference, named as below; 0: not measured. */
double verdict_ms(const json_t *record, const char *which);
/* How many times faster than the reference the candidate of a record is, eager
 * ("reference_ms") or under torch.compile ("compile_ms"); NaN: not measured. */
double verdict_speedup(const json_t *record, const char *over);

/* The record of a candidate that was never run: the reply has no program
 * (no_code) or was cut (truncated), or the static rules refuse the program. A
 * new reference; `rule` may be NULL. */
json_t *verdict_unrun(enum verdict v, const char *rule, struct str feedback);

/* The first line of a record's error that says something (not "In function
 * 'f':"), borrowed from it; empty when there is no error. */
struct str verdict_error(const json_t *record);
/* Appends the words of an error, without those that contain a digit, a square
 * bracket or a quote. Errors with the same remaining words are of one kind. */
void verdict_error_kind(const char *error, struct buf *out);
/* Why a record may not join an archive, in a line: the verdict, and the first
 * line of the error. The caller frees it. */
char *verdict_line(const json_t *record);

/* The version of the rules of truth: what correct means, by which the judge
 * compares (docs/VERIFIER.md). A record carries that of its verdict; without one
 * it is the first. E3 of an older version is shown as such, and enters no
 * archive until `archive reverify` has judged it again. */
#define VERDICT_RULES       2
#define VERDICT_RULES_FIRST 1
int64_t verdict_rules(const json_t *record);

/* How much is proven. */
enum evidence {
    EVIDENCE_NONE,
    EVIDENCE_E0,
    EVIDENCE_E2,
    EVIDENCE_E3,
};
#define EVIDENCES (EVIDENCE_E3 + 1)
/* What a kernel of a run needs to join the archive. */
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
/* Appends a line that explains the levels, to print below a table of them. */
void evidence_explain(struct buf *out);

/* Appends lines for the `trace` of a record (docs/PROTOCOL.md, Answers), each after
 * four blanks: what a candidate launches, on how large a grid, and how much memory
 * that touches at least. A record without one has one line, too. */
void verdict_put_trace(const json_t *trace, struct buf *out);

/* ---- whether a measured time can be believed. A kernel whose time cannot may still
 * be right: it is marked with the reason, never hidden. ---- */

/* Kernels that are more than so many times as fast as eager PyTorch deserve a
 * look: most of them skip work, or change the algorithm. */
#define PLAUSIBLE_SPEEDUP 10.0

/* What the memory of the GPU with this name, as its driver gives it, can move
 * in a second according to its maker; 0: not known. */
double plausible_bandwidth(const char *gpu);

/* Why the time in a record is hard to believe, in `a`; NULL: it is not, or
 * nothing was timed. */
const char *plausible_doubt(const json_t *record, struct arena *a);

/* The hint that ends a feedback, borrowed from it; NULL: there is none. */
const char *verdict_hint(const char *feedback);

#endif
