/* parts.h: a run put together: what run.c, tasks.c, run_pieces.c, sharing.c and run_folder.c
 * work on. Others see run.h. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H

#include "base/arena.h"
#include "base/home.h"
#include "pack/pack.h"
#include "prompt/prompt.h"
#include "run/kernel.h"
#include "run/run.h"
#include "search/embed.h"
#include "search/search.h"
#include "source/task.h"
#include "store/lock.h"
#include "verify/verifier.h"

struct maker;
struct embed;
struct run_share;

#define RUN_CURRICULUM "curriculum" /* a folder of the run's */

struct run {
    struct run_settings *set;
    bool resume;
    struct home home;
    struct packs_path path;
    struct pack *pack;
    struct collection tasks; /* in the run's order; pieces follow the tasks */
    size_t originals;        /* tasks that are no pieces */
    struct search_piece *piece;
    bool complete; /* the store has all of them */
    char **why;    /* of each task: why the gate refuses it, or NULL */
    struct search_opts opt;
    struct prompts *prompts;
    /* the examples that the run starts with */
    struct kernel *kernel;
    const char **origin;
    size_t kernel_len, kernel_cap, origin_cap;
    /* vectors: of each task, then of each kernel */
    float *vectors;
    size_t dim;
    struct embed *embed; /* NULL: vectors come from an endpoint */
    /* the shared archive */
    const char *shared_address; /* with the password; NULL: none */
    bool shared_known;          /* the store has the next two */
    int64_t shared_first;       /* its version that the run started with */
    int64_t shared_last;        /* its version that the run has read */
    struct run_share *share;
    /* what is open */
    struct lock lock;
    /* made_dir: this process created the folder; made: and the run in it */
    bool made_dir, made;
    bool begun;    /* the run can be continued, so its folder is kept */
    bool stopping; /* the user has asked to stop */
    bool hurry;    /* and asked again before the search began */
    size_t known;  /* tasks in the store */
    struct loop *loop;
    struct store *store;
    struct modeling model;
    struct llm *embedder; /* NULL: vectors are built in */
    struct ledger *ledger;
    struct verifier *verifier;
    struct search *search;
    struct maker *maker;  /* while tasks are divided */
    struct ask_all *gate; /* while they are checked */
    bool divided;         /* this process has begun to */
    const struct run_watch *watch;
    struct run_progress progress;
    struct job_opts job;
    struct verifier_opts verifier_opts;
    char secret[HASH_HEX];
    struct arena memory;
};

/* tasks.c: the tasks, from their files. */
int run_tasks_load(struct run *r, struct err *e);
/* The same for a run that is continued: what they were when it began. */
int run_tasks_recall(struct run *r, struct err *e);
/* Stores what the table of tasks has no column for. */
void run_tasks_keep(struct run *r);

/* run_pieces.c: whether the options about pieces fit together. */
int run_pieces_check(const struct run_settings *s, struct err *e);
/* After the tasks: adds the pieces of these folders, coarse levels first. */
int run_pieces_load(struct run *r, const char *const *dir, size_t n,
                    struct err *e);
/* Before the search stores them: what the table has no column for. */
void run_pieces_keep(struct run *r);
/* What the pieces in r->tasks, which were recalled, are; `row` has all tasks and
 * pieces. */
int run_pieces_recall(struct run *r, const struct row_task *row, struct err *e);

/* Divides the tasks for --curriculum, unless they were before, and
 * adds the pieces. 1: stopped, or answers are missing. */
int run_divide(struct run *r, struct err *e);

/* run.c: tells r->watch how far it is. */
void run_tell(struct run *r, uint64_t done, const char *note);
void run_begin_phase(struct run *r, const char *label, size_t total);

/* The examples that a run starts with, from the pack and
 * --archive. */
int run_examples_load(struct run *r, struct err *e);
/* The same for a run that is continued: those that it started with, from its
 * store, even if their folders have changed. */
int run_examples_recall(struct run *r, struct err *e);

void run_examples_add(struct run *r, const struct kernel *k,
                      const char *origin); /* takes the kernel */

/* sharing.c: finds the shared archive among the archives of --archive. */
int run_share_find(struct run *r, struct err *e);
/* Adds its kernels to the examples that the run starts with. */
int run_share_load(struct run *r, struct err *e);
/* How far a run that is continued has read it. */
int run_share_recall(struct run *r, struct err *e);
/* What the search needs of it; NULL: there is none. */
const struct search_shared *run_share_open(struct run *r);
/* From here on kernels come and go. */
int run_share_begin(struct run *r, struct err *e);
/* After the search: sends what is left, and says what is missing. */
int run_share_finish(struct run *r, struct err *e);
void run_share_close(struct run *r);

/* Opens the endpoint of --embeddings, before anything is written. */
int run_vectors_open(struct run *r, struct err *e);
/* Makes the vectors of tasks and examples: an enum vectors_end, or -1. */
int run_vectors(struct run *r, struct run_result *out, struct err *e);

/* run_folder.c: the run's folder: made, or opened. */
int run_folder_open(struct run *r, struct err *e);
/* Writes the run.ini of a run that is continued, once its new options are known
 * to work. */
int run_folder_keep(struct run *r, struct err *e);
/* Removes a run that failed before it began. */
void run_folder_undo(const struct run *r);

#endif
