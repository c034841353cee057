/* ledger.c: calls: from the store when they were answered before, else
 * reserved, stored, sent, stored, used. */
#include "ledger/ledger.h"

#include "base/buf.h"
#include "base/mem.h"
#include "ledger/ledger_int.h"
#include "llm/options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many failures of a front, each with its own retries, end a call. */
#define FAILURES 5

struct ledger_call {
    struct ledger *l;
    struct ledger_question q;
    ledger_fn *fn;
    void *arg;
    struct known_call *known;   /* or NULL */
    struct llm_call *call;      /* with the front, or NULL */
    struct llm_cost from_purse; /* goes with `call` once that is reserved */
    struct row_call row;        /* state NULL: it is not in the store yet */
    int64_t tries;
    int failures;
    bool parked;
    int storing; /* callbacks of the store that will come */
    struct buf text;
    bool cut;
    struct ledger_call *prev, *next;
};

struct ledger {
    struct ledger_parts part;
    struct map known;
    struct ledger_call *first, *last; /* in the order of asking */
    size_t count, parked, in_flight;
    bool stopping;
    uint64_t look; /* for room that will not come */
};

static void send_call(struct ledger_call *c);

void ledger_hash(char out[HASH_HEX], const char *format, ...)
{
    va_list ap;
    char *text = NULL;

    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0)
        BUG("no memory for a hash");
    va_end(ap);
    hash_hex(text, strlen(text), out);
    free(text);
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- open and closed ---- */

struct ledger *ledger_open(const struct ledger_parts *p, struct err *e)
{
    struct ledger *l = xcalloc(1, sizeof(*l));

    l->part = *p;
    map_init(&l->known);
    if ((p->patient || ledger_lose(p->store, e) == 0) &&
        known_load(p->store, p->budget, &l->known, e) == 0)
        return l;
    ledger_close(l);
    return NULL;
}

static void unlink_call(struct ledger_call *c)
{
    struct ledger *l = c->l;

    *(c->prev ? &c->prev->next : &l->first) = c->next;
    *(c->next ? &c->next->prev : &l->last) = c->prev;
    l->count--;
    l->parked -= c->parked;
    c->parked = false;
}

static void free_call(struct ledger_call *c)
{
    buf_release(&c->text);
    free(c);
}

static void cancel(struct ledger_call *c)
{
    if (!c->call)
        return;
    llm_cancel(c->call);
    c->call = NULL;
    c->l->in_flight--;
}

void ledger_drop(struct ledger_call *c)
{
    c->fn = NULL;
    cancel(c);
    if (c->storing) /* the store's callback takes it away */
        return;
    unlink_call(c);
    free_call(c);
}

void ledger_close(struct ledger *l)
{
    if (!l)
        return;
    while (l->first) {
        l->first->storing = 0; /* nobody runs the loop any more */
        ledger_drop(l->first);
    }
    loop_remove(l->part.loop, l->look);
    known_release(&l->known);
    free(l);
}

size_t ledger_in_flight(const struct ledger *l)
{
    return l->in_flight;
}

size_t ledger_parked(const struct ledger *l)
{
    return l->parked;
}

/* ---- the end of a call ---- */

static void look_for_room(struct ledger *l);

static void finish(struct ledger_call *c, struct ledger_answer *a)
{
    struct ledger *l = c->l;

    unlink_call(c);
    if (!a->text.p)
        a->text = STR_LIT("");
    if (!a->why)
        a->why = "";
    c->fn(c->arg, a);
    free_call(c);
    look_for_room(l);
}

static void finish_as(struct ledger_call *c, enum ledger_end end)
{
    struct ledger_answer a = {.end = end};

    finish(c, &a);
}

static void finish_broken(struct ledger_call *c, const struct err *e)
{
    struct ledger_answer a = {.end = LEDGER_BROKEN, .err = e};

    finish(c, &a);
}

/* ---- room under the cap ---- */

