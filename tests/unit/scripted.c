/* scripted.c: the provider of the client's tests. */
#include "scripted.h"

#include "base/mem.h"
#include "base/tick.h"

#include <stdlib.h>

struct send {
    struct scripted *s;
    struct send *next, *prev;
    struct send_result result;
    uint64_t timer;
    send_fn *fn;
    void *arg;
};

static void drop(struct send *q)
{
    *(q->prev ? &q->prev->next : &q->s->first) = q->next;
    if (q->next)
        q->next->prev = q->prev;
    q->s->at_once--;
    free(q);
}

static void on_time(void *arg)
{
    struct send *q = arg, copy = *q;

    drop(q);
    copy.fn(copy.arg, &copy.result);
}

static struct send *scripted_send(struct provider *p,
                                  const struct llm_request *r, send_fn *fn,
                                  void *arg, struct err *e)
{
    struct scripted *s = (struct scripted *)p;
    struct send *q = xcalloc(1, sizeof(*q));
    int64_t after = 0;

    (void)e;
    *q = (struct send){.s = s, .next = s->first, .fn = fn, .arg = arg};
    if (s->first)
        s->first->prev = q;
    s->first = q;
    s->last_ns = tick_now_ns();
    if (++s->at_once > s->most_at_once)
        s->most_at_once = s->at_once;
    s->next(s, s->sent++, r, &q->result, &after);
    q->timer = loop_add_timer(s->loop, s->last_ns + after, on_time, q);
    return q;
}

void scripted_end(struct scripted *s)
{
    loop_remove(s->loop, s->first->timer);
    on_time(s->first);
}

static void scripted_cancel(struct send *q)
{
    q->s->cancelled++;
    loop_remove(q->s->loop, q->timer);
    drop(q);
}

static void scripted_close(struct provider *p)
{
    struct scripted *s = (struct scripted *)p;

    while (s->first)
        scripted_cancel(s->first);
    free(s);
}

static const struct provider_type priced_type = {
    .name = "scripted",
    .priced = true,
    .close = scripted_close,
    .send = scripted_send,
    .cancel = scripted_cancel,
};
static const struct provider_type free_type = {
    .name = "scripted",
    .patient = true,
    .close = scripted_close,
    .send = scripted_send,
    .cancel = scripted_cancel,
};

struct scripted *scripted_new(struct loop *l, scripted_fn *next, void *arg,
                              bool priced)
{
    struct scripted *s = xcalloc(1, sizeof(*s));

    s->base.type = priced ? &priced_type : &free_type;
    s->loop = l;
    s->next = next;
    s->arg = arg;
    return s;
}

struct send_result scripted_answer(const char *text, int64_t input,
                                   int64_t output)
{
    return (struct send_result){.outcome = SEND_ANSWERED,
                                .text = str_of(text),
                                .thought = STR_LIT(""),
                                .model = STR_LIT("scripted-1"),
                                .usage = {.input = input, .output = output},
                                .error = ""};
}

struct send_result scripted_failure(enum send_outcome o, const char *error)
{
    return (struct send_result){.outcome = o, .error = error};
}
