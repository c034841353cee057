/* move.h: copies, fills and counters in this process's memory. */
#ifndef RUNNER_MOVE_H
#define RUNNER_MOVE_H

#include "runner/plan.h"

void move_copy(char *region, const struct plan_node *n);
void move_fill(char *region, const struct plan_node *n);
void move_add(char *region, const struct plan_node *n);

#endif