static bool is_nothing(struct llm_cost c)
{
    return c.usd_micro == 0 && c.tokens == 0;
}

/* The difference, and nothing where that is less. */
static struct llm_cost above(struct llm_cost a, struct llm_cost b)
{
    struct llm_cost d = cost_sub(a, b);

    return (struct llm_cost){d.usd_micro > 0 ? d.usd_micro : 0,
                             d.tokens > 0 ? d.tokens : 0};
}

static struct llm_cost held_before(const struct ledger_call *c)
{
    return c->known ? c->known->held : (struct llm_cost){0};
}

/* What it takes beyond that which is held for it already. */
static struct llm_cost need_of(const struct ledger_call *c)
{
    struct llm_cost need =
        cost_add(llm_worst_case(c->q.front, &c->q.request), c->q.then);

    need = above(need, held_before(c));
    return c->q.purse ? above(need, c->q.purse->rest) : need;
}

/* The first call on a purse fills it, or waits. */
static bool fill_purse(struct ledger_call *c)
{
    struct ledger_purse *p = c->q.purse;
    struct llm_cost need;

    if (!p || is_nothing(c->q.then) || !is_nothing(p->rest))
        return true;
    need = need_of(c);
    if (!budget_reserve(c->l->part.budget, need))
        return false;
    p->rest = need;
    return true;
}

static void park(struct ledger_call *c)
{
    c->parked = true;
    c->l->parked++;
    look_for_room(c->l);
}

/* Room may have come. What has begun is finished before anything else begins:
 * calls that start something new wait until no other one does. */
static void unpark(struct ledger *l)
{
    bool begun = false;
    size_t n = 0;
    struct ledger_call **list;

    if (!l->parked || l->stopping)
        return;
    list = xcalloc(l->parked, sizeof(struct ledger_call *));
    for (struct ledger_call *c = l->first; c; c = c->next)
        begun |= c->parked && is_nothing(c->q.then);
    for (struct ledger_call *c = l->first; c; c = c->next)
        if (c->parked && (!begun || is_nothing(c->q.then)))
            list[n++] = c;
    for (size_t i = 0; i < n; i++) {
        list[i]->parked = false;
        l->parked--;
        send_call(list[i]);
    }
    free(list);
}

void ledger_purse_close(struct ledger *l, struct ledger_purse *p)
{
    if (is_nothing(p->rest))
        return;
    budget_settle(l->part.budget, p->rest, (struct llm_cost){0});
    p->rest = (struct llm_cost){0};
    unpark(l);
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
    /* who hears of it may stop the ledger, which ends the others */
    while ((c = first_parked(l)) && l->parked == l->count)
        finish(c, &a);
}

/* When all calls are parked, nobody can make room. Looked at from the loop:
 * whoever asks may be about to ask something cheaper. */
static void look_for_room(struct ledger *l)
{
    if (l->parked && l->parked == l->count && !l->look)
        l->look = loop_defer(l->part.loop, on_look, l);
}

/* ---- a call ---- */

/* True when the call was dropped while the store was busy. */
static bool dropped(struct ledger_call *c)
{
    c->storing--;
    if (c->fn)
        return false;
    ledger_drop(c);
    return true;
}

static void on_reservation_stored(const struct err *e, void *arg)
{
    struct ledger_call *c = arg;

    if (dropped(c))
        return;
    if (e) {
        cancel(c);
        finish_broken(c, e);
        return;
    }
    llm_go(c->call);
    if (c->l->stopping)
        llm_withdraw(c->call);
}

static void on_reserved(struct llm_call *call, struct llm_cost total, void *arg)
{
    struct ledger_call *c = arg;
    struct store *s = c->l->part.store;

    (void)call;
    if (c->known)
        c->known->held = (struct llm_cost){0};
    if (c->q.purse)
        c->q.purse->rest = cost_sub(c->q.purse->rest, c->from_purse);
    c->from_purse = (struct llm_cost){0};
    c->tries = c->row.try;
    c->row.state = "open";
    c->row.reserved_usd_micro = total.usd_micro;
    c->row.reserved_tokens = total.tokens;
    store_call(s, &c->row);
    c->storing++;
    store_after(s, on_reservation_stored, c);
}

