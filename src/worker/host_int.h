/* host_int.h: what host.c (jobs, the judge), zygote.c (zygotes and their
 * children) share. Nobody else includes it. */
#ifndef WORKER_HOST_INT_H
#define WORKER_HOST_INT_H

#include "io/server.h"
#include "worker/child.h"
#include "worker/health.h"
#include "worker/host.h"

#define START_S  120 /* what a server may do nothing for while it starts */
#define RESTARTS 5   /* of a server in a row, without one finished job */

#define SERVICE "service-" /* how the judge names what is no job's */

/* What a child is for: a job, or a service that outlives jobs, such as the
 * executor of a GPU. A service has a child and nothing else. */
struct job {
    struct job *next;
    bool service;
    char id[FRAME_ID_MAX + 1];
    int64_t deadline_ms;
    char *payload;
    size_t len;
    int tries;
    bool begun;      /* the judge has asked for a child */
    int64_t left_ns; /* of what its children may spend in all */
    struct child *child;
    /* The child that the judge asked for. */
    char pack[128];
    uint64_t memory;
    int64_t stage_ms;
    struct zygote *held_by; /* it waits until this one's probe is back */
};

struct zygote {
    struct zygote *next;
    struct host *host;
    struct server server;
    char pack[128];
    char *dir;
    bool ready;
    int64_t warm; /* children that wait for a job */
    struct health health;
    struct child *probe; /* under way; no other child is made meanwhile */
    uint64_t end_id;     /* it is sick and about to be replaced */
};

/* Whether a pack's zygote can start here. */
struct known {
    struct known *next;
    char pack[128];
    bool fit;  /* one was ready once */
    char *why; /* it cannot; NULL: it can, or was not tried */
};

/* The memory group of a child whose last process is still dying. */
struct stale {
    struct stale *next;
    struct cgroup group;
};

struct host {
    struct loop *loop;
    struct host_opts o;
    host_out_fn *out;
    void *arg;
    struct server judge;
    bool leaving; /* nothing is started any more */
    bool judge_ready;
    bool judge_fit;  /* one was ready once */
    bool judge_lost; /* it cannot start, or keeps ending: no more is started */
    struct health judge_health;
    int64_t judge_spoke_ns;
    uint64_t watch_timer;
    int failures;        /* ends of servers since the last answer */
    unsigned long names; /* children named so far */
    struct zygote *zygotes;
    struct child *children;
    struct stale *stale;
    struct known *known;
    struct job *jobs, **last;
    struct job *services;
    size_t pending;
};

/* host.c */
/* Passes on its last words; when the reason is `known`, only if there are any. */
void host_note_end(struct host *h, const struct server *s, const char *who,
                   bool known);
/* It is stuck: `arg` is the server, which ends. */
void host_end_server(void *arg);
/* A candidate ended as no healthy one does: the judge is asked how it is. */
void host_ask_judge(struct host *h);

/* Its child must be told another deadline within `ms`, and before the job has
 * spent its time. */
void host_stage(struct job *j, int64_t ms);

/* zygote.c */
/* Gives `j` the child that the judge asked for, now or when there is one. */
void zygote_want_child(struct host *h, struct job *j);
/* Asks those that are silent too long, replaces those that are stuck. */
void zygotes_watch(struct host *h);
void zygotes_end(struct host *h);

#endif
