/* round.c: how methods fill their rounds. */
#include "base/mem.h"
#include "search/search_int.h"

void round_begin(struct round *r, int iteration, int batch, int until,
                 size_t at_once)
{
    r->count = r->next = r->active = 0;
    r->iteration = iteration;
    r->batch = batch;
    r->until = until;
    r->at_once = at_once;
}

static bool takes_part(const struct search *s, const struct round *r,
                       const struct subject *t)
{
    return !t->waiting && !t->skipped && !t->aside &&
           (!t->solved || s->opt.no_stop) &&
           t->past_len < (size_t)s->opt.attempts &&
           t->past_len + (size_t)t->late < (size_t)r->until;
}

bool round_fill(const struct search *s, struct round *r, size_t from,
                size_t most)
{
    bool open = course_is_open(s);

    for (; from < s->subject_len && r->count < most; from++) {
        size_t i = s->order[from];
        const struct subject *t = &s->subject[i];

        if (!takes_part(s, r, t) || (t->piece && !open))
            continue;
        if (r->count && !s->eager &&
            t->depth != s->subject[r->subject[0]].depth)
            break;
        r->subject = xgrow(r->subject, &r->cap, r->count, sizeof(*r->subject));
        r->subject[r->count++] = i;
    }
    r->after = from;
    return r->count > 0;
}

bool round_single(struct search *s, struct round *r)
{
    size_t from = r->number == 1 ? 0 : r->after;

    round_begin(r, 0, 0, (int)s->opt.attempts,
                (size_t)(s->eager ? s->opt.batch : s->opt.slots));
    return round_fill(s, r, from, s->subject_len);
}
