/* mock.h: a whole run around a model and a verifier that answer by rule. The
 * search, the store, the prompts, the index and the pack are the real ones; so
 * is the front of the model. For tests and benchmarks of the search. */
#ifndef TESTS_MOCK_H
#define TESTS_MOCK_H

#include "llm/ledger.h"
#include "llm/llm.h"
#include "llm/provider.h"
#include "pack/pack.h"
#include "prompt/prompt.h"
#include "search/search.h"
#include "source/task.h"
#include "store/store.h"

/* How the model and the verifier behave. */
struct mock_rule {
    /* Appends the reply to a request; NULL: a plan, or a program that names its
     * task and attempt. */
    void (*reply)(const struct llm_request *r, struct buf *out, void *arg);
    /* How the request ends; NULL: it is answered. */
    enum send_outcome (*outcome)(const struct llm_request *r, void *arg);
    /* The verdict on a program; NULL: mock_solves() decides. */
    const char *(*judge)(const struct task *t, struct str code, int attempt,
                         void *arg);
    size_t dead_after;  /* programs that are judged before nobody is there to;
                           0: somebody always is */
    int64_t latency_ns; /* of both; 0: the next turn of the loop */
    void *arg;
};

/* A third of all attempts, fixed by task and number. */
bool mock_solves(const char *task, int attempt);

struct mock {
    struct mock_rule rule;
    struct loop *loop;
    struct store *store;
    struct budget budget;
    struct llm *llm;
    struct ledger *ledger;
    struct prompts *prompts;
    struct pack *pack;
    struct collection tasks;
    const struct search_piece *piece; /* what the last `pieces` tasks are */
    size_t pieces;
    struct verifier *verifier;
    struct search *search;
    struct price price;
    const struct search_shared *shared; /* an archive of others, or NULL */
    const char *spool; /* a folder that answers in place of the rule, or NULL */
    struct llm_opts opts;
    size_t asked;  /* requests that went out */
    size_t judged; /* programs that were verified */
    size_t peak;   /* requests under way at once */
    size_t sending;
};

extern const struct search_opts mock_opts; /* monkeys, 5 attempts */

/* Writes `n` small tasks into `dir`/tasks, of several families. */
int mock_tasks(const char *dir, size_t n, struct err *e);
/* A run in `dir`, new or gone on with. `in_flight` calls at once. */
int mock_open(struct mock *m, const char *dir, const struct search_opts *o,
              int64_t in_flight, struct err *e);
int mock_run(struct mock *m, enum search_end *end, struct err *e);
int mock_close(struct mock *m, struct err *e);

/* A small curriculum for mock_tasks() of at least MOCK_CURRICULUM tasks: the
 * last MOCK_PIECES of MOCK_CURRICULUM are pieces of tasks 0 and 1; task 2 has
 * none. */
#define MOCK_CURRICULUM 9
#define MOCK_PIECES     6
extern const struct search_piece mock_pieces[MOCK_PIECES];

/* The tables attempt, shown and entry as text. */
int mock_dump(struct store *s, struct buf *out, struct err *e);

#endif
