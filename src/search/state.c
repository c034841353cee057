/* state.c: the tasks of a run and their finished attempts; the pieces that tasks were
 * divided into, which are worked on in one pool with them; and what ends the run.
 *
 * A piece comes before what needs it. Which pieces are released depends on the
 * attempts at tasks alone, so a run that continues releases the same. */
#include "search/state.h"

#include "base/log.h"
#include "base/mem.h"
#include "llm/ledger.h"
#include "search/resume.h"

#include <stdlib.h>
#include <string.h>

void state_fail(struct search *s, const struct err *e)
{
    if (s->failed.kind == ERR_NONE)
        s->failed = *e;
    s->stopping = 2;
    s->ended = true;
    loop_stop(s->part.loop);
}

void state_stop(struct search *s)
{
    if (!s->stopping)
        s->stopping = 1;
    ledger_stop(s->part.ledger);
}

/* ---- tasks ---- */

static void start_programs(struct search *s, struct task_state *t)
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

void state_add_task(struct search *s, const struct task *t, const char *skipped,
                    const float *vector, const struct search_piece *p)
{
    struct task_state *x;

    s->task = xgrow(s->task, &s->task_cap, s->task_len, sizeof(*s->task));
    x = &s->task[s->task_len];
    *x = (struct task_state){.task = t, .ord = (int64_t)s->task_len++};
    x->piece = p ? copy_piece(p) : NULL;
    hash_hex(t->source, t->len, x->source);
    x->skipped = skipped ? xstrdup(skipped) : NULL;
    x->vector = xmalloc(s->part.dim * sizeof(*vector));
    memcpy(x->vector, vector, s->part.dim * sizeof(*vector));
    if (s->method->evolves)
        start_programs(s, x);
}

void state_release_tasks(struct search *s)
{
    for (size_t i = 0; i < s->task_len; i++) {
        struct task_state *t = &s->task[i];

        free_piece(t->piece);
        free(t->skipped);
        free(t->vector);
        free(t->finished);
        if (t->db)
            evolve_db_free(t->db);
    }
    free(s->task);
    free(s->order);
}

/* ---- finished attempts ---- */

static void grow_program(struct search *s, struct task_state *t,
                         const struct finished *p)
{
    int64_t number = (int64_t)t->finished_len;
    struct err e = ERR_INIT;
    struct rng rng;
    struct buf code = BUF_INIT;

    if (!p->code[0])
        return;
    rng_init(&rng, "%lld/%s/%lld/grow", (long long)s->opt.seed, t->task->id,
             (long long)number);
    if (store_read_blob(s->part.store, p->code, &code, &e) < 0)
        state_fail(s, &e);
    else
        evolve_db_add(t->db, evolve_db_island(t->db, number), number,
                      buf_str(&code), p->fitness, &rng);
    buf_release(&code);
}

void state_apply(struct search *s, struct task_state *t,
                 const struct finished *p)
{
    t->finished = xgrow(t->finished, &t->finished_cap, t->finished_len,
                        sizeof(*t->finished));
    t->finished[t->finished_len++] = *p;
    s->count.attempts++;
    s->count.verdict[p->verdict]++;
    if (p->solved && !t->solved) {
        t->solved = true;
        t->solved_at = (int)t->finished_len;
        s->count.solved += !t->piece;
        s->count.pieces_solved += t->piece != NULL;
    }
    if (p->archivable && !t->join_at)
        t->join_at = (int)t->finished_len;
    if (t->db)
        grow_program(s, t, p);
}

static bool state_lists(const size_t *list, size_t n, size_t number)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == number)
            return true;
    return false;
}

/* ---- the order of tasks and pieces ---- */

/* Pieces come with their depth. Returns the largest. */
static size_t state_depths(struct search *s)
{
    size_t most = 0;

    for (size_t i = 0; i < s->task_len; i++) {
        const struct search_piece *p = s->task[i].piece;

        if (!p)
            continue;
        s->task[i].depth = p->depth;
        for (size_t k = 0; k < p->parent_count; k++) {
            struct task_state *t = &s->task[p->parents[k]];

            if (t->depth <= p->depth)
                t->depth = p->depth + 1;
            if (t->depth > most)
                most = t->depth;
        }
        if (p->depth > most)
            most = p->depth;
    }
    return most;
}

