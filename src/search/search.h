/* search.h: the search of a run: tasks, a model, a verifier, an archive that
 * grows, and one of five methods that decides what to try next. The words are
 * explained in docs/ARCHITECTURE.md.
 *
 * In strict order, every decision follows from the options, the stored replies
 * and the stored verdicts. So a run that continues after a crash is the same
 * run: it goes through the rounds again from the start. Finished attempts are
 * taken from the store; an unfinished one is made again from its stored replies.
 * In eager order, an entry joins when its verdict comes, so two runs may differ.
 *
 * What is on disk before what (the store writes rows in the order given):
 *   - a reservation, before its request goes out;
 *   - a reply, before it is used;
 *   - the rows of an attempt (attempt.h), before a later attempt at the task
 *     begins or the round ends;
 *   - the entries that joined at a barrier, before the next round begins; in
 *     eager order an entry, before a request that shows it. */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/err.h"
#include "io/loop.h"
#include "llm/budget.h"
#include "llm/ledger.h"
#include "llm/llm.h"
#include "pack/pack.h"
#include "prompt/prompt.h"
#include "source/task.h"
#include "store/store.h"
#include "verify/verdict.h"
#include "verify/verifier.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the options, as `monkeys run --help` describes them. In strict order, the same options,
 * tasks, examples, replies and verdicts give the same run ---- */

struct search_opts {
    const char *method;    /* a name of method_names */
    const char *retrieval; /* "alternating", "similar", "random", "coverage" */
    const char *order;     /* "strict", "eager" */
    const char *precision, *device;
    int64_t seed;
    int64_t attempts;   /* per task */
    int64_t examples;   /* per prompt */
    int64_t batch;      /* monkeys: tasks per mini-batch */
    int64_t slots;      /* other methods: tasks at once */
    int64_t max_tokens; /* per reply; 0: the provider's setting */
    int64_t phase[3];   /* combined: attempts per task in each phase */
    bool no_stop;       /* make all attempts, also after a success */
    bool no_card;       /* show the guide alone, as in the paper */
    bool no_wait;       /* do not wait for replies in a spool folder */
    /* evolve and combined */
    int64_t islands, history;
    bool diff;
    /* With pieces: see search_add_piece(). */
    int64_t refine_after; /* attempts before a task that stays unsolved gets
                             the pieces of its next level; 0: all at once */
    bool piece_example;   /* an example is a solved piece of the task */
    /* The reviewer, a model that reads correct kernels. "off": never. "loop":
     * each one, before its verdict is stored; a refused kernel is a failed
     * attempt. "end": when every task is solved or has used its attempts, the
     * entries that the run has added to the archive; refused ones leave it. A
     * run that ends otherwise is not reviewed until it is resumed and finishes:
     * until then export writes unreviewed kernels, and a shared archive gets
     * none. */
    const char *reviewer;
    double threshold; /* a lower score is a refusal */
};

/* The methods, in the order in which help lists them; `sep` stands between two
 * of them. Each has a struct method_NAME in method.c. */
#define METHODS(X, sep)        \
    X(monkeys) sep X(sampling) \
    sep X(refine)              \
    sep X(evolve)              \
    sep X(combined)

#define METHOD_WORD(name) #name
#define METHOD_CHOICES    METHODS(METHOD_WORD, "|") /* "monkeys|sampling|…" */
extern const char *const method_names[];            /* NULL at the end */

/* ---- what it works with ---- */

struct search;

/* A kernel that the run has solved, and that has joined its archive. Hashes are
 * those of blobs; a plan may be "". */
struct search_own {
    const struct task *task;
    int64_t ord, attempt;
    const char *plan, *code, *record;
};

/* An archive that other runs share. Kernels of theirs join through
 * search_news(); the run's own are given away. */
struct search_shared {
    /* Strict order, before each round: answer with search_news(), from the
     * loop. Not called again before that. */
    void (*look)(void *arg);
    /* A kernel of the run has joined and, with reviewer "end", has passed. Its
     * rows may not be on disk yet: wait for that (store_after()) before it is
     * given to others. `o` is borrowed for this call. A run that is continued
     * tells of all of them again. */
    void (*own)(const struct search_own *o, void *arg);
    /* The vector of a program; NULL: kernels are given, but none are taken. */
    void (*embed)(struct str text, float *out, void *arg);
    void *arg;
};

/* All borrowed; they outlive the search. */
struct search_parts {
    struct loop *loop;
    struct store *store;
    struct ledger *ledger; /* every call is made through it */
    struct llm *llm;       /* the model */
    const char *model;     /* the model's name, or NULL */
    const struct budget *budget;
    struct prompts *prompts;
    const struct pack *pack;
    struct verifier *verifier;
    const struct job_opts *job;         /* how candidates are judged */
    size_t dim;                         /* of every vector */
    const struct search_shared *shared; /* NULL: none */
};

