/* settings.h: the settings of a run in one struct, and the table of its
 * options, which the command line, run.ini and --help share. */
#ifndef RUN_SETTINGS_H
#define RUN_SETTINGS_H

#include "base/arena.h"
#include "llm/modeling.h"
#include "verify/verifying.h"

/* Strings are borrowed. */
struct run_settings {
    struct verifying_values verify; /* first, as verifying.h asks */
    struct modeling_values model;
    struct opt_list tasks, define, archive, set;
    const char *dsl, *method, *retrieval, *order, *reviewer, *threshold;
    const char *phases, *out, *prompts, *guide, *embeddings, *embedding_model;
    const char *spool_before; /* resume: the --spool folder so far */
    const char *serve;        /* where to show the run: see httpd_listen.h */
    int64_t attempts, examples, pack_seeds, batch, slots, seed;
    int64_t islands, history;
    const char *curriculum;          /* a level; NULL: tasks are not divided */
    struct opt_list curriculum_from; /* folders of pieces that are ready */
    int64_t refine_after;            /* see struct search_opts */
    bool piece_example;
    bool no_stop, no_card, no_wait, diff, dry_run, force, strict;
};

extern const struct run_settings run_defaults;
extern const struct opt run_table[];

/* Of `run` and `resume` alike. */
#define RUN_SERVE_OPTION                                                     \
    {                                                                        \
        "serve", 0, OPT_MAYBE, "HOST:PORT",                                  \
            "show the run in a browser while it works, as 'monkeys serve' "  \
            "does (default: 127.0.0.1:8123, or another port if that one is " \
            "in "                                                            \
            "use)",                                                          \
            offsetof(struct run_settings, serve), 0, 0                       \
    }

/* Reads the run.ini of the run in `dir`; its settings replace those in `s`.
 * Strings live in `a`. */
int run_settings_read(const char *dir, struct run_settings *s, struct arena *a,
                      struct err *e);

#endif
