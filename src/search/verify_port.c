/* verify_port.c: candidates and tasks to the verifier. */
#include "search/verify_port.h"

#include "base/mem.h"
#include "verify/check.h"

#include <stdlib.h>
#include <string.h>

#define GATE_MS 600000

struct verify_port {
    struct search_port port; /* first */
    struct verify_port_opts o;
    struct loop *loop;
    struct verifier *verifier;
    struct check *check;
    const struct ruleset *rules;
    struct question *asked; /* a list */
    bool folder;            /* answers come from elsewhere */
    /* the gate */
    char **why;
    size_t gated, unchecked; /* unchecked: the machinery failed on it */
    size_t unchecked_at;     /* the last of them */
    void (*step)(void *arg);
    void *step_arg;
};

/* A question: a candidate's, or (fn NULL) one of the gate. */
struct question {
    struct verify_port *p;
    port_fn *fn;
    void *arg;
    size_t index;
    struct question *prev, *next;
};

static struct question *question_new(struct verify_port *p, port_fn *fn,
                                     void *arg, size_t index)
{
    struct question *q = xmalloc(sizeof(*q));

    *q = (struct question){
        .p = p, .fn = fn, .arg = arg, .index = index, .next = p->asked};
    if (q->next)
        q->next->prev = q;
    p->asked = q;
    return q;
}

static void question_free(struct question *q)
{
    if (q->prev)
        q->prev->next = q->next;
    else
        q->p->asked = q->next;
    if (q->next)
        q->next->prev = q->prev;
    free(q);
}

/* ---- candidates ---- */

static void on_gate_answer(struct question *q, const json_t *answer,
                           const char *why);

static void on_answer(void *job, const json_t *answer, const char *why,
                      void *arg)
{
    struct question *q = job;
    struct verify_port *p = arg;
    json_t *record;

    if (!q->fn) {
        on_gate_answer(q, answer, why);
    } else if (!answer) {
        q->fn(NULL, why, q->arg);
    } else {
        record = json_deep_copy(answer);
        job_add_hint(record, p->o.pack);
        q->fn(record, NULL, q->arg);
        json_decref(record);
    }
    question_free(q);
}

static int judge(struct search_port *port, const struct task *t,
                 struct str code, int attempt, port_fn *fn, void *arg,
                 struct err *e)
{
    struct verify_port *p = (struct verify_port *)port;
    struct check_result r = check_source(p->check, p->rules, code);
    struct question *q;
    struct job_seeds seeds;
    json_t *record;

    if (!r.accepted) {
        record = job_static_reject(&r);
        fn(record, NULL, arg);
        json_decref(record);
        return 0;
    }
    q = question_new(p, fn, arg, 0);
    job_seeds(p->o.secret, t->id, (size_t)attempt, &seeds);
    return verifier_ask(p->verifier,
                        job_verify(p->o.pack, t, code, p->o.job, &seeds),
                        job_deadline_ms(p->o.pack, p->o.job), q, e);
}

static bool dead(struct search_port *port)
{
    return verifier_is_dead(((struct verify_port *)port)->verifier);
}

static size_t waiting(struct search_port *port)
{
    struct verify_port *p = (struct verify_port *)port;

    return p->folder ? verifier_pending(p->verifier) : 0;
}

/* ---- the gate ---- */

static char *reasons_of(const json_t *answer)
{
    const json_t *list = json_object_get(answer, "reasons");
    struct buf b;
    char *text;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(&b, "%s%s", i ? "; " : "",
                   json_string_value(json_array_get(list, i)));
    text = xstrdup(b.len ? buf_str(&b) : "the gate gave no reason");
    buf_release(&b);
    return text;
}

static void on_gate_answer(struct question *q, const json_t *answer,
                           const char *why)
{
    struct verify_port *p = q->p;

    p->gated++;
    if (!answer) {
        p->why[q->index] = xasprintf("it could not be checked: %s", why);
        p->unchecked++;
        p->unchecked_at = q->index;
    } else if (!json_is_true(json_object_get(answer, "usable"))) {
        p->why[q->index] = reasons_of(answer);
    }
    p->step(p->step_arg);
}

int verify_port_gate(struct verify_port *p, const struct collection *tasks,
                     char **why, void (*step)(void *arg), void *arg,
                     struct err *e)
{
    char seed[HASH_HEX], *hint = NULL;

    p->why = why;
    p->step = step;
    p->step_arg = arg;
    for (size_t i = 0; i < tasks->len; i++) {
        struct question *q = question_new(p, NULL, NULL, i);

        job_seed(p->o.secret, tasks->task[i]->id, "gate", seed);
        if (verifier_ask(p->verifier,
                         job_task(tasks->task[i], p->o.job, false, seed),
                         GATE_MS, q, e) < 0)
            return -1;
    }
    if (verifier_wait(p->verifier, &hint, e) < 0)
        return -1;
    free(hint);
    if (p->unchecked == tasks->len ||
        (p->unchecked && verifier_is_dead(p->verifier)))
        return err_set(e, ERR_SYSTEM, "%s: %s",
                       tasks->task[p->unchecked_at]->path,
                       why[p->unchecked_at]);
    return p->gated < tasks->len;
}

char *verify_port_hint(struct verify_port *p)
{
    struct err e = ERR_INIT;
    char *hint = NULL;

    if (p->folder)
        verifier_wait(p->verifier, &hint, &e);
    return hint;
}

/* ---- opening and closing ---- */

struct verify_port *verify_port_open(struct loop *l,
                                     const struct verify_port_opts *o,
                                     struct err *e)
{
    struct verify_port *p = xcalloc(1, sizeof(*p));

    p->port.judge = judge;
    p->port.dead = dead;
    p->port.waiting = waiting;
    p->o = *o;
    p->loop = l;
    p->folder = strncmp(o->verifier->verifier, "jobs=", 5) == 0;
    p->rules = pack_ruleset(o->pack, "default", e);
    p->verifier = p->rules
                      ? verifier_open(l, o->verifier, o->home, on_answer, p, e)
                      : NULL;
    if (!p->verifier) {
        free(p);
        return NULL;
    }
    if (!p->o.secret)
        p->o.secret = verifier_secret(p->verifier);
    p->check = check_new(NULL);
    return p;
}

void verify_port_close(struct verify_port *p)
{
    verifier_close(p->verifier);
    while (p->asked)
        question_free(p->asked);
    check_free(p->check);
    free(p);
}

struct search_port *verify_port_search(struct verify_port *p)
{
    return &p->port;
}
