/* search_int.h: what the files of the search share. */
#ifndef SEARCH_SEARCH_INT_H
#define SEARCH_SEARCH_INT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"
#include "search/archive.h"
#include "search/evolve_db.h"
#include "search/search.h"

#define MAX_EXAMPLES 16
#define MAX_HISTORY  8
/* A call that fails so often sets its task aside, or a reviewer's is given
 * up. */
#define CALL_FAILURES 5

/* A finished attempt, as later ones need it; texts are in the store. */
struct past {
    enum verdict verdict;
    double fitness;
    bool solved, sealed;                   /* sealed: may join the archive */
    char code[HASH_HEX], normal[HASH_HEX]; /* "" without code */
    char plan[HASH_HEX], feedback[HASH_HEX], record[HASH_HEX];
};

/* A task of the run. */
struct subject {
    const struct task *task;
    int64_t ord;
    char source[HASH_HEX]; /* of the task's text */
    char *skipped;         /* NULL: it takes part */
    float *vector;
    struct past *past;
    size_t past_len, past_cap; /* attempt n is past[n - 1] */
    struct past *kept;         /* attempts in the store when the run began */
    size_t kept_len, kept_cap;
    int left; /* attempts it may still make in this round */
    bool solved;
    bool aside;    /* the machinery failed it */
    int solved_at; /* the first attempt that was right; 0: none */
    int join_at;   /* the first that may join the archive; 0: none */
    bool joined;
    int64_t entry; /* in the archive, once joined */
    char *refused; /* why a reviewer at the end wants it out; NULL: not */
    struct evolve_db *db;
};

enum attempt_state { ASKING, JUDGING, STORING };

/* An attempt under way. */
struct attempt {
    struct search *s;
    struct subject *subject;
    int number, iteration, batch;
    enum attempt_state state;
    struct arena memory;
    /* what was decided */
    const char *retrieval;
    int64_t version;
    struct find_hit hit[MAX_EXAMPLES];
    size_t hit_count;
    int parent, island; /* 0, -1: none */
    int other[MAX_HISTORY];
    size_t other_count;
    /* the call under way */
    const char *stage;
    int64_t try;
    int failures;
    struct prompt prompt;
    struct llm_request request;
    struct llm_call *call;
    struct row_call row;
    struct buf reply;
    bool cut;
    /* what came of it */
    struct str plan, code;
    char plan_blob[HASH_HEX], code_blob[HASH_HEX], normal[HASH_HEX];
    json_t *record;
    struct past result;
    int same_as;
    int infra;               /* how often the verifier had no verdict */
    int64_t judged_ns;       /* since when it is, then how long it took */
    struct reading *reading; /* by the reviewer, or NULL */
    struct attempt *next_parked;
    struct attempt *prev, *next; /* all that are under way */
};

/* Tasks that work on their own, `each` attempts at most, until a barrier. */
struct round {
    size_t *subject; /* indices */
    size_t count, cap;
    size_t next;   /* the first that has not begun */
    size_t active; /* under way */
    int each, iteration, batch;
};

struct method {
    const char *name;
    bool two_stage; /* a plan, then code */
    bool evolves;   /* keeps a database of programs for each task */
    bool (*next_round)(struct search *s, struct round *r);
    /* Chooses examples for an attempt. */
    void (*choose)(struct search *s, struct attempt *a);
};
extern const struct method methods[];

/* A reply in the store that may still be needed: no finished attempt has used
 * it, or it is a reviewer's. */
struct kept_reply {
    char reply[HASH_HEX];
    bool cut;
};

/* A verdict in the store whose attempt is not. */
struct kept_verdict {
    char record[HASH_HEX];
    char times[]; /* JSON, or "" */
};

/* A call that waits for others since before the run went on. */
struct kept_open {
    struct llm_cost held;
};

/* A member of the archive that joined before the run went on. */
struct kept_entry {
    size_t subject;
    int64_t version;
};

