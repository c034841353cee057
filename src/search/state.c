/* state.c: the tasks of a run, their past, and what ends the run. */
#include "base/mem.h"
#include "llm/ledger.h"
#include "search/search_int.h"

#include <stdlib.h>
#include <string.h>

void state_fail(struct search *s, const struct err *e)
{
    if (s->failed.kind == ERR_NONE)
        s->failed = *e;
    s->stopping = 2;
    s->finished = true;
    loop_stop(s->part.loop);
}

void state_stop(struct search *s)
{
    if (!s->stopping)
        s->stopping = 1;
    ledger_stop(s->part.ledger);
}

/* ---- subjects ---- */

static void start_programs(struct search *s, struct subject *t)
{
    struct evolve_opts o = evolve_opts_paper;

    o.islands = (size_t)s->opt.islands;
    o.history_k = o.num_top = (size_t)s->opt.history;
    t->db = evolve_db_new(&o, t->task->source);
}

static size_t *copy_numbers(const size_t *from, size_t n)
{
    size_t *to = xreallocarray(NULL, n + 1, sizeof(*to));

    if (n)
        memcpy(to, from, n * sizeof(*to));
    return to;
}

static struct search_piece *copy_piece(const struct search_piece *from)
{
    struct search_piece *p = xmalloc(sizeof(*p));

    *p = *from;
    p->kind = xstrdup(from->kind);
    p->level = xstrdup(from->level);
    p->title = xstrdup(from->title);
    p->needs = copy_numbers(from->needs, from->need_count);
    p->parents = copy_numbers(from->parents, from->parent_count);
    return p;
}

static void free_piece(struct search_piece *p)
{
    if (!p)
        return;
    free((char *)p->kind);
    free((char *)p->level);
    free((char *)p->title);
    free((size_t *)p->needs);
    free((size_t *)p->parents);
    free(p);
}

void state_add_subject(struct search *s, const struct task *t,
                       const char *skipped, const float *vector,
                       const struct search_piece *p)
{
    struct subject *x;

    s->subject =
        xgrow(s->subject, &s->subject_cap, s->subject_len, sizeof(*s->subject));
    x = &s->subject[s->subject_len];
    *x = (struct subject){.task = t, .ord = (int64_t)s->subject_len++};
    x->piece = p ? copy_piece(p) : NULL;
    hash_hex(t->source, t->len, x->source);
    x->skipped = skipped ? xstrdup(skipped) : NULL;
    x->vector = xmalloc(s->part.dim * sizeof(*vector));
    memcpy(x->vector, vector, s->part.dim * sizeof(*vector));
    if (s->method->evolves)
        start_programs(s, x);
}

void state_release_subjects(struct search *s)
{
    for (size_t i = 0; i < s->subject_len; i++) {
        struct subject *t = &s->subject[i];

        free_piece(t->piece);
        free(t->skipped);
        free(t->vector);
        free(t->past);
        if (t->db)
            evolve_db_free(t->db);
    }
    free(s->subject);
    free(s->order);
}

/* ---- the past ---- */

static void grow_program(struct search *s, struct subject *t,
                         const struct past *p)
{
    int64_t number = (int64_t)t->past_len;
    struct err e = ERR_INIT;
    struct rng rng;
    struct buf code;

    if (!p->code[0])
        return;
    buf_init(&code, BUF_UNLIMITED);
    rng_init(&rng, "%lld/%s/%lld/grow", (long long)s->opt.seed, t->task->id,
             (long long)number);
    if (store_read_blob(s->part.store, p->code, &code, &e) < 0)
        state_fail(s, &e);
    else
        evolve_db_add(t->db, evolve_db_island(t->db, number), number,
                      buf_str(&code), p->fitness, &rng);
    buf_release(&code);
}

void state_apply(struct search *s, struct subject *t, const struct past *p)
{
    t->past = xgrow(t->past, &t->past_cap, t->past_len, sizeof(*t->past));
    t->past[t->past_len++] = *p;
    s->count.attempts++;
    s->count.verdict[p->verdict]++;
    if (p->solved && !t->solved) {
        t->solved = true;
        t->solved_at = (int)t->past_len;
        s->count.solved += !t->piece;
        s->count.pieces_solved += t->piece != NULL;
    }
    if (p->sealed && !t->join_at)
        t->join_at = (int)t->past_len;
    if (t->db)
        grow_program(s, t, p);
}
