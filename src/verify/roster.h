/* roster.h: a run's workers, for display. A file has a line for each worker
 * that has ever joined, and any program can read it during the run. Nothing
 * depends on it. */
#ifndef VERIFY_ROSTER_H
#define VERIFY_ROSTER_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROSTER_FILE "workers.json" /* in the folder of a run */

enum roster_state {
    ROSTER_IDLE, /* connected */
    ROSTER_BUSY,
    ROSTER_LOST,   /* its connection ended */
    ROSTER_FENCED, /* it was silent: nothing it may still say is accepted */
    ROSTER_LEFT,   /* the run ended first */
    ROSTER_STATES,
};
extern const char *const roster_states[ROSTER_STATES];

/* One worker. The caller keeps it up to date. */
struct roster_line {
    char name[100], device[32];
    enum roster_state state; /* roster_set() changes it */
    int64_t since_us, heard_us;
    size_t slots, truths; /* the latter: tasks whose truth it has */
    size_t verdicts;      /* since it joined */
    size_t before;        /* verdicts when it was connected earlier */
    size_t refused;       /* answers that were not accepted */
    size_t joined;        /* how many times */
    uint64_t memory_bytes, taken_bytes; /* 0: not known */
    json_t *tasks;                      /* in hand, the first leased first */
    struct roster_line *prev, *next;    /* private */
};

struct roster;

/* `path` NULL: it is kept nowhere. */
struct roster *roster_new(const char *path);
void roster_free(struct roster *r);

/* A worker of this name has joined, for the first time or again. */
struct roster_line *roster_join(struct roster *r, const char *name);
/* Sets the time, too, if the state is another one. */
void roster_set(struct roster_line *l, enum roster_state state);
/* Replaces the file, at most once a second, and less often where that is slow.
 * If it cannot be written, one line of the log says so. */
void roster_write(struct roster *r);
/* At the end of the run: connected workers are marked as left. */
void roster_close(struct roster *r);

/* What the file of a run says: {"at": …, "workers": […]}, docs/PAGE.md; NULL
 * without an error: there is none. */
json_t *roster_read(const char *dir, struct err *e);

#endif
