/* probe.h: how far each pack gets on this machine. A pack's probe.py tells in
 * one line; what it says and how it failed both end in a level and a reason. */
#ifndef PACK_PROBE_H
#define PACK_PROBE_H

#include "io/batch.h"

#include <stddef.h>

enum probe_level { PROBE_BROKEN, PROBE_CHECKS, PROBE_COMPILE, PROBE_RUN };
#define PROBE_LEVELS 4
extern const char *const probe_levels[PROBE_LEVELS]; /* "broken", "checks", … */

struct probe {
    enum probe_level level;
    char *why; /* one line; the caller frees */
};

/* The program to run for the pack in `dir`; `argv` (4 places) and the strings
 * must live until it has run. */
void probe_command(struct proc_opts *o, const char **argv, const char *python,
                   const char *dir);
/* What the run told. */
void probe_read(struct probe *p, const struct batch_item *ran);

#endif
