/* ledger.c: one question, answered from the store or by the model: ledger_ask(), at
 * the end, is the story; call_pay() is the part that costs money.
 *
 * Money is spent by others, at any moment, whatever becomes of this program. So its
 * own memory is never what counts: before a request can go out, the store has on
 * disk what it may cost at most, and before anybody sees a reply, the store has it
 * together with what it did cost. A program that ends between two of these steps
 * has either asked for nothing or knows what it may owe. Whoever changes the order
 * of call_pay() breaks the cap or pays twice.
 *
 * A call lives on the stack of the coroutine that asks, and waits for one word at a
 * time: from the client, from those who make room under the cap, from ledger_stop(),
 * or from the call that it has joined. */
#include "llm/ledger.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/tick.h"
#include "io/co.h"
#include "llm/llm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A question is given up after so many failed tries, and its task is set aside until the
 * run is resumed. The client repeats requests, too, but by default a try has used them up
 * in half a minute, and a provider may fail for longer. */
#define FAILURES 5

enum word {
    WORD_RESERVED,  /* the client: store `total`, then let the request go */
    WORD_DONE,      /* the client: `reply` */
    WORD_ROOM,      /* parked: try again */
    WORD_NO_ROOM,   /* parked: nobody can make room */
    WORD_STOP,      /* it has not gone out, and will not */
    WORD_HEIR,      /* joined: the one that asked is gone, ask yourself */
    WORD_OVER,      /* `out` is complete: answered, failed or broken */
    WORD_CANCELLED, /* so is the coroutine */
};

/* What the store has of a question. */
struct stored_call {
    int64_t tries;
    char prompt[HASH_HEX]; /* of the try that has a reply, or may get one */
    char reply[HASH_HEX];  /* "": there is no reply yet */
    bool storing;          /* the reply may not be on disk yet */
    bool cut;
    struct llm_cost held; /* reserved by a call that has no reply yet */
};

/* A question under way, with all its tries. */
struct call {
    struct ledger *l;
    struct ledger_question q;
    struct arena *memory;
    struct ledger_answer *out;
    struct co_event told;
    enum word word;
    struct stored_call *stored; /* or NULL */
    struct llm_call *sent;      /* with the client, or NULL */
    struct llm_cost
        from_shared; /* the part of its reservation that the shared one pays */
    struct llm_cost total;  /* WORD_RESERVED */
    struct llm_reply reply; /* WORD_DONE; a copy */
    struct row_call row;    /* state NULL: not in the store yet */
    int64_t tries;
    int failures;
    bool parked;
    uint64_t defer; /* nonzero: the loop will tell it that it is the heir */
    struct call *prev, *next;
    /* Calls with the same question share one request. The first is the leader;
     * the others are in its list `joined`, and in no other list. */
    struct call *leader, *joined;
};

struct ledger {
    struct ledger_parts part;
    struct map stored;         /* struct stored_call, by purpose and hash */
    struct call *first, *last; /* in the order of asking */
    size_t count, parked, in_flight;
    bool stopping;
    uint64_t look; /* nonzero: the loop will look for calls without room */
};

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

/* ---- stored calls ---- */

#define KEY_BYTES 128

static struct str stored_key(const char *purpose, const char *asked, char *out)
{
    snprintf(out, KEY_BYTES, "%s/%s", purpose, asked);
    return str_of(out);
}

static struct stored_call *stored_find(const struct map *stored,
                                       const char *purpose, const char *asked)
{
    char key[KEY_BYTES];

    return map_get(stored, stored_key(purpose, asked, key));
}

static void stored_release(struct map *stored)
{
    for (size_t i = 0; i < stored->len; i++)
        free(stored->items[i].value);
    map_release(stored);
}

struct stored_loading {
    struct map *stored;
    struct budget *budget;
};

static struct stored_call *stored_put(struct map *stored, const char *purpose,
                                      const char *asked)
{
    struct stored_call *k = stored_find(stored, purpose, asked);
    char key[KEY_BYTES];

    if (k)
        return k;
    k = xcalloc(1, sizeof(*k));
    map_set(stored, stored_key(purpose, asked, key), k);
    return k;
}

/* A call without a reply keeps its try and its reservation until it is asked
 * again. */
