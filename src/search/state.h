/* state.h: what a search knows while it works: its tasks with their finished attempts,
 * the round, what ends it. Shared by the files of this folder; others see search.h.
 *
 * A file uses only files that stand above it here. make check-circles finds
 * circles, but does not read this list:
 *
 *   find.c, embed.c   programs as vectors, and the nearest of them
 *   evolve_db.c  the population of a task; pure
 *   archive.c    the solved kernels that examples come from
 *   resume.c     what the store of the run holds
 *   state.c      tasks and pieces, their order, what ends the run
 *   entries.c    which kernels join the archive, and when
 *   method.c     the methods
 *   reviewer.c   a model reads a kernel
 *   attempt.c    one attempt
 *   search.c     rounds, slots, a run as a whole */
#ifndef SEARCH_STATE_H
#define SEARCH_STATE_H

#include "base/hash.h"
#include "io/co.h"
#include "search/archive.h"
#include "search/evolve_db.h"
#include "search/method.h"
#include "search/search.h"

struct resume;
struct reviewer;
struct attempt;
struct slot;

/* A finished attempt, as later ones need it; texts are in the store. */
struct finished {
    enum verdict verdict;
    double fitness;
    /* solved: correct, with any evidence; archivable: correct at E3, so that it
     * may join the archive */
    bool solved, archivable;
    char code[HASH_HEX], normal[HASH_HEX]; /* "" without code */
    char plan[HASH_HEX], feedback[HASH_HEX], record[HASH_HEX];
};

/* A task of the run, or a piece of tasks. */
struct task_state {
    const struct task *task;
    struct search_piece *piece; /* NULL: it is a task */
    size_t depth;               /* of a task, 1 + that of its deepest piece */
    bool waiting;               /* a piece that is not released yet */
    int late;                   /* iterations that were over when the piece was
                                   released */
    int64_t ord;
    char source[HASH_HEX]; /* of the task's text */
    char *skipped;         /* NULL: it takes part */
    float *vector;
    struct finished *finished;
    size_t finished_len, finished_cap; /* attempt n is finished[n - 1] */
    int left;      /* attempts it may still make in this round */
    bool solved;   /* a correct attempt ends the task, unless no_stop */
    bool aside;    /* provider or verifier failed it: no more attempts until
                      the run is resumed, which makes this one again */
    int solved_at; /* the first solved attempt; 0: none */
    int join_at;   /* the first archivable attempt; 0: none */
    bool joined;
    bool given;    /* to the shared archive */
    int64_t entry; /* in the archive, once joined */
    struct evolve_db *db;
};

struct search {
    struct search_parts part;
    struct search_opts opt;
    const struct method *method;
    bool eager; /* kernels join at once, not at barriers */
    struct task_state *task;
    size_t task_len, task_cap;
    size_t *order; /* of tasks and pieces: by depth, then as they were added */
    struct archive *archive;
    struct resume *resume;
    struct reviewer *reviewer; /* NULL: "off" */
    struct co *rounds;         /* goes through the rounds; NULL: over */
    struct slot *slot;         /* list */
    struct co_event slot_left; /* one is free */
    bool at_barrier; /* waits for the shared archive, or until the entries that
                        joined are on disk */
    bool rounds_over;
    bool looks;   /* takes kernels from the shared archive */
    bool looking; /* waits for them at a barrier */
    struct co_event looked;
    int64_t barrier_version; /* the archive's before the barrier */
    int64_t look_count;
    struct round round;
    size_t open_count; /* attempts */
    int stopping;      /* 1: sends no more requests, 2: ends now */
    bool ended;
    bool no_budget;
    struct llm_cost need; /* no_budget: see struct ledger_answer */
    bool worker_dead;     /* nothing more can be judged */
    struct err failed;
    enum search_end end;
    struct search_counts count;
    uint64_t timer;
    void (*watch)(void *arg);
    void *watch_arg;
};

void state_add_task(struct search *s, const struct task *t, const char *skipped,
                    const float *vector, const struct search_piece *p);
void state_release_tasks(struct search *s);
/* Adds a finished attempt to those of its task. */
void state_apply(struct search *s, struct task_state *t,
                 const struct finished *p);
/* An error that the run cannot survive: it ends at once. */
void state_fail(struct search *s, const struct err *e);
/* Sends no more requests; what is under way is finished. */
void state_stop(struct search *s);

/* When all tasks are there: their depths and their order. */
void state_order(struct search *s);
/* Before an iteration: with `refine_after` N, releases the next level of pieces
 * of each task that is unsolved after N more attempts of its own. */
void state_release_pieces(struct search *s, int iteration);
/* Whether some task is still being worked on. Pieces are worked on only while
 * this is true. */
bool state_is_open(const struct search *s);
/* The piece of the task that its attempt `number` is shown: of those among
 * the first `visible` entries of the archive, deepest first, each in its turn.
 * Returns its entry, or 0. */
int64_t state_piece(const struct search *s, const struct task_state *t,
                    int number, size_t visible);

/* ---- entries.c ---- */

/* At a barrier: the first archivable kernel of each task joins the archive, in the
 * order of the round and with one version for all. Entries join in memory
 * first; their rows are on disk before the next round begins. After a crash,
 * stored entries join first, under their versions; those that were missing
 * follow in the order of the run, and get the same version unless an attempt has
 * seen it. */
void entries_join_at_barrier(struct search *s);
/* Eager order: the task's kernel joins as soon as it is archivable. */
void entries_join_now(struct search *s, struct task_state *t);
/* An entry from outside the run: joins, and is stored. Its vector may be NULL:
 * it is then made. */
void entries_add(struct search *s, const struct search_example *x,
                 int64_t version);
/* News from the shared archive: what is new joins, under one version, and the
 * look is stored. Returns how many have joined. */
size_t entries_add_news(struct search *s, int64_t shared_version,
                        const struct search_example *x, size_t n);
/* Gives a kernel that has joined to the shared archive, once, if there is
 * one. */
void entries_give(struct search *s, struct task_state *t);

#endif