static void state_put_in_order(struct search *s, size_t most)
{
    size_t n = 0;

    s->order = xreallocarray(NULL, s->task_len + 1, sizeof(*s->order));
    for (size_t depth = 0; depth <= most; depth++)
        for (size_t i = 0; i < s->task_len; i++)
            if (s->task[i].depth == depth)
                s->order[n++] = i;
}

/* ---- which pieces are released ---- */

/* How many levels that there are come before this one. */
static size_t steps_to(const struct search *s, int fineness)
{
    size_t steps = 0;

    for (int f = 0; f < fineness; f++)
        for (size_t i = 0; i < s->task_len; i++)
            if (s->task[i].piece && s->task[i].piece->fineness == f) {
                steps++;
                break;
            }
    return steps;
}

void state_order(struct search *s)
{
    state_put_in_order(s, state_depths(s));
    if (!s->opt.refine_after)
        return;
    for (size_t i = 0; i < s->task_len; i++) {
        struct task_state *t = &s->task[i];

        t->waiting = t->piece && steps_to(s, t->piece->fineness) > 0;
    }
}

static bool is_open(const struct search *s, const struct task_state *t)
{
    return !t->piece && !t->skipped && !t->aside &&
           (!t->solved || s->opt.no_stop) &&
           t->finished_len < (size_t)s->opt.attempts;
}

bool state_is_open(const struct search *s)
{
    for (size_t i = 0; i < s->task_len; i++)
        if (is_open(s, &s->task[i]))
            return true;
    return false;
}

static size_t release_for(struct search *s, const struct task_state *t,
                          int iteration)
{
    size_t steps = t->finished_len / (size_t)s->opt.refine_after, released = 0;

    for (size_t i = 0; i < s->task_len; i++) {
        struct task_state *p = &s->task[i];

        if (!p->waiting || steps_to(s, p->piece->fineness) > steps ||
            !state_lists(p->piece->parents, p->piece->parent_count,
                         (size_t)t->ord))
            continue;
        p->waiting = false;
        p->late = iteration - 1;
        released++;
    }
    return released;
}

void state_release_pieces(struct search *s, int iteration)
{
    if (!s->opt.refine_after)
        return;
    for (size_t i = 0; i < s->task_len; i++) {
        const struct task_state *t = &s->task[i];
        size_t released;

        if (!is_open(s, t) || t->solved)
            continue;
        released = release_for(s, t, iteration);
        /* what is stored was said when it happened */
        if (released && !resume_finished(s->resume, t, t->finished_len + 1))
            log_info("%s: unsolved after %zu attempt%s, so %zu finer piece%s "
                     "join%s the pool",
                     t->task->id, t->finished_len,
                     t->finished_len == 1 ? "" : "s", released,
                     released == 1 ? "" : "s", released == 1 ? "s" : "");
    }
}

/* ---- pieces as examples ---- */

static bool is_piece_of(const struct search *s, const struct task_state *p,
                        const struct task_state *t)
{
    size_t number = (size_t)(p - s->task);

    if (!p->piece)
        return false;
    if (t->piece)
        return state_lists(t->piece->needs, t->piece->need_count, number);
    return state_lists(p->piece->parents, p->piece->parent_count,
                       (size_t)t->ord);
}

static bool may_be_shown(const struct search *s, const struct task_state *p,
                         const struct task_state *t, size_t visible)
{
    return p->joined && (size_t)p->entry <= visible && is_piece_of(s, p, t) &&
           !archive_is_retired(s->archive, p->entry) &&
           strcmp(p->task->hash, t->task->hash) != 0;
}

/* The nth from the end of the order, among those that may be shown. */
int64_t state_piece(const struct search *s, const struct task_state *t,
                    int number, size_t visible)
{
    size_t n = 0, nth;

    for (size_t i = 0; i < s->task_len; i++)
        n += may_be_shown(s, &s->task[i], t, visible);
    if (!n)
        return 0;
    nth = (size_t)(number - 1) % n;
    for (size_t i = s->task_len; i-- > 0;) {
        const struct task_state *p = &s->task[s->order[i]];

        if (may_be_shown(s, p, t, visible) && nth-- == 0)
            return p->entry;
    }
    return 0;
}
