/* outcome.h: how useful examples are: how often each member of the archive was shown
 * and how often the attempt succeeded, counted separately per stage. In memory only;
 * the owner fills it from the store. */
#ifndef FIND_OUTCOME_H
#define FIND_OUTCOME_H

#include "prompt/prompt.h"

#include <stdint.h>

struct outcome_count {
    int64_t shown, solved;
};

struct outcome;
struct outcome *outcome_new(void);
void outcome_free(struct outcome *o);
/* An attempt saw the entry at this stage. */
void outcome_shown(struct outcome *o, int64_t entry, enum prompt_stage stage);
/* An attempt that saw it there succeeded; it was counted as shown before. */
void outcome_solved(struct outcome *o, int64_t entry, enum prompt_stage stage);
/* Zeros for an entry that was never shown. */
struct outcome_count outcome_get(const struct outcome *o, int64_t entry,
                                 enum prompt_stage stage);

#endif