static int stored_on_call(const void *row, void *arg)
{
    const struct row_call *r = row;
    struct stored_loading *l = arg;
    struct stored_call *k = stored_put(l->stored, r->purpose, r->asked);
    struct budget *b = l->budget;
    bool open = strcmp(r->state, "open") == 0;

    if ((open || strcmp(r->state, "answered") == 0) && r->prompt_hash)
        snprintf(k->prompt, sizeof(k->prompt), "%s", r->prompt_hash);
    if (open) {
        k->tries = r->try - 1;
        k->held = (struct llm_cost){r->reserved_usd_micro, r->reserved_tokens};
        b->reserved = cost_add(b->reserved, k->held);
        return 0;
    }
    k->tries = r->try;
    b->spent = cost_add(b->spent,
                        (struct llm_cost){r->cost_usd_micro, r->cost_tokens});
    if (strcmp(r->state, "answered") == 0 && r->reply) {
        snprintf(k->reply, sizeof(k->reply), "%s", r->reply);
        k->cut = r->finish && strcmp(r->finish, llm_finishes[LLM_LENGTH]) == 0;
    }
    return 0;
}

static int stored_load(struct store *s, struct budget *b, struct map *stored,
                       struct err *e)
{
    struct stored_loading l = {stored, b};

    return store_each(s, STORE_CALLS, stored_on_call, &l, e) == 0 ? 0 : -1;
}

/* ---- calls that were under way ---- */

static void stored_make_lost(struct row_call *r)
{
    r->state = "lost";
    r->cost_usd_micro = r->assumed_usd_micro = r->reserved_usd_micro;
    r->cost_tokens = r->reserved_tokens;
    r->estimated = true;
    r->reply = r->thought = r->finish = r->model = r->error = NULL;
}

struct stored_losing {
    struct arena memory; /* of their texts */
    struct row_call *call;
    size_t len, cap;
};

static int stored_on_open(const void *row, void *arg)
{
    const struct row_call *r = row;
    struct stored_losing *l = arg;
    struct row_call *c;

    if (strcmp(r->state, "open") != 0)
        return 0;
    l->call = xgrow(l->call, &l->cap, l->len, sizeof(*l->call));
    c = &l->call[l->len++];
    *c = *r;
    c->purpose = arena_strdup(&l->memory, r->purpose);
    c->asked = arena_strdup(&l->memory, r->asked);
    if (r->prompt)
        c->prompt = arena_strdup(&l->memory, r->prompt);
    if (r->prompt_hash)
        c->prompt_hash = arena_strdup(&l->memory, r->prompt_hash);
    return 0;
}

int ledger_lose(struct store *s, struct err *e)
{
    struct stored_losing l = {0};
    int rc;

    rc = store_each(s, STORE_CALLS, stored_on_open, &l, e) == 0 ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < l.len; i++) {
        stored_make_lost(&l.call[i]);
        store_call(s, &l.call[i]);
    }
    if (rc == 0 && l.len)
        log_info("%zu call%s under way when the run ended: counted as spent, "
                 "and asked again",
                 l.len, l.len == 1 ? " was" : "s were");
    arena_release(&l.memory);
    free(l.call);
    return rc == 0 ? store_sync(s, e) : rc;
}

/* ---- open and closed ---- */

struct ledger *ledger_open(const struct ledger_parts *p, struct err *e)
{
    struct ledger *l = xcalloc(1, sizeof(*l));

    l->part = *p;
    if ((p->patient || ledger_lose(p->store, e) == 0) &&
        stored_load(p->store, p->budget, &l->stored, e) == 0)
        return l;
    ledger_close(l);
    return NULL;
}

void ledger_close(struct ledger *l)
{
    if (!l)
        return;
    if (l->first)
        BUG("the ledger is closed while somebody waits for an answer");
    loop_remove(l->part.loop, l->look);
    stored_release(&l->stored);
    free(l);
}

const char *ledger_asked_with(const struct ledger *l, const char *purpose,
                              const char *asked)
{
    const struct stored_call *k = stored_find(&l->stored, purpose, asked);

    return k && k->prompt[0] ? k->prompt : NULL;
}

size_t ledger_in_flight(const struct ledger *l)
{
    return l->in_flight;
}

size_t ledger_parked(const struct ledger *l)
{
    return l->parked;
}

/* ---- words ---- */

static enum word call_hear(struct call *c)
{
    int rc = co_wait(&c->told);

