/* scripted.c: the provider of the client's tests. */
#include "scripted.h"

#include "base/mem.h"
#include "base/tick.h"

#include <stdlib.h>

struct scripted_send {
    struct send base;
    struct send_result result;
    uint64_t timer;
};

static void on_time(void *arg)
{
    struct scripted_send *q = arg;
    struct send_result r = q->result;

    ((struct scripted *)q->base.from)->at_once--;
    send_end(&q->base, &r);
}

static struct send *scripted_send(struct provider *p,
                                  const struct llm_request *r, send_fn *fn,
                                  void *arg, struct err *e)
{
    struct scripted *s = (struct scripted *)p;
    struct scripted_send *q = send_new(sizeof(*q), p, fn, arg);
    int64_t after = 0;

    (void)e;
    s->last_ns = tick_now_ns();
    if (++s->at_once > s->most_at_once)
        s->most_at_once = s->at_once;
    s->next(s, s->sent++, r, &q->result, &after);
    q->timer = loop_add_timer(s->loop, s->last_ns + after, on_time, q);
    return &q->base;
}

void scripted_end(struct scripted *s)
{
    struct scripted_send *q = (struct scripted_send *)s->base.first;

    loop_remove(s->loop, q->timer);
    on_time(q);
}

static void scripted_cancel(struct send *q)
{
    struct scripted *s = (struct scripted *)q->from;

    s->cancelled++;
    s->at_once--;
    loop_remove(s->loop, ((struct scripted_send *)q)->timer);
    send_free(q);
}

static void scripted_close(struct provider *p)
{
    free(p);
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
