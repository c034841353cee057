/* course.c: tasks and the pieces that they were divided into, as one pool. A
 * subject comes after those that it needs. Which pieces are released depends on
 * the attempts at tasks alone, so a run that continues releases the same. */
#include "base/log.h"
#include "base/mem.h"
#include "search/resume.h"

#include <string.h>

static bool has(const size_t *list, size_t n, size_t number)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == number)
            return true;
    return false;
}

/* ---- the order ---- */

/* Pieces come with their depth. Returns the largest. */
static size_t find_depths(struct search *s)
{
    size_t most = 0;

    for (size_t i = 0; i < s->subject_len; i++) {
        const struct search_piece *p = s->subject[i].piece;

        if (!p)
            continue;
        s->subject[i].depth = p->depth;
        for (size_t k = 0; k < p->parent_count; k++) {
            struct subject *t = &s->subject[p->parents[k]];

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

static void put_in_order(struct search *s, size_t most)
{
    size_t n = 0;

    s->order = xreallocarray(NULL, s->subject_len + 1, sizeof(*s->order));
    for (size_t depth = 0; depth <= most; depth++)
        for (size_t i = 0; i < s->subject_len; i++)
            if (s->subject[i].depth == depth)
                s->order[n++] = i;
}

/* ---- which pieces are released ---- */

/* How many levels that there are come before this one. */
static size_t steps_to(const struct search *s, int fineness)
{
    size_t steps = 0;

    for (int f = 0; f < fineness; f++)
        for (size_t i = 0; i < s->subject_len; i++)
            if (s->subject[i].piece && s->subject[i].piece->fineness == f) {
                steps++;
                break;
            }
    return steps;
}

void course_begin(struct search *s)
{
    put_in_order(s, find_depths(s));
    if (!s->opt.refine_after)
        return;
    for (size_t i = 0; i < s->subject_len; i++) {
        struct subject *t = &s->subject[i];

        t->waiting = t->piece && steps_to(s, t->piece->fineness) > 0;
    }
}

static bool is_open(const struct search *s, const struct subject *t)
{
    return !t->piece && !t->skipped && !t->aside &&
           (!t->solved || s->opt.no_stop) &&
           t->past_len < (size_t)s->opt.attempts;
}

bool course_is_open(const struct search *s)
{
    for (size_t i = 0; i < s->subject_len; i++)
        if (is_open(s, &s->subject[i]))
            return true;
    return false;
}

static size_t release_for(struct search *s, const struct subject *t,
                          int iteration)
{
    size_t steps = t->past_len / (size_t)s->opt.refine_after, released = 0;

    for (size_t i = 0; i < s->subject_len; i++) {
        struct subject *p = &s->subject[i];

        if (!p->waiting || steps_to(s, p->piece->fineness) > steps ||
            !has(p->piece->parents, p->piece->parent_count, (size_t)t->ord))
            continue;
        p->waiting = false;
        p->late = iteration - 1;
        released++;
    }
    return released;
}

void course_release(struct search *s, int iteration)
{
    if (!s->opt.refine_after)
        return;
    for (size_t i = 0; i < s->subject_len; i++) {
        const struct subject *t = &s->subject[i];
        size_t released;

        if (!is_open(s, t) || t->solved)
            continue;
        released = release_for(s, t, iteration);
        /* what is stored was said when it happened */
        if (released && !resume_past(s->resume, t, t->past_len + 1))
            log_info("%s: unsolved after %zu attempt%s, so %zu finer piece%s "
                     "join%s the pool",
                     t->task->id, t->past_len, t->past_len == 1 ? "" : "s",
                     released, released == 1 ? "" : "s",
                     released == 1 ? "s" : "");
    }
}

/* ---- pieces as examples ---- */

static bool is_piece_of(const struct search *s, const struct subject *p,
                        const struct subject *t)
{
    size_t number = (size_t)(p - s->subject);

    if (!p->piece)
        return false;
    if (t->piece)
        return has(t->piece->needs, t->piece->need_count, number);
    return has(p->piece->parents, p->piece->parent_count, (size_t)t->ord);
}

static bool may_be_shown(const struct search *s, const struct subject *p,
                         const struct subject *t, size_t visible)
{
    return p->joined && (size_t)p->entry <= visible && is_piece_of(s, p, t) &&
           !archive_is_retired(s->archive, p->entry) &&
           strcmp(p->task->hash, t->task->hash) != 0;
}

/* The nth from the end of the order, among those that may be shown. */
int64_t course_piece(const struct search *s, const struct subject *t,
                     int number, size_t visible)
{
    size_t n = 0, nth;

    for (size_t i = 0; i < s->subject_len; i++)
        n += may_be_shown(s, &s->subject[i], t, visible);
    if (!n)
        return 0;
    nth = (size_t)(number - 1) % n;
    for (size_t i = s->subject_len; i-- > 0;) {
        const struct subject *p = &s->subject[s->order[i]];

        if (may_be_shown(s, p, t, visible) && nth-- == 0)
            return p->entry;
    }
    return 0;
}