    c->told = (struct co_event){0};
    return rc < 0 ? WORD_CANCELLED : c->word;
}

static void call_tell(struct call *c, enum word w)
{
    c->word = w;
    co_happen(&c->told);
}

/* Waits until all rows are on disk. -1: they will not be, and `w` ends the call. */
static int call_wait_for_disk(struct call *c, enum word *w)
{
    struct err *e = arena_alloc(c->memory, sizeof(*e));

    if (store_wait(c->l->part.store, e) == 0)
        return 0;
    *w = WORD_CANCELLED;
    if (e->kind != ERR_INTERRUPT) {
        c->out->end = LEDGER_BROKEN;
        c->out->err = e;
        *w = WORD_OVER;
    }
    return -1;
}

/* ---- the open calls ---- */

static void call_link(struct call *c)
{
    struct ledger *l = c->l;

    c->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = c;
    l->last = c;
    l->count++;
}

static void call_unlink(struct call *c)
{
    struct ledger *l = c->l;

    *(c->prev ? &c->prev->next : &l->first) = c->next;
    *(c->next ? &c->next->prev : &l->last) = c->prev;
    l->count--;
    l->parked -= c->parked;
    c->parked = false;
}

static struct call *call_find(const struct ledger *l,
                              const struct ledger_question *q)
{
    struct call *c = l->first;

    while (c && (strcmp(c->q.asked, q->asked) != 0 ||
                 strcmp(c->q.purpose, q->purpose) != 0))
        c = c->next;
    return c;
}

static void call_join(struct call *leader, struct call *c)
{
    struct call **at = &leader->joined;

    while (*at)
        at = &(*at)->next;
    *at = c;
    c->leader = leader;
}

