/* calls.c: the open calls: their order, and which of them wait for the answer
 * to the same question. */
#include "ledger/ledger_int.h"

#include <stdlib.h>
#include <string.h>

void calls_unlink(struct ledger_call *c)
{
    struct ledger *l = c->l;

    *(c->prev ? &c->prev->next : &l->first) = c->next;
    *(c->next ? &c->next->prev : &l->last) = c->prev;
    l->count--;
    l->parked -= c->parked;
    c->parked = false;
}

void calls_free(struct ledger_call *c)
{
    buf_release(&c->text);
    free(c);
}

void calls_link(struct ledger_call *c)
{
    struct ledger *l = c->l;

    c->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = c;
    l->last = c;
    l->count++;
}

void calls_leave(struct ledger_call *c)
{
    struct ledger_call **at = &c->leader->joined;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    calls_free(c);
}

static void on_defer(void *arg)
{
    struct ledger_call *c = arg;

    c->defer = 0;
    ledger_send(c);
}

void calls_pass_on(struct ledger_call *leader)
{
    struct ledger_call *heir = leader->joined;

    if (!heir)
        return;
    leader->joined = NULL;
    heir->joined = heir->next;
    heir->next = heir->leader = NULL;
    for (struct ledger_call *j = heir->joined; j; j = j->next)
        j->leader = heir;
    heir->known = known_find(&leader->l->known, heir->q.purpose, heir->q.asked);
    heir->tries = leader->tries;
    calls_link(heir);
    heir->defer = loop_defer(leader->l->part.loop, on_defer, heir);
}

struct ledger_call *calls_find(const struct ledger *l,
                               const struct ledger_question *q)
{
    struct ledger_call *c = l->first;

    while (c && !(c->fn && strcmp(c->q.asked, q->asked) == 0 &&
                  strcmp(c->q.purpose, q->purpose) == 0))
        c = c->next;
    return c;
}

void calls_join(struct ledger_call *leader, struct ledger_call *c)
{
    struct ledger_call **at = &leader->joined;

    while (*at)
        at = &(*at)->next;
    *at = c;
    c->leader = leader;
}