/* The caller has checked the options: an unknown method is a BUG. */
struct search *search_new(const struct search_parts *p,
                          const struct search_opts *o);
/* Drops attempts that are under way; a later run makes them again. */
void search_free(struct search *s);

/* Before search_run(): adds the tasks in the run's order. `skipped` says why a
 * task takes no part; NULL: it does. `vector` is that of its source, `dim`
 * floats; it is copied. */
void search_add_task(struct search *s, const struct task *t,
                     const char *skipped, const float *vector);
/* A piece of some of these tasks, which is solved like them and counted apart.
 * Numbers are those of tasks and pieces in the order in which they were
 * added. */
struct search_piece {
    const char *kind, *level, *title; /* stored */
    int fineness;                     /* of the level, coarse ones first */
    size_t depth;        /* 0: needs no other; else 1 + the largest of those */
    const size_t *needs; /* pieces */
    size_t need_count;
    const size_t *parents; /* tasks */
    size_t parent_count;
};
/* After all tasks. Copies what it is given. */
void search_add_piece(struct search *s, const struct task *t,
                      const char *skipped, const float *vector,
                      const struct search_piece *p);
/* An entry of the archive. The caller adds those that the run starts with; the
 * search adds the run's own. */
struct search_example {
    const char *origin; /* "seed": the pack's, "archive": --archive, "run",
                           "shared": came while the run was going on */
    const char *name, *task_hash, *evidence;
    struct str problem, plan /* p NULL: none */, solution;
    const float *vector;
    const char *const *ops;
};
/* The version of the shared archive that the next examples were read at. */
void search_add_look(struct search *s, int64_t shared_version);
/* Before search_run(), in their order. Copies the example and stores its
 * row. */
void search_add_example(struct search *s, const struct search_example *x);

/* Whether kernels of the shared archive are of any use to the search: its
 * method shows them. If not, it never looks, and ignores news. */
bool search_takes_news(const struct search *s);
bool search_is_eager(const struct search *s); /* some methods never are */
/* The kernels of the shared archive that the search has not been told of, up to
 * this version of it; their vectors are not needed. One whose task has an entry
 * already does not join. In strict order, only as the answer to look(); in
 * eager order at any time after search_run() began. Ignored once the search is
 * over. */
void search_news(struct search *s, int64_t shared_version,
                 const struct search_example *x, size_t n);

enum search_end {
    SEARCH_DONE,        /* every task is solved or has used its attempts; pieces
                           do not matter */
    SEARCH_WAITING,     /* others must answer first: see below */
    SEARCH_NO_BUDGET,   /* resumable with a higher cap */
    SEARCH_INTERRUPTED, /* search_stop() */
    SEARCH_STUCK,       /* provider or verifier failed tasks; resumable */
};

/* Continues from what the store holds until one of the ends above. -1 when it
 * cannot continue, for instance because the store cannot be written.
 *
 * It ends with SEARCH_WAITING when all that is left waits for a folder that
 * somebody else fills: for verdicts from `--verifier jobs=DIR`, which never
 * arrive while the search runs, or, with `no_wait`, for replies from
 * `--spool DIR`. Without `no_wait` it waits for those. */
int search_run(struct search *s, enum search_end *end, struct err *e);
/* The first call sends no more requests. Replies that are under way are still
 * stored, and programs in them judged, except what comes through a folder; then
 * the search ends. An attempt that would need another request is made again
 * when the run continues, from its stored replies. The second call ends the
 * search at once: a request that is under way counts as lost (ledger.h). */
void search_stop(struct search *s);

struct search_counts {
    /* Of tasks: skipped by the gate, with a correct attempt, set aside. Of
     * attempts: finished, under way. */
    size_t tasks, skipped, solved, aside, attempts, open;
    size_t doubted; /* kernels that the reviewer has refused, in the loop or at
                       the end, since search_run() began */
    int iteration, iterations;
    size_t verdict[VERDICTS];
    size_t calls_in_flight;
    size_t over; /* tasks that make no more attempts, without skipped ones */
    /* Pieces that were released and not skipped, and how many of them are
     * solved. They do not count as tasks, but attempts at them count above. */
    size_t pieces, pieces_solved;
};
/* How many entries have joined the archive. */
size_t search_archive_size(const struct search *s);
struct search_counts search_count(const struct search *s);
/* After SEARCH_NO_BUDGET: `need` of struct ledger_answer. */
struct llm_cost search_need(const struct search *s);

/* Appends one line about the progress. */
void search_describe(const struct search *s, struct buf *out);
/* Has `fn` called from the loop after each attempt and several times a
 * second. */
void search_watch(struct search *s, void (*fn)(void *arg), void *arg);

#endif
