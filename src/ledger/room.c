/* room.c: calls that do not fit under the cap are parked until others have cost
 * less than was reserved for them. */
#include "base/mem.h"
#include "ledger/ledger_int.h"

#include <stdlib.h>

bool room_is_nothing(struct llm_cost c)
{
    return c.usd_micro == 0 && c.tokens == 0;
}

struct llm_cost room_above(struct llm_cost a, struct llm_cost b)
{
    struct llm_cost d = cost_sub(a, b);

    return (struct llm_cost){d.usd_micro > 0 ? d.usd_micro : 0,
                             d.tokens > 0 ? d.tokens : 0};
}

struct llm_cost room_held(const struct ledger_call *c)
{
    return c->known ? c->known->held : (struct llm_cost){0};
}

/* What would have to be reserved, besides what is reserved for the call
 * already. */
static struct llm_cost need_of(const struct ledger_call *c)
{
    struct llm_cost need =
        cost_add(llm_worst_case(c->q.front, &c->q.request), c->q.then);

    need = room_above(need, room_held(c));
    return c->q.purse ? room_above(need, c->q.purse->rest) : need;
}

bool room_fill_purse(struct ledger_call *c)
{
    struct ledger_purse *p = c->q.purse;
    struct llm_cost need;

    if (!p || room_is_nothing(c->q.then) || !room_is_nothing(p->rest))
        return true;
    need = need_of(c);
    if (!budget_reserve(c->l->part.budget, need))
        return false;
    p->rest = need;
    return true;
}

void room_park(struct ledger_call *c)
{
    c->parked = true;
    c->l->parked++;
    room_look(c->l);
}

void room_unpark(struct ledger *l)
{
    bool begun = false;
    size_t n = 0;
    struct ledger_call **list;

    if (!l->parked || l->stopping)
        return;
    list = xcalloc(l->parked, sizeof(struct ledger_call *));
    for (struct ledger_call *c = l->first; c; c = c->next)
        begun |= c->parked && room_is_nothing(c->q.then);
    for (struct ledger_call *c = l->first; c; c = c->next)
        if (c->parked && (!begun || room_is_nothing(c->q.then)))
            list[n++] = c;
    for (size_t i = 0; i < n; i++) {
        list[i]->parked = false;
        l->parked--;
        ledger_send(list[i]);
    }
    free(list);
}

void ledger_purse_close(struct ledger *l, struct ledger_purse *p)
{
    if (room_is_nothing(p->rest))
        return;
    budget_settle(l->part.budget, p->rest, (struct llm_cost){0});
    p->rest = (struct llm_cost){0};
    room_unpark(l);
}

static struct llm_cost least_need(const struct ledger *l)
{
    struct llm_cost least = {INT64_MAX, INT64_MAX};

    for (const struct ledger_call *c = l->first; c; c = c->next) {
        struct llm_cost need = need_of(c);

        if (c->parked && need.usd_micro < least.usd_micro)
            least.usd_micro = need.usd_micro;
        if (c->parked && need.tokens < least.tokens)
            least.tokens = need.tokens;
    }
    return least;
}

static struct ledger_call *first_parked(const struct ledger *l)
{
    struct ledger_call *c = l->first;

    while (c && !c->parked)
        c = c->next;
    return c;
}

static void on_look(void *arg)
{
    struct ledger *l = arg;
    struct ledger_answer a = {.end = LEDGER_NO_BUDGET};
    struct ledger_call *c;

    l->look = 0;
    if (!l->parked || l->parked < l->count)
        return;
    a.need = least_need(l);
    /* a callback may stop the ledger, which ends the others */
    while ((c = first_parked(l)) && l->parked == l->count)
        ledger_finish(c, &a);
}

void room_look(struct ledger *l)
{
    if (l->parked && l->parked == l->count && !l->look)
        l->look = loop_defer(l->part.loop, on_look, l);
}
