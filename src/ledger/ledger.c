/* ledger.c: answers a question from the store, or sends it: reserve, store,
 * send, store, use. */
#include "ledger/ledger.h"

#include "base/buf.h"
#include "base/date.h"
#include "base/mem.h"
#include "io/co.h"
#include "ledger/ledger_int.h"
#include "llm/options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A call ends after so many failures of its front, which retries by itself. */
#define FAILURES 5

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

static void cancel(struct ledger_call *c)
{
    loop_remove(c->l->part.loop, c->defer);
    c->defer = 0;
    if (!c->call)
        return;
    llm_cancel(c->call);
    c->call = NULL;
    c->l->in_flight--;
}

const char *ledger_asked_with(const struct ledger *l, const char *purpose,
                              const char *asked)
{
    const struct known_call *k = known_find(&l->known, purpose, asked);

    return k && k->prompt[0] ? k->prompt : NULL;
}

void ledger_drop(struct ledger_call *c)
{
    if (c->leader) {
        calls_leave(c);
        return;
    }
    c->fn = NULL;
    calls_pass_on(c);
    cancel(c);
    if (c->storing) /* the store's callback takes it away */
        return;
    calls_unlink(c);
    calls_free(c);
}

void ledger_close(struct ledger *l)
{
    if (!l)
        return;
    while (l->first) {
        while (l->first->joined)
            calls_leave(l->first->joined);
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

void ledger_finish(struct ledger_call *c, struct ledger_answer *a)
{
    struct ledger *l = c->l;
    struct ledger_call *j;

    calls_unlink(c);
    if (!a->text.p)
        a->text = STR_LIT("");
    if (!a->why)
        a->why = "";
    c->fn(c->arg, a);
    while ((j = c->joined)) {
        c->joined = j->next;
        j->fn(j->arg, a);
        calls_free(j);
    }
    calls_free(c);
    room_look(l);
}

static void finish_as(struct ledger_call *c, enum ledger_end end)
{
    struct ledger_answer a = {.end = end};

    ledger_finish(c, &a);
}

static void finish_broken(struct ledger_call *c, const struct err *e)
{
    struct ledger_answer a = {.end = LEDGER_BROKEN, .err = e};

    ledger_finish(c, &a);
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

    if (!e) {
        memcpy(c->known->reply, c->reply, sizeof(c->reply));
        c->known->cut = c->cut;
    }
    if (dropped(c))
        return;
    if (e) {
        finish_broken(c, e);
        return;
    }
    a.text = (struct str){buf_str(&c->text), c->text.len};
    a.cut = c->cut;
    ledger_finish(c, &a);
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
    row->answered_at = date_now_us();
}

static void store_end(struct ledger_call *c, const struct llm_reply *r)
{
    struct store *s = c->l->part.store;
    char thought[HASH_HEX], *model = NULL;

    fill_row(&c->row, r);
    if (r->model.n)
        c->row.model = model = xstrndup(r->model.p, r->model.n);
    if (r->outcome == LLM_ANSWERED) {
        store_blob(s, r->text, c->reply);
        c->row.reply = c->reply;
        if (r->thought.n) {
            store_blob(s, r->thought, thought);
            c->row.thought = thought;
        }
    }
    store_call(s, &c->row); /* copies */
    c->known = known_put(&c->l->known, c->q.purpose, c->q.asked);
    c->known->tries = c->row.try;
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
        ledger_finish(c, &a);
    else
        ledger_send(c);
}

static void on_done(struct llm_call *call, const struct llm_reply *r, void *arg)
{
    struct ledger_call *c = arg;
    struct ledger *l = c->l;

    (void)call;
    c->call = NULL;
    l->in_flight--;
    if (r->outcome == LLM_NO_BUDGET && r->requests == 0) {
        room_park(c); /* nothing has changed for anybody */
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
        room_park(c);
    } else {
        on_failed(c, r);
    }
    room_unpark(l);
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
                          .asked_at = date_now_us()};
}

/* The program ended while the call was under way, with a patient front. The
 * front is another one now, so the call is lost. */
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

void ledger_send(struct ledger_call *c)
{
    static const struct llm_handlers handlers = {on_reserved, on_done};
    struct ledger *l = c->l;
    struct err e = ERR_INIT;

    if (!room_is_nothing(room_held(c)) && !llm_is_patient(c->q.front))
        lose_held(c);
    if (!room_fill_purse(c)) {
        room_park(c);
        return;
    }
    if (c->q.purse)
        c->from_purse = room_above(c->q.purse->rest, c->q.then);
    c->q.request.held = cost_add(room_held(c), c->from_purse);
    start_row(c);
    c->call = llm_ask(c->q.front, &c->q.request, &handlers, c, &e);
    if (!c->call)
        BUG("%s", e.text);
    l->in_flight++;
}

/* A reply that is in the store. */
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
    struct ledger_call *c, *open;

    if (k && k->reply[0]) {
        answer_from_store(l, k, fn, arg);
        return NULL;
    }
    if (l->stopping) {
        fn(arg, &stopped);
        return NULL;
    }
    open = calls_find(l, q);
    c = xcalloc(1, sizeof(*c));
    *c = (struct ledger_call){.l = l,
                              .q = *q,
                              .fn = fn,
                              .arg = arg,
                              .known = k,
                              .tries = k ? k->tries : 0};
    buf_init(&c->text, BUF_UNLIMITED);
    if (open) {
        calls_join(open, c);
    } else {
        calls_link(c);
        ledger_send(c);
    }
    return c;
}

struct ledger_waiting {
    struct co_event over;
    struct arena *memory;
    struct ledger_answer *out;
};

static void ledger_on_waited(void *arg, const struct ledger_answer *a)
{
    struct ledger_waiting *w = arg;

    *w->out = *a;
    w->out->text.p = arena_strndup(w->memory, a->text.p, a->text.n);
    w->out->why = arena_strdup(w->memory, a->why);
    if (a->err) {
        struct err *e = arena_alloc(w->memory, sizeof(*e));

        *e = *a->err;
        w->out->err = e;
    }
    co_happen(&w->over);
}

int ledger_wait(struct ledger *l, const struct ledger_question *q,
                struct arena *memory, struct ledger_answer *out)
{
    struct ledger_waiting w = {.memory = memory, .out = out};
    struct ledger_call *c = ledger_ask(l, q, ledger_on_waited, &w);

    if (co_wait(&w.over) == 0)
        return 0;
    ledger_drop(c);
    return -1;
}

/* The first call that nothing is reserved for: no request of it is under way. */
static struct ledger_call *first_unsent(const struct ledger *l)
{
    struct ledger_call *c = l->first;

    while (c && !c->parked && !c->defer && !(c->call && !c->row.state))
        c = c->next;
    return c;
}

/* Ends a call whose request is not under way, although it may be reserved. */
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