static void call_leave(struct call *c)
{
    struct call **at = &c->leader->joined;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static void call_on_heir(void *arg)
{
    struct call *c = arg;

    c->defer = 0;
    call_tell(c, WORD_HEIR);
}

/* The leader is cancelled: the next in its list becomes the leader and sends the
 * question itself, because what a question points to belongs to its own caller. It
 * hears of it from the loop: its coroutine may be cancelled, too. */
static void call_pass_on(struct call *leader)
{
    struct call *heir = leader->joined;

    if (!heir)
        return;
    leader->joined = NULL;
    heir->joined = heir->next;
    heir->next = heir->leader = NULL;
    for (struct call *j = heir->joined; j; j = j->next)
        j->leader = heir;
    heir->stored =
        stored_find(&leader->l->stored, heir->q.purpose, heir->q.asked);
    heir->tries = leader->tries;
    call_link(heir);
    heir->defer = loop_defer(leader->l->part.loop, call_on_heir, heir);
}

static void copy_answer(const struct ledger_answer *from, struct arena *memory,
                        struct ledger_answer *to)
{
    *to = *from;
    to->text.p = arena_strndup(memory, from->text.p, from->text.n);
    to->why = arena_strdup(memory, from->why);
    if (from->err) {
        struct err *e = arena_alloc(memory, sizeof(*e));

        *e = *from->err;
        to->err = e;
    }
}

/* ---- room under the cap ---- */

static bool queue_is_nothing(struct llm_cost c)
{
    return c.usd_micro == 0 && c.tokens == 0;
}

static struct llm_cost queue_above(struct llm_cost a, struct llm_cost b)
{
    struct llm_cost d = cost_sub(a, b);

    return (struct llm_cost){d.usd_micro > 0 ? d.usd_micro : 0,
                             d.tokens > 0 ? d.tokens : 0};
}

static struct llm_cost queue_held(const struct call *c)
{
    return c->stored ? c->stored->held : (struct llm_cost){0};
}

/* What would have to be reserved, besides what is reserved for the call
 * already. */
static struct llm_cost queue_need(const struct call *c)
{
    struct llm_cost need =
        cost_add(llm_worst_case(c->q.client, &c->q.request), c->q.then);

    need = queue_above(need, queue_held(c));
    return c->q.reservation ? queue_above(need, c->q.reservation->rest) : need;
}

/* The first call on a shared reservation makes it; false: there is no room. */
static bool queue_fill(struct call *c)
{
    struct ledger_reservation *p = c->q.reservation;
    struct llm_cost need;

    if (!p || queue_is_nothing(c->q.then) || !queue_is_nothing(p->rest))
        return true;
    need = queue_need(c);
    if (!budget_reserve(c->l->part.budget, need))
        return false;
    p->rest = need;
    return true;
}

static void queue_look(struct ledger *l);

/* Room may have come: parked calls are tried again. What has begun is finished
 * first: while a call without a `then` is parked, none that has one is tried. */
static void queue_unpark(struct ledger *l)
{
    bool begun = false;
    size_t n = 0;
    struct call **list;

    if (!l->parked || l->stopping)
        return;
    list = xcalloc(l->parked, sizeof(struct call *));
    for (struct call *c = l->first; c; c = c->next)
        begun |= c->parked && queue_is_nothing(c->q.then);
    for (struct call *c = l->first; c; c = c->next)
        if (c->parked && (!begun || queue_is_nothing(c->q.then)))
            list[n++] = c;
    for (size_t i = 0; i < n; i++) {
        list[i]->parked = false;
        l->parked--;
        call_tell(list[i], WORD_ROOM);
    }
    free(list);
}

/* Waits for room. `freed`: the call itself has cost less than was reserved, so
 * there may be some already. */
static enum word queue_park(struct call *c, bool freed)
{
    c->parked = true;
    c->l->parked++;
    queue_look(c->l);
    if (freed)
        queue_unpark(c->l);
    return call_hear(c);
}

void ledger_reservation_close(struct ledger *l, struct ledger_reservation *p)
{
    if (queue_is_nothing(p->rest))
        return;
    budget_settle(l->part.budget, p->rest, (struct llm_cost){0});
    p->rest = (struct llm_cost){0};
    queue_unpark(l);
}

static struct llm_cost least_need(const struct ledger *l)
{
    struct llm_cost least = {INT64_MAX, INT64_MAX};

    for (const struct call *c = l->first; c; c = c->next) {
        struct llm_cost need = queue_need(c);

        if (c->parked && need.usd_micro < least.usd_micro)
            least.usd_micro = need.usd_micro;
        if (c->parked && need.tokens < least.tokens)
            least.tokens = need.tokens;
    }
    return least;
}

static struct call *first_parked(const struct ledger *l)
{
    struct call *c = l->first;

    while (c && !c->parked)
        c = c->next;
    return c;
}

static void queue_on_look(void *arg)
{
    struct ledger *l = arg;
    struct llm_cost need;
    struct call *c;

    l->look = 0;
    if (!l->parked || l->parked < l->count)
        return;
    need = least_need(l);
    /* who hears of it may stop the ledger, which ends the others */
    while ((c = first_parked(l)) && l->parked == l->count) {
        c->out->need = need;
        call_tell(c, WORD_NO_ROOM);
    }
}

/* When all calls are parked, nobody can make room. Looked at from the loop: whoever
 * asks may be about to ask something cheaper. */
static void queue_look(struct ledger *l)
{
    if (l->parked && l->parked == l->count && !l->look)
        l->look = loop_defer(l->part.loop, queue_on_look, l);
}

/* ---- rows ---- */

static void start_row(struct call *c)
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

/* The program ended while the call was under way, with a patient client. The
 * client is another one now, so the call is lost. */
static void lose_held(struct call *c)
{
    struct stored_call *k = c->stored;

    start_row(c);
    c->row.reserved_usd_micro = k->held.usd_micro;
    c->row.reserved_tokens = k->held.tokens;
    stored_make_lost(&c->row);
    store_call(c->l->part.store, &c->row);
    budget_settle(c->l->part.budget, k->held, k->held);
    k->held = (struct llm_cost){0};
    c->tries++;
}

static void call_store_reservation(struct call *c)
{
    if (c->stored)
        c->stored->held = (struct llm_cost){0};
    if (c->q.reservation)
        c->q.reservation->rest =
            cost_sub(c->q.reservation->rest, c->from_shared);
    c->from_shared = (struct llm_cost){0};
    c->tries = c->row.try;
    c->row.state = "open";
    c->row.reserved_usd_micro = c->total.usd_micro;
    c->row.reserved_tokens = c->total.tokens;
    store_call(c->l->part.store, &c->row);
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

/* An answer is known from here on, so that nobody pays for it again if this call is
 * cancelled while it is being stored. */
static void call_store_end(struct call *c)
{
    const struct llm_reply *r = &c->reply;
    struct store *s = c->l->part.store;
    char thought[HASH_HEX];

    c->stored = stored_put(&c->l->stored, c->q.purpose, c->q.asked);
    c->stored->tries = c->row.try;
    fill_row(&c->row, r);
    if (r->model.n)
        c->row.model = r->model.p;
    if (r->outcome == LLM_ANSWERED) {
        store_blob(s, r->text, c->stored->reply);
        c->stored->storing = true;
        c->stored->cut = r->finish == LLM_LENGTH;
        c->row.reply = c->stored->reply;
        if (r->thought.n) {
            store_blob(s, r->thought, thought);
            c->row.thought = thought;
        }
    }
    store_call(s, &c->row); /* copies */
    c->row.reply = c->row.thought = c->row.error = c->row.model = NULL;
}

/* ---- the client ---- */

static void call_on_reserved(struct llm_call *call, struct llm_cost total,
                             void *arg)
{
    struct call *c = arg;

    (void)call;
    c->total = total;
    call_tell(c, WORD_RESERVED);
}

static void call_on_done(struct llm_call *call, const struct llm_reply *r,
                         void *arg)
{
    struct call *c = arg;

    (void)call;
    c->sent = NULL;
    c->l->in_flight--;
    c->reply = *r;
    c->reply.text = arena_str(c->memory, r->text);
    c->reply.thought = arena_str(c->memory, r->thought);
    c->reply.model = arena_str(c->memory, r->model);
    c->reply.error = arena_strdup(c->memory, r->error);
    call_tell(c, WORD_DONE);
}

/* Hands the call to the client. False: there is no room for it in the shared one. */
static bool call_hand_over(struct call *c)
{
    static const struct llm_handlers handlers = {call_on_reserved,
                                                 call_on_done};
    struct err e = ERR_INIT;

    if (!queue_is_nothing(queue_held(c)) && !llm_is_patient(c->q.client))
        lose_held(c);
    if (!queue_fill(c))
        return false;
    if (c->q.reservation)
        c->from_shared = queue_above(c->q.reservation->rest, c->q.then);
    c->q.request.held = cost_add(queue_held(c), c->from_shared);
    start_row(c);
    c->sent = llm_ask(c->q.client, &c->q.request, &handlers, c, &e);
    if (!c->sent)
        BUG("%s", e.text);
    c->l->in_flight++;
    return true;
}

/* The client has reserved: that is on disk before the request goes out. A client that
 * repeats a request reserves again. */
static enum word call_hear_client(struct call *c)
{
    enum word w;

    while ((w = call_hear(c)) == WORD_RESERVED) {
        call_store_reservation(c);
        if (call_wait_for_disk(c, &w) < 0)
            return w;
        llm_go(c->sent);
        if (c->l->stopping)
            llm_withdraw(c->sent);
    }
    return w;
}

/* ---- a call ---- */

/* The reply is on disk before it is used. */
static enum word call_keep_reply(struct call *c)
{
    enum word w;

    if (call_wait_for_disk(c, &w) < 0)
        return w;
    c->stored->storing = false;
    c->out->end = LEDGER_ANSWERED;
    c->out->text = c->reply.text;
    c->out->cut = c->stored->cut;
    return WORD_OVER;
}

/* True: it is tried again. */
static bool call_failed_once(struct call *c)
{
    if (c->q.task >= 0)
        store_event(c->l->part.store, "call", c->q.task, c->q.attempt,
                    c->reply.error);
    if (!c->l->stopping && c->reply.outcome != LLM_REFUSED &&
        ++c->failures < FAILURES)
        return true;
    c->out->end = c->l->stopping ? LEDGER_STOPPED : LEDGER_FAILED;
    c->out->why = c->l->stopping ? "" : c->reply.error;
    return false;
}

/* A try is: reserve, store, send, store. There is another while call_failed_once() says
 * so. Returns WORD_OVER when `out` is complete, else the word that cut the call short:
 * WORD_NO_ROOM, WORD_STOP or WORD_CANCELLED. */
static enum word call_pay(struct call *c)
{
    bool freed = false; /* what a try has left of its reservation */

    for (;;) {
        enum word w;
        bool no_room = !call_hand_over(c);

        if (!no_room) {
            if (freed)
                queue_unpark(c->l);
            if ((w = call_hear_client(c)) != WORD_DONE)
                return w;
            no_room = c->reply.outcome == LLM_NO_BUDGET;
            freed = !no_room || c->reply.requests > 0;
            if (freed)
                call_store_end(c);
        }
        if (no_room) {
            if ((w = queue_park(c, freed)) != WORD_ROOM)
                return w;
            freed = false;
        } else if (c->reply.outcome == LLM_ANSWERED || !call_failed_once(c)) {
            queue_unpark(c->l);
            return c->reply.outcome == LLM_ANSWERED ? call_keep_reply(c)
                                                    : WORD_OVER;
        }
    }
}

/* Ends a call that has asked: those who have joined it hear the answer, or one of
 * them asks itself. */
static void call_end(struct call *c, enum word w)
{
    struct ledger *l = c->l;
    struct call *j;

    if (c->sent) {
        llm_cancel(c->sent);
        c->sent = NULL;
        l->in_flight--;
    }
    if (w == WORD_NO_ROOM)
        c->out->end = LEDGER_NO_BUDGET;
    else if (w == WORD_STOP)
        c->out->end = LEDGER_STOPPED;
    else if (w == WORD_CANCELLED)
        call_pass_on(c);
    call_unlink(c);
    while ((j = c->joined)) {
        c->joined = j->next;
        j->leader = NULL;
        copy_answer(c->out, j->memory, j->out);
        call_tell(j, WORD_OVER);
    }
    queue_look(l);
}

/* A reply that is in the store, or on its way there: then it is waited for. */
static enum word answer_from_store(struct call *c)
{
    struct ledger_answer *out = c->out;
    struct err *e;
    struct buf b = BUF_INIT;
    enum word w;

    if (c->stored->storing && call_wait_for_disk(c, &w) < 0)
        return w;
    c->stored->storing = false;
    e = arena_alloc(c->memory, sizeof(*e));
    out->cut = c->stored->cut;
    if (store_read_blob(c->l->part.store, c->stored->reply, &b, e) < 0) {
        out->end = LEDGER_BROKEN;
        out->err = e;
    } else {
        out->end = LEDGER_ANSWERED;
        out->text = arena_str(c->memory, buf_view(&b));
    }
    buf_release(&b);
    return WORD_OVER;
}

static bool has_reply(const struct stored_call *k)
{
    return k && k->reply[0];
}

int ledger_ask(struct ledger *l, const struct ledger_question *q,
               struct arena *memory, struct ledger_answer *out)
{
    struct stored_call *k = stored_find(&l->stored, q->purpose, q->asked);
    struct call *open, c = {.l = l,
                            .q = *q,
                            .memory = memory,
                            .out = out,
                            .stored = k,
                            .tries = k ? k->tries : 0};
    enum word w = WORD_HEIR;

    *out = (struct ledger_answer){
        .end = LEDGER_STOPPED, .text = STR_LIT(""), .why = ""};
    if (has_reply(k))
        return answer_from_store(&c) == WORD_CANCELLED ? -1 : 0;
    if (l->stopping)
        return 0;
    if ((open = call_find(l, q))) {
        call_join(open, &c);
        w = call_hear(&c);
        loop_remove(l->part.loop, c.defer);
        if (c.leader)
            call_leave(&c);
        else if (w != WORD_OVER)
            open = NULL; /* it is the leader now */
    } else {
        call_link(&c);
    }
    if (w == WORD_HEIR)
        w = has_reply(c.stored) ? answer_from_store(&c) : call_pay(&c);
    if (!open)
        call_end(&c, w);
    return w == WORD_CANCELLED ? -1 : 0;
}

/* ---- stopping ---- */

/* The first call that nothing is reserved for: no request of it is under way. */
static struct call *first_unsent(const struct ledger *l)
{
    struct call *c = l->first;

    while (c && !c->parked && !c->defer && !(c->sent && !c->row.state))
        c = c->next;
    return c;
}

/* Ends a call whose request is not under way, although it may be reserved. */
static bool withdraw_one(struct ledger *l)
{
    for (struct call *c = l->first; c; c = c->next)
        if (c->sent && llm_withdraw(c->sent))
            return true; /* `c` is gone */
    return false;
}

void ledger_stop(struct ledger *l)
{
    struct call *c;

    l->stopping = true;
    while ((c = first_unsent(l)))
        call_tell(c, WORD_STOP);
    while (withdraw_one(l))
        ;
}
