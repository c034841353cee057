/* merge.h: decompositions of several problems become one curriculum. Two
 * subproblems are one piece if their programs differ in names, comments and
 * layout alone and their inputs are equal. */
#ifndef CURRICULUM_MERGE_H
#define CURRICULUM_MERGE_H

#include "curriculum/curriculum.h"

struct merge_part {
    const struct task *task;
    const json_t *answer; /* CONTRACT_ANSWER, checked */
};

/* A piece has the name of the first problem that has it. It needs what any of
 * its problems says, as long as no piece comes to need itself. Pieces and
 * problems are independent of `part` afterwards. Release in any case. */
int curriculum_merge(struct curriculum *out, const struct merge_part *part,
                     size_t n, struct err *e);

#endif
