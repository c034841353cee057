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
    return !t->skipped && !t->aside && (!t->solved || s->opt.no_stop) &&
           t->past_len < (size_t)s->opt.attempts &&
           t->past_len < (size_t)r->until;
}

bool round_fill(const struct search *s, struct round *r, size_t from,
                size_t most)
{
    for (size_t i = from; i < s->subject_len && r->count < most; i++) {
        if (!takes_part(s, r, &s->subject[i]))
            continue;
        r->subject = xgrow(r->subject, &r->cap, r->count, sizeof(*r->subject));
        r->subject[r->count++] = i;
    }
    return r->count > 0;
}

bool round_single(struct search *s, struct round *r)
{
    if (r->number > 1)
        return false;
    round_begin(r, 0, 0, (int)s->opt.attempts,
                (size_t)(s->eager ? s->opt.batch : s->opt.slots));
    return round_fill(s, r, 0, s->subject_len);
}