static void on_reply_stored(const struct err *e, void *arg)
{
    struct ledger_call *c = arg;
    struct ledger_answer a = {.end = LEDGER_ANSWERED};

    if (dropped(c))
        return;
    if (e) {
        finish_broken(c, e);
        return;
    }
    a.text = (struct str){buf_str(&c->text), c->text.len};
    a.cut = c->cut;
    finish(c, &a);
}

/* `row` borrows from the reply. */
static void fill_row(struct row_call *row, const struct llm_reply *r)
{
    row->state = r->outcome == LLM_ANSWERED ? "answered" : "failed";
    row->finish = r->outcome == LLM_ANSWERED ? llm_finishes[r->finish] : NULL;
    row->error = r->error[0] ? r->error : NULL;
    row->input = r->usage.input;
    row->cached = r->usage.cached;
    row->output = r->usage.output;
    row->reasoning = r->usage.reasoning;
    row->estimated = r->usage.estimated;
    row->cost_usd_micro = r->cost.usd_micro;
    row->cost_tokens = r->cost.tokens;
    row->assumed_usd_micro = r->assumed.usd_micro;
    row->requests = r->requests;
    row->wall_us = r->wall_ns / 1000;
    row->answered_at = now_us();
}

static void store_end(struct ledger_call *c, const struct llm_reply *r)
{
    struct store *s = c->l->part.store;
    char reply[HASH_HEX], thought[HASH_HEX], *model = NULL;

    fill_row(&c->row, r);
    if (r->model.n)
        c->row.model = model = xstrndup(r->model.p, r->model.n);
    if (r->outcome == LLM_ANSWERED) {
        store_blob(s, r->text, reply);
        c->row.reply = reply;
        if (r->thought.n) {
            store_blob(s, r->thought, thought);
            c->row.thought = thought;
        }
    }
    store_call(s, &c->row); /* copies */
    c->row.reply = c->row.thought = c->row.error = c->row.model = NULL;
    free(model);
}

static void on_failed(struct ledger_call *c, const struct llm_reply *r)
{
    struct ledger *l = c->l;
    struct ledger_answer a = {.end = LEDGER_FAILED, .why = r->error};

    if (c->q.task >= 0)
        store_event(l->part.store, "call", c->q.task, c->q.attempt, r->error);
    if (l->stopping)
        finish_as(c, LEDGER_STOPPED);
    else if (r->outcome == LLM_REFUSED || ++c->failures >= FAILURES)
        finish(c, &a);
    else
        send_call(c);
}

static void on_done(struct llm_call *call, const struct llm_reply *r, void *arg)
{
    struct ledger_call *c = arg;
    struct ledger *l = c->l;

    (void)call;
    c->call = NULL;
    l->in_flight--;
    if (r->outcome == LLM_NO_BUDGET && r->requests == 0) {
        park(c); /* nothing has changed for anybody */
        return;
    }
    store_end(c, r);
    if (r->outcome == LLM_ANSWERED) {
        buf_reset(&c->text);
        buf_put(&c->text, r->text.p, r->text.n);
        c->cut = r->finish == LLM_LENGTH;
        c->storing++;
        store_after(l->part.store, on_reply_stored, c);
    } else if (r->outcome == LLM_NO_BUDGET) {
        park(c);
    } else {
        on_failed(c, r);
    }
    unpark(l);
}

static void start_row(struct ledger_call *c)
{
    const struct ledger_question *q = &c->q;

    c->row =
        (struct row_call){.purpose = q->purpose,
                          .asked = q->asked,
                          .try = c->tries + 1,
                          .task = q->task,
                          .attempt = q->attempt,
                          .prompt = q->prompt_stored ? q->prompt_hash : NULL,
                          .prompt_hash = q->prompt_hash,
                          .asked_at = now_us()};
}

