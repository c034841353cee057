/* pack_probe.h: what each pack can do on this machine. A pack's probe.py prints
 * one line. That line, or how the probe failed, gives a level and a reason. */
#ifndef PACK_PACK_PROBE_H
#define PACK_PACK_PROBE_H

#include "base/home.h"
#include "base/tick.h"
#include "io/proc.h"

#include <stddef.h>

enum pack_probe_level {
    PACK_PROBE_BROKEN,
    PACK_PROBE_CHECKS,
    PACK_PROBE_COMPILE,
    PACK_PROBE_RUN
};
#define PACK_PROBE_LEVELS 4
extern const char
    *const pack_probe_levels[PACK_PROBE_LEVELS]; /* "broken", "checks", … */

struct pack_probe {
    enum pack_probe_level level;
    char *why; /* one line; the caller frees */
};

/* The command that probes the pack in `dir`, wherever that is: the probe finds
 * the modules of the home's worker/. `argv` (PACK_PROBE_ARGV entries), the home
 * and `dir` must live until it has run. */
#define PACK_PROBE_ARGV 6
/* A probe works for seconds, but a busy machine takes long. */
#define PACK_PROBE_NS (300 * TICK_S)
void pack_probe_command(struct proc_opts *o, const char **argv,
                        const struct home *home, const char *dir);
/* Reads the result of the run. */
void pack_probe_read(struct pack_probe *p, const struct procs_item *ran);

#endif