struct search {
    struct search_parts part;
    struct search_opts opt;
    const struct method *method;
    struct subject *subject;
    size_t subject_len, subject_cap;
    struct archive *archive;
    struct round round;
    size_t round_number;
    struct map kept;     /* "task/attempt/stage": struct kept_reply */
    struct map tries;    /* the same: how often it was asked, as intptr_t */
    struct map waiting;  /* the same: struct kept_open */
    struct map verdicts; /* "task/attempt": struct kept_verdict */
    struct map reviews;  /* what the store knows of, by what was asked */
    struct kept_entry *entry; /* in their order */
    size_t entry_len, entry_cap, entry_next;
    int64_t seen_version;     /* the last that a stored attempt saw */
    struct attempt *open;     /* list */
    struct reading *readings; /* list */
    size_t open_count, in_flight, reviewing;
    struct attempt *parked; /* wait for room under the cap */
    int stopping;           /* 1: asks no more, 2: ends now */
    bool no_budget, finished, storing_barrier, reviews_wait;
    bool broken; /* nobody judges any more */
    struct err failed;
    enum search_end end;
    struct search_counts count;
    uint64_t timer;
    void (*watch)(void *arg);
    void *watch_arg;
};

/* schedule.c */
void schedule_pump(struct search *s);
void schedule_attempt_over(struct search *s, struct subject *t);
/* The end may have come. */
void schedule_check_end(struct search *s);
void schedule_fail(struct search *s, const struct err *e);
/* What could not be judged is not asked for. */
void schedule_break(struct search *s);
/* Whether members join the archive as they come. */
bool schedule_eager(const struct search *s);

/* attempt.c */
void attempt_start(struct search *s, struct subject *t);
void attempt_free(struct attempt *a);
/* It is made when the run goes on; what it has is in the store. */
void attempt_abandon(struct attempt *a);
void attempt_replied(struct attempt *a); /* a->reply holds a stored reply */
void attempt_aside(struct attempt *a, const char *why);

/* ask.c: a->stage is asked: from the store, or of the model. */
void ask_stage(struct attempt *a, const char *stage);
void ask_park(struct attempt *a); /* it waits for room under the cap */
void ask_unpark(struct search *s);
void ask_withdraw(struct search *s); /* what has not gone out */
int64_t call_now_us(void);
/* How often the store says that it was asked. */
int64_t call_tries(const struct search *s, const struct subject *t, int attempt,
                   const char *stage);
/* The reply that the store holds to it, or NULL. */
const struct kept_reply *call_kept(const struct search *s,
                                   const struct subject *t, int attempt,
                                   const char *stage);
/* What the budget holds for it since before; `forget`: no more. */
struct llm_cost call_held(struct search *s, const struct subject *t,
                          int attempt, const char *stage, bool forget);
/* The reservation of `c` (NULL: it is over) is stored, or cannot be: it goes
 * out, unless the run stops and it has to wait for its turn. */
void call_go(struct search *s, struct llm_call *c, const struct err *e);
void call_fill(struct row_call *row, const struct llm_reply *r);

/* result.c: what a record means, and its rows. */
void result_store(struct attempt *a);
/* A finished attempt becomes the past of its subject. */
void result_apply(struct search *s, struct subject *t, const struct past *p);
/* Puts times that were kept apart back into a record. */
void result_give_times(json_t *record, const char *times);

/* resume.c */
int resume_load(struct search *s, struct err *e);

/* review.c: the reviewer reads a correct kernel; true when it has begun and
 * will go on by itself. */
bool review_begin(struct attempt *a);
void review_again(struct attempt *a); /* it was parked */
void review_drop(struct reading *g);
void review_withdraw(struct search *s); /* what has not gone out */
/* All that is left to read may wait for others. */
void review_check_end(struct search *s);
/* Reads every solved kernel; for --reviewer end. */
int review_all(struct search *s, enum search_end *end, struct err *e);

#endif