/* It was open when the program ended, with a front that asks again for
 * nothing; this one may have billed it. */
static void lose_held(struct ledger_call *c)
{
    struct known_call *k = c->known;

    start_row(c);
    c->row.reserved_usd_micro = k->held.usd_micro;
    c->row.reserved_tokens = k->held.tokens;
    known_make_lost(&c->row);
    store_call(c->l->part.store, &c->row);
    budget_settle(c->l->part.budget, k->held, k->held);
    k->held = (struct llm_cost){0};
    c->tries++;
}

static void send_call(struct ledger_call *c)
{
    static const struct llm_handlers handlers = {on_reserved, on_done};
    struct ledger *l = c->l;
    struct err e = ERR_INIT;

    if (!is_nothing(held_before(c)) && !llm_is_patient(c->q.front))
        lose_held(c);
    if (!fill_purse(c)) {
        park(c);
        return;
    }
    if (c->q.purse)
        c->from_purse = above(c->q.purse->rest, c->q.then);
    c->q.request.held = cost_add(held_before(c), c->from_purse);
    start_row(c);
    c->call = llm_ask(c->q.front, &c->q.request, &handlers, c, &e);
    if (!c->call)
        BUG("%s", e.text);
    l->in_flight++;
}

/* A reply that was stored before the program ended. */
static void answer_from_store(struct ledger *l, const struct known_call *k,
                              ledger_fn *fn, void *arg)
{
    struct ledger_answer a = {
        .end = LEDGER_ANSWERED, .text = STR_LIT(""), .cut = k->cut, .why = ""};
    struct err e = ERR_INIT;
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (store_read_blob(l->part.store, k->reply, &b, &e) < 0) {
        a.end = LEDGER_BROKEN;
        a.err = &e;
    } else {
        a.text = (struct str){buf_str(&b), b.len};
    }
    fn(arg, &a);
    buf_release(&b);
}

struct ledger_call *ledger_ask(struct ledger *l,
                               const struct ledger_question *q, ledger_fn *fn,
                               void *arg)
{
    struct known_call *k = known_find(&l->known, q->purpose, q->asked);
    struct ledger_answer stopped = {
        .end = LEDGER_STOPPED, .text = STR_LIT(""), .why = ""};
    struct ledger_call *c;

    if (k && k->reply[0]) {
        answer_from_store(l, k, fn, arg);
        return NULL;
    }
    if (l->stopping) {
        fn(arg, &stopped);
        return NULL;
    }
    c = xcalloc(1, sizeof(*c));
    *c = (struct ledger_call){.l = l,
                              .q = *q,
                              .fn = fn,
                              .arg = arg,
                              .known = k,
                              .tries = k ? k->tries : 0,
                              .prev = l->last};
    buf_init(&c->text, BUF_UNLIMITED);
    *(l->last ? &l->last->next : &l->first) = c;
    l->last = c;
    l->count++;
    send_call(c);
    return c;
}

/* Calls that nothing was reserved for yet have cost nothing. Neither have those
 * that wait for their turn; their row says so then. */
static struct ledger_call *first_unsent(const struct ledger *l)
{
    struct ledger_call *c = l->first;

    while (c && !c->parked && !(c->call && !c->row.state))
        c = c->next;
    return c;
}

static bool withdraw_one(struct ledger *l)
{
    for (struct ledger_call *c = l->first; c; c = c->next)
        if (c->call && llm_withdraw(c->call))
            return true; /* `c` is gone */
    return false;
}

void ledger_stop(struct ledger *l)
{
    struct ledger_call *c;

    l->stopping = true;
    while ((c = first_unsent(l))) {
        cancel(c);
        finish_as(c, LEDGER_STOPPED);
    }
    while (withdraw_one(l))
        ;
}
