/* run_int.h: a run put together; shared by the files behind running.h. */
#ifndef CMD_RUN_INT_H
#define CMD_RUN_INT_H

#include "base/arena.h"
#include "cmd/running.h"
#include "find/embed.h"
#include "io/term.h"
#include "pack/packs.h"
#include "prompt/prompt.h"
#include "run/kernel.h"
#include "search/search.h"
#include "store/lock.h"
#include "task/collection.h"
#include "verify/door.h"

struct running {
    struct run_values *v;
    bool resume;
    struct home home;
    struct packs_path path;
    struct pack *pack;
    struct collection tasks; /* in the run's order */
    struct search_opts opt;
    struct prompts *prompts;
    /* examples that are there from the start */
    struct kernel *kernel;
    const char **origin;
    size_t kernel_len, kernel_cap, origin_cap;
    /* vectors: of each task, then of each kernel */
    float *vectors;
    size_t dim;
    /* what is open */
    struct lock lock;
    bool locked, made_dir, made; /* the folder, a run in it */
    bool begun;                  /* there is something to go on with */
    bool stopping;               /* the user has asked once */
    size_t known;                /* tasks in the store */
    struct loop *loop;
    struct store *store;
    struct modeling model;
    struct door *door;
    struct search *search;
    struct term *bar;
    struct job_opts job;
    struct door_opts door_opts;
    char secret[HASH_HEX];
    struct arena memory;
};

/* run_prepare.c: everything that can be wrong before anything is written. */
int run_prepare(struct running *r, struct err *e);
void run_unprepare(struct running *r);

/* run_kernels.c: the examples of the start, from the pack and --archive. */
int run_kernels_load(struct running *r, struct err *e);
/* The same for a run that goes on: those that it began with, whatever has
 * become of their folders. */
int run_kernels_recall(struct running *r, struct err *e);

/* run_vectors.c: embeddings of tasks and kernels. */
int run_vectors(struct running *r, struct err *e);
/* Whether there can be any, before anything is written. */
int run_vectors_check(struct running *r, struct err *e);

/* run_folder.c: the run's folder: made, or opened. */
int run_folder_open(struct running *r, struct err *e);
/* Writes the run.ini of a run that goes on, once what was given anew is known
 * to work, since it stays. */
int run_folder_keep(struct running *r, struct err *e);
/* Takes away a run that came to nothing before it began. */
void run_folder_undo(const struct running *r);

/* run_dry.c: what it would cost. */
int run_dry(struct running *r, struct err *e);

#endif
