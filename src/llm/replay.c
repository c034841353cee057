/* replay.c: the provider `replay`: a cassette answers. */
#include "base/log.h"
#include "base/mem.h"
#include "llm/cassette.h"
#include "llm/llm.h"
#include "llm/provider.h"
#include "llm/request.h"

#include <stdlib.h>
#include <string.h>

struct replay {
    struct provider base;
    struct loop *loop;
    struct cassette *cassette;
    char *name;
    bool strict, warned;
    struct send *first; /* under way */
};

struct send {
    struct replay *replay;
    struct send *next, *prev;
    uint64_t timer;
    const struct llm_request *request;
    send_fn *fn;
    void *arg;
};

static struct provider *replay_open(struct loop *l, const struct llm_opts *o,
                                    struct err *e)
{
    struct replay *r;
    struct cassette *c;

    if (!o->cassette) {
        err_set(e, ERR_USAGE, "the provider replay needs --cassette FILE");
        return NULL;
    }
    c = cassette_open(o->cassette, e);
    if (!c)
        return NULL;
    r = xcalloc(1, sizeof(*r));
    r->base.type = &provider_replay;
    r->loop = l;
    r->cassette = c;
    r->name = xstrdup(o->cassette);
    r->strict = o->replay_strict;
    return &r->base;
}

static void drop(struct send *s)
{
    *(s->prev ? &s->prev->next : &s->replay->first) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    free(s);
}

static void replay_cancel(struct send *s)
{
    loop_remove(s->replay->loop, s->timer);
    drop(s);
}

static void replay_close(struct provider *p)
{
    struct replay *r = (struct replay *)p;

    for (struct send *s = r->first, *next; s; s = next) {
        next = s->next;
        replay_cancel(s);
    }
    cassette_close(r->cassette);
    free(r->name);
    free(r);
}

/* False when the recorded answer was to another prompt and that matters. */
static bool same_prompt(struct replay *r, const struct llm_request *q,
                        const struct cassette_item *item)
{
    char hash[HASH_HEX];

    request_prompt_hash(q, hash);
    if (strcmp(hash, item->prompt) == 0)
        return true;
    if (!r->strict && !r->warned)
        log_warn("%s: the prompt of %s (%s, %s, attempt %d) differs "
                 "from the recorded one; using its answer anyway (further "
                 "differences are not reported)",
                 r->name, q->key.task, q->key.method, q->key.stage,
                 q->key.attempt);
    r->warned = true;
    return !r->strict;
}

static void on_turn(void *arg)
{
    struct send *s = arg, copy = *s;
    struct replay *r = s->replay;
    const struct llm_key *k = &s->request->key;
    struct send_result refused = {.outcome = SEND_REFUSED};
    struct cassette_item item;
    bool found = cassette_find(r->cassette, k, &item);
    char *why = NULL;

    if (!found || !same_prompt(r, s->request, &item))
        why = xasprintf("%s %s for %s (%s, %s, attempt %d)", r->name,
                        found ? "was recorded with another prompt"
                              : "has no answer",
                        k->task, k->method, k->stage, k->attempt);
    refused.error = why;
    drop(s);
    copy.fn(copy.arg, why ? &refused : item.result);
    free(why);
}

static struct send *replay_send(struct provider *p, const struct llm_request *q,
                                send_fn *fn, void *arg, struct err *e)
{
    struct replay *r = (struct replay *)p;
    struct send *s = xcalloc(1, sizeof(*s));

    (void)e;
    *s = (struct send){
        .replay = r, .next = r->first, .request = q, .fn = fn, .arg = arg};
    if (r->first)
        r->first->prev = s;
    r->first = s;
    s->timer = loop_defer(r->loop, on_turn, s);
    return s;
}

const struct provider_type provider_replay = {
    .name = "replay",
    .open = replay_open,
    .close = replay_close,
    .send = replay_send,
    .cancel = replay_cancel,
};
