/* verifier.c: sends candidates and tasks to a back end, and returns its records. */
#include "verify/verifier.h"

#include "base/mem.h"
#include "verify/backend.h"
#include "verify/check.h"
#include "verify/verdict.h"

#include <stdlib.h>
#include <string.h>

#define TASK_MS   600000  /* for the look at a task */
#define PIECES_MS 1200000 /* for its pieces */

struct real {
    struct verifier verifier; /* first */
    struct loop *loop;
    struct backend *backend;
    struct check *check;
    const char *secret;
    struct question *asked; /* a list */
};

struct question {
    struct real *r;
    const struct pack *pack; /* whose hints apply; NULL: about a task */
    verifier_fn *fn;         /* NULL: withdrawn */
    void *arg;
    struct question *prev, *next;
};

static struct real *real_of(const struct verifier *d)
{
    return (struct real *)d;
}

/* ---- questions ---- */

static struct question *question_new(struct real *r, const struct pack *pack,
                                     verifier_fn *fn, void *arg)
{
    struct question *q = xmalloc(sizeof(*q));

    *q = (struct question){
        .r = r, .pack = pack, .fn = fn, .arg = arg, .next = r->asked};
    if (q->next)
        q->next->prev = q;
    r->asked = q;
    return q;
}

static void question_free(struct question *q)
{
    *(q->prev ? &q->prev->next : &q->r->asked) = q->next;
    if (q->next)
        q->next->prev = q->prev;
    free(q);
}

/* A worker of another version of the program judges by other rules. NULL: these
 * are ours; the caller frees it. */
static char *other_rules(const json_t *record)
{
    if (verdict_in(record) >= VERDICT_INFRA ||
        verdict_rules(record) == VERDICT_RULES)
        return NULL;
    return xasprintf("the worker judged by version %lld of the rules of truth, "
                     "this program has version %d; use the same version of "
                     "both",
                     (long long)verdict_rules(record), VERDICT_RULES);
}

static void on_answer(void *job, const json_t *answer, const char *why,
                      void *arg)
{
    struct question *q = job;
    json_t *record = NULL;
    char *refused = answer && q->pack ? other_rules(answer) : NULL;

    if (refused) {
        answer = NULL;
        why = refused;
    }
    (void)arg;
    if (answer && q->pack) {
        record = json_deep_copy(answer);
        job_add_hint(record, q->pack);
        answer = record;
    }
    if (q->fn)
        q->fn(answer, answer ? NULL : why, q->arg);
    json_decref(record);
    free(refused);
    question_free(q);
}

static int ask(struct real *r, json_t *what, int64_t deadline_ms,
               struct question *q, struct err *e)
{
    if (r->backend->type->ask(r->backend, what, deadline_ms, q, e) == 0)
        return 0;
    question_free(q);
    return -1;
}

/* ---- candidates and tasks ---- */

static int await_here(struct verifier *d, struct verifier_answer *a)
{
    if (a->over.happened || !verifier_elsewhere(d, false))
        return verifier_await(d, a);
    d->type->withdraw(d, a);
    return -1;
}

static int judge(struct verifier *d, const struct candidate *c, verifier_fn *fn,
                 void *arg, struct err *e)
{
    struct real *r = real_of(d);
    const struct ruleset *rules = pack_ruleset(c->pack, "default", e);
    struct check_result found;
    struct job_seeds seeds;
    json_t *record;

    if (!rules)
        return -1;
    found = check_source(r->check, rules, c->code);
    if (!found.accepted && !c->unchecked) {
        record = job_static_reject(&found);
        fn(record, NULL, arg);
        json_decref(record);
        return 0;
    }
    job_seeds(r->secret, c->task->id, c->attempt, &seeds);
    return ask(r, job_verify(c->pack, c->task, c->code, c->job, &seeds),
               job_deadline_ms(c->pack, c->job),
               question_new(r, c->pack, fn, arg), e);
}

static int ask_and_wait(struct real *r, json_t *what, int64_t deadline_ms,
                        struct verifier_answer *out, struct err *e)
{
    struct question *q = question_new(r, NULL, verifier_take, out);

    return ask(r, what, deadline_ms, q, e) < 0 ? -1
                                               : await_here(&r->verifier, out);
}

