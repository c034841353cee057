/* running.h: what `run` and `resume` print while a run works and when it ends. */
#ifndef CMD_RUNNING_H
#define CMD_RUNNING_H

#include "run/run.h"

/* Returns an exit status, or -1. */
int running(struct run_settings *s, enum run_how how, struct err *e);
/* What a run would cost. */
int running_estimate(struct run_settings *s, struct err *e);

#endif
