/* entries.c: solved kernels join the archive.
 *
 * Which entry stands where is part of what a run is: prompts name entries by what they
 * say, and the choice of examples goes by the order in which they joined. In strict
 * order kernels therefore join only at barriers, in the order of the round, however the
 * verdicts came; and after a crash the stored entries first, under the versions that
 * they had. Without the second rule a task that was set aside then, and is solved now,
 * would take the place of another, and attempts that are stored would have been shown
 * what is not there. */
#include "search/resume.h"

#include "base/mem.h"
#include "search/archive.h"

#include <stdlib.h>
#include <string.h>

void entries_give(struct search *s, struct task_state *t)
{
    const struct finished *p = &t->finished[t->join_at - 1];
    struct search_own own = {.task = t->task,
                             .ord = t->ord,
                             .attempt = t->join_at,
                             .plan = p->plan,
                             .code = p->code,
                             .record = p->record};

    if (!s->part.shared || t->given)
        return;
    s->part.shared->own(&own, s->part.shared->arg);
    t->given = true;
}

/* What the reviewer reads at the end is given away after that. */
static void give_now(struct search *s, struct task_state *t)
{
    if (strcmp(s->opt.reviewer, "end") != 0)
        entries_give(s, t);
}

static void entries_join(struct search *s, struct task_state *t,
                         int64_t version)
{
    const struct finished *p = &t->finished[t->join_at - 1];
    struct search_example x = {.origin = "run",
                               .name = t->task->id,
                               .task_hash = t->task->hash,
                               .evidence = evidences[EVIDENCE_ARCHIVE].name,
                               .problem = {t->task->source, t->task->len},
                               .vector = t->vector,
                               .ops = t->task->ops};
    struct row_entry row = {.version = version,
                            .origin = "run",
                            .task = t->ord,
                            .attempt = t->join_at,
                            .name = t->task->id,
                            .task_hash = t->task->hash,
                            .problem = t->source,
                            .plan = p->plan[0] ? p->plan : NULL,
                            .solution = p->code,
                            .evidence = evidences[EVIDENCE_ARCHIVE].name};
    struct store *st = s->part.store;
    struct archive_ported own;
    char ported[HASH_HEX];
    struct arena texts = {0};
    struct err e = ERR_INIT;

    if (store_text(st, p->plan, &texts, &x.plan, &e) < 0 ||
        store_text(st, p->code, &texts, &x.solution, &e) < 0 ||
        archive_ported(st, p->record, &texts, &own, &e) < 0) {
        state_fail(s, &e);
    } else {
        if (own.text.n) { /* what was verified is kept with the entry */
            store_blob(st, own.text, ported);
            row.ported = ported;
        }
        row.entry = t->entry = archive_join(s->archive, &x, version);
        store_entry(st, &row);
        t->joined = true;
        give_now(s, t);
    }
    arena_release(&texts);
}

/* ---- from outside ---- */

void entries_add(struct search *s, const struct search_example *x,
                 int64_t version)
{
    char problem[HASH_HEX], plan[HASH_HEX], solution[HASH_HEX];
    struct search_example y = *x;
    struct row_entry row = {.version = version,
                            .origin = x->origin,
                            .task = -1,
                            .name = x->name,
                            .task_hash = x->task_hash,
                            .problem = problem,
                            .plan = x->plan.p ? plan : NULL,
                            .solution = solution,
                            .evidence = x->evidence};
    float *vector = NULL;

    if (!x->vector) {
        y.vector = vector = xcalloc(s->part.dim, sizeof(*vector));
        s->part.shared->embed(x->problem, vector, s->part.shared->arg);
    }
    row.entry = archive_join(s->archive, &y, version);
    store_blob(s->part.store, x->problem, problem);
    if (x->plan.p)
        store_blob(s->part.store, x->plan, plan);
    store_blob(s->part.store, x->solution, solution);
    store_entry(s->part.store, &row);
    free(vector);
}

/* At a barrier they share the version of the run's own that have joined there,
 * unless an attempt has seen it. */
size_t entries_add_news(struct search *s, int64_t shared_version,
                        const struct search_example *x, size_t n)
{
    int64_t version = archive_version(s->archive);
    struct row_look look = {.look = s->look_count + 1,
                            .round = (int64_t)s->round.number,
                            .shared_version = shared_version};
    size_t joined = 0;

    if (s->eager || version == s->barrier_version ||
        version <= resume_seen_version(s->resume))
        version++;
    for (size_t i = 0; i < n; i++) {
        if (archive_has(s->archive, x[i].task_hash))
            continue;
        entries_add(s, &x[i], version);
        joined++;
    }
    look.version = archive_version(s->archive);
    if (!s->eager || joined) { /* every barrier has one */
        store_look(s->part.store, &look);
        s->look_count++;
    }
    return joined;
}

/* ---- at barriers ---- */

/* Stored entries join again in their order, before any new one: a task that was
 * set aside then, and is solved now, must not take their place. False when some
 * of them cannot join yet. */
static bool join_known(struct search *s)
{
    const struct row_entry *k;
    struct err e = ERR_INIT;

    while (!s->ended && (k = resume_entry(s->resume))) {
        bool shared = resume_is_shared(k);

        if (shared ? resume_round(s->resume, k) > (int64_t)s->round.number + 1
                   : !s->task[k->task].join_at)
            return false;
        if (!shared)
            entries_join(s, &s->task[k->task], k->version);
        else if (resume_join_shared(s, k, &e) < 0)
            state_fail(s, &e);
        resume_entry_joined(s->resume);
    }
    return true;
}

static void join_if_due(struct search *s, size_t task, int64_t version)
{
    struct task_state *t = &s->task[task];

    if (t->join_at && !t->joined && !s->ended)
        entries_join(s, t, version);
}

/* Stored entries join first. Once the last of them has joined, all kernels join that
 * had to wait for it, whatever their round. If none was left, the kernels of this round
 * join, in its order. A crash may have left only the first entries of a barrier in the
 * store. The others then get the same version, unless an attempt has seen the archive
 * without them. */
void entries_join_at_barrier(struct search *s)
{
    bool held_back = resume_entry(s->resume) != NULL;
    int64_t before = archive_version(s->archive), version;

    if (!join_known(s))
        return;
    version = archive_version(s->archive);
    if (version == before || version <= resume_seen_version(s->resume))
        version++;
    if (held_back)
        for (size_t i = 0; i < s->task_len; i++)
            join_if_due(s, s->order[i], version);
    else
        for (size_t i = 0; i < s->round.count; i++)
            join_if_due(s, s->round.task[i], version);
}

void entries_join_now(struct search *s, struct task_state *t)
{
    if (t->join_at && !t->joined)
        entries_join(s, t, archive_version(s->archive) + 1);
    else if (t->join_at) /* it had joined before the run was continued */
        give_now(s, t);
}