int verifier_check_task(struct verifier *d, const struct task *t,
                        const struct job_opts *o, struct verifier_answer *out,
                        struct err *e)
{
    struct real *r = real_of(d);
    char seed[HASH_HEX];

    job_seed(r->secret, t->id, "gate", seed);
    return ask_and_wait(r, job_task(t, o, seed), TASK_MS, out, e);
}

int verifier_divide(struct verifier *d, const struct verifier_division *x,
                    struct verifier_answer *out, struct err *e)
{
    struct real *r = real_of(d);
    char seed[HASH_HEX];
    json_t *job;

    job_seed(r->secret, x->task->id, "pieces", seed);
    job = x->proposal ? job_validate(x->task, x->proposal, x->job, seed)
                      : job_decompose(x->task, x->level, x->job, seed);
    return ask_and_wait(r, job, PIECES_MS, out, e);
}

/* ---- waiting ---- */

static bool is_dead(const struct verifier *d)
{
    const struct backend *b = real_of(d)->backend;

    return b->type->is_dead && b->type->is_dead(b);
}

static size_t elsewhere(const struct verifier *d, bool stopping)
{
    const struct backend *b = real_of(d)->backend;
    bool lonely = stopping && b->type->is_lonely && b->type->is_lonely(b);

    return b->type->elsewhere || lonely ? b->pending : 0;
}

/* The newest comes first: of an older one with this `arg`, the stack is gone. */
static void real_withdraw(struct verifier *d, const void *arg)
{
    struct question *q = real_of(d)->asked;

    while (q && q->arg != arg)
        q = q->next;
    if (q)
        q->fn = NULL;
}

struct loop *verifier_loop(const struct verifier *d)
{
    return real_of(d)->loop;
}

char *verifier_hint(const struct verifier *d)
{
    const struct backend *b = real_of(d)->backend;

    return b->type->hint ? b->type->hint(b) : NULL;
}

/* ---- opening and closing ---- */

static const struct verifier_type real_type = {judge, is_dead, elsewhere,
                                               real_withdraw};

struct verifier *verifier_open(struct loop *l, const struct verifier_opts *o,
                               struct err *e)
{
    struct real *r = xcalloc(1, sizeof(*r));

    r->verifier.type = &real_type;
    r->loop = l;
    r->backend = backend_open(l, o, on_answer, r, e);
    if (!r->backend) {
        free(r);
        return NULL;
    }
    r->check = check_new(NULL);
    r->secret = o->secret ? o->secret : r->backend->secret;
    return &r->verifier;
}

void verifier_close(struct verifier *d)
{
    struct real *r = real_of(d);

    if (!d)
        return;
    backend_close(r->backend);
    for (struct question *q = r->asked, *next; q; q = next) {
        next = q->next;
        free(q);
    }
    check_free(r->check);
    free(r);
}

int verifier_judge(struct verifier *d, const struct candidate *c,
                   verifier_fn *fn, void *arg, struct err *e)
{
    return d->type->judge(d, c, fn, arg, e);
}

int verifier_ask(struct verifier *d, const struct candidate *c,
                 struct verifier_answer *out, struct err *e)
{
    return verifier_judge(d, c, verifier_take, out, e) < 0 ? -1
                                                           : await_here(d, out);
}

bool verifier_is_dead(const struct verifier *d)
{
    return d->type->is_dead(d);
}

size_t verifier_elsewhere(const struct verifier *d, bool stopping)
{
    return d->type->elsewhere(d, stopping);
}

/* ---- for coroutines ---- */

void verifier_take(const json_t *record, const char *why, void *arg)
{
    struct verifier_answer *a = arg;

    a->record = record ? json_copy((json_t *)record) : NULL;
    a->why = xstrdup(why ? why : "");
    co_happen(&a->over);
}

int verifier_await(struct verifier *d, struct verifier_answer *a)
{
    if (co_wait(&a->over) == 0)
        return 0;
    if (d->type->withdraw)
        d->type->withdraw(d, a);
    return -1;
}

json_t *verifier_answer_record(const struct verifier_answer *a)
{
    if (a->record)
        return json_incref(a->record);
    return json_pack("{s:s, s:o}", "verdict", verdicts[VERDICT_INFRA].name,
                     "infra", jsn_text(a->why, strlen(a->why)));
}

void verifier_answer_release(struct verifier_answer *a)
{
    json_decref(a->record);
    free(a->why);
}
