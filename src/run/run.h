/* run.h: a run from its settings to its end.
 *
 * A run is a folder: run.ini (every option, resolved), run.db (everything that
 * happened), lock, and, where they are used, curriculum/, workers.json and
 * worker.key. run_open() refuses what cannot work before it writes anything;
 * run_go() works until there is nothing left to do, the budget is used up or
 * somebody stops it; view.h and summary.h read what it did. To continue a run
 * that ended early, open it with RUN_RESUME. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/err.h"
#include "llm/budget.h"
#include "run/settings.h"
#include "run/view.h"
#include "search/search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;

enum run_how {
    RUN_NEW,    /* s->out must not hold a run; NULL: run-DSL-METHOD */
    RUN_RESUME, /* s->out holds one */
};

/* `s` is borrowed and completed: paths become absolute, `out` gets its default,
 * the device is chosen. ERR_USAGE and ERR_INPUT name the remedy. */
struct run *run_open(struct run_settings *s, enum run_how how, struct err *e);
/* Closes the run. Also removes the folder of a new run that failed before it
 * began. -1 when rows that were still queued could not be written. */
int run_close(struct run *r, struct err *e);

/* How far a run has come. */
struct run_progress {
    const char *label; /* what is counted: "tasks checked", "tasks finished" */
    uint64_t done, total;
    const char *note; /* more about it, or NULL */
};
struct run_watch {
    void (*step)(const struct run_progress *p, void *arg);
    void *arg;
};

struct run_result {
    enum search_end end;
    bool searched; /* false: it ended while tasks were divided or checked, or
                      vectors made */
    char *hint;    /* SEARCH_WAITING: how to get the missing answers, or NULL */
    bool replayed; /* the answers came from a recording */
    struct budget budget;
    struct llm_cost need; /* SEARCH_NO_BUDGET: see struct ledger_answer */
};

/* Works until the run ends. SIGINT, SIGTERM and SIGHUP stop it: the first one
 * finishes the requests that have gone out, the second ends it at once, as
 * search_stop() describes. */
int run_go(struct run *r, const struct run_watch *w, struct run_result *out,
           struct err *e);
void run_result_release(struct run_result *x);
/* Opens a view of what is on disk. Close it before the run. */
int run_look(struct run *r, struct run_view *v, struct err *e);

/* What a run would cost, from the prompts it would send first. */
struct run_estimate {
    size_t tasks, pieces; /* of --curriculum-from; others are not known yet */
    int64_t attempts;     /* per task or piece */
    int calls;            /* per attempt */
    /* of one attempt of every task and piece */
    int64_t prompts, tokens_in, worst_usd_micro;
    bool priced; /* false: worst_usd_micro is not known */
};
/* Writes and sends nothing. */
int run_estimate(struct run_settings *s, struct run_estimate *out,
                 struct err *e);

#endif
