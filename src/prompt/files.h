/* files.h: all templates and what fills them: one table. Private to src/prompt. */
#ifndef PROMPT_FILES_H
#define PROMPT_FILES_H

#include "prompt/prompt.h"
#include "prompt/template.h"

/* What a slot can be called. Values are arrays of PROMPT_SLOTS slices. */
#define PROMPT_SLOT_LIST(X)                                                    \
    X(ASK, "ask") /* a section only */                                         \
    X(ATTEMPTS, "attempts")                                                    \
    X(CARD, "card")                                                            \
    X(CODE, "code")                                                            \
    X(CODE_HINT, "code_hint")                                                  \
    X(DEVICE, "device")                                                        \
    X(DIFF, "diff") /* sections only: how to answer */                         \
    X(DOCUMENT, "document")                                                    \
    X(DSL, "dsl")                                                              \
    X(DTYPE, "dtype") /* "torch.float32" */                                    \
    X(EXAMPLES, "examples")                                                    \
    X(FEEDBACK, "feedback")                                                    \
    X(FENCE, "fence") /* enough backticks for what the template puts inside */ \
    X(FITNESS, "fitness")                                                      \
    X(GUIDE, "guide")                                                          \
    X(IMPORTS, "imports")                                                      \
    X(INITIAL, "initial") /* a section only */                                 \
    X(LAST, "last")                                                            \
    X(LEVEL, "level")                                                          \
    X(LIMIT, "limit")                                                          \
    X(LONG, "long") /* a section only */                                       \
    X(MUST_DEFINE, "must_define")                                              \
    X(NAME, "name")                                                            \
    X(NOTES, "notes")                                                          \
    X(NUMBER, "number")                                                        \
    X(PARENT, "parent")                                                        \
    X(PLAN, "plan")                                                            \
    X(PLAN_HINT, "plan_hint")                                                  \
    X(PRECISION, "precision")                                                  \
    X(PROBLEM, "problem")                                                      \
    X(PROPOSAL, "proposal")                                                    \
    X(QUESTION, "question")                                                    \
    X(REFUSALS, "refusals")                                                    \
    X(REPLY, "reply")                                                          \
    X(REWRITE, "rewrite")                                                      \
    X(SHAPE, "shape")                                                          \
    X(SOLUTION, "solution")                                                    \
    X(TAG, "tag") /* the language of the answer's fence */                     \
    X(TASK, "task")                                                            \
    X(TRACE, "trace")                                                          \
    X(VERDICT, "verdict")                                                      \
    X(WHOLE, "whole") /* a section only */                                     \
    X(WHY, "why")

#define PROMPT_SLOT(name, text) SLOT_##name,
enum prompt_slot {
    PROMPT_SLOT_LIST(PROMPT_SLOT) PROMPT_SLOTS,
};

enum prompt_file {
    FILE_SYSTEM, /* what all attempts with a pack start with */
    FILE_PLAN,
    FILE_CODE,
    FILE_EVOLVE_SYSTEM,
    FILE_EVOLVE,
    FILE_EXAMPLE,
    FILE_ATTEMPT,
    FILE_REVIEW_SYSTEM,
    FILE_REVIEW,
    FILE_REPAIR,
    FILE_BORROWING_SYSTEM,
    FILE_BORROWING,
    FILE_BORROWING_PARENT,
    FILE_BACKFILL,
    FILE_DECOMPOSE_SYSTEM,
    FILE_DECOMPOSE,
    FILE_GUIDE_SYSTEM,
    FILE_GUIDE_ROOT,
    FILE_GUIDE_PART,
    PROMPT_FILES,
};

struct prompt_start; /* guide and card of a pack, rendered: prompt.c */
struct kept_hashes;  /* the same */

struct prompts {
    struct template *file[PROMPT_FILES];
    struct prompt_start *starts; /* a chain */
    char *guide; /* a file to show instead of a pack's guide, or NULL */
    struct kept_hashes *kept;
    struct arena scratch; /* of the prompt that is built */
};

/* Reads and checks every file; release in any case. */
int prompt_files_load(struct prompts *p, const char *dir, struct err *e);
void prompt_files_release(struct prompts *p);

/* A file with its values, behind `before`. */
struct str prompt_render(const struct prompts *p, enum prompt_file file,
                         struct str before, const struct str *values,
                         struct arena *a);
/* A prompt of one or two messages, with these values: hash and estimate are filled
 * in. `system` PROMPT_FILES: there is none; all of it is shared by many prompts. */
void prompt_make(const struct prompts *p, enum prompt_file system,
                 enum prompt_file user, const struct str *values,
                 struct arena *a, struct prompt *out);

/* ---- values ---- */

/* Without blank lines at the start and white space at the end. */
struct str prompt_tidy(struct str s);
/* Backticks for a fence round these texts: more than any run in them. */
struct str prompt_fence(const struct str *text, size_t count, struct arena *a);
/* The parts with blank lines between; no value when there are none. */
struct str prompt_join(const struct str *part, size_t count, struct arena *a);
struct str prompt_number(int64_t n, struct arena *a);
/* SLOT_PRECISION and SLOT_DTYPE; false: no such precision. */
bool prompt_precision(const char *precision, struct str *values);

#endif
