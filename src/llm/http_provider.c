/* http_provider.c: sends a request, collects the answer, and reports once how
 * it ended. */
#include "llm/http_provider.h"

#include "base/mem.h"
#include "io/sse.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COUNT ((int64_t)1 << 50) /* tokens: sums of some stay integers */

struct send {
    struct http_provider *p;
    struct send *prev, *next; /* in p->sends */
    struct http_call *call;
    send_fn *fn;
    void *arg;
    char *body;
    struct answer answer;
    struct sse sse;
    struct buf whole; /* of a server that does not stream, though asked to */
    bool heard;       /* a first piece came, so it is known which of both */
    bool streams;
    bool over;      /* inside fn */
    struct err bad; /* what was wrong with the stream */
};

/* ---- questions --------------------------------------------------------------- */

int64_t http_provider_limit(const struct http_provider *p,
                            const struct llm_request *r)
{
    return r->max_tokens > 0 ? r->max_tokens : p->max_tokens;
}

static bool is_limit(const char *field)
{
    return strcmp(field, "max_tokens") == 0 ||
           strcmp(field, "max_completion_tokens") == 0;
}

/* Renames the limit. It may become lower, never higher: money was reserved for
 * the original one. */
static void rename_limit(json_t *q, const char *name, const json_t *value,
                         int64_t limit)
{
    int64_t wanted = json_integer_value(value);

    if (wanted <= 0 || (limit > 0 && limit < wanted))
        wanted = limit;
    json_object_del(q, "max_tokens");
    json_object_del(q, "max_completion_tokens");
    if (wanted > 0)
        json_object_set_new(q, name, json_integer(wanted));
}

/* The user's fields win; null removes a field. */
static void add_extra(json_t *q, const struct http_provider *p, int64_t limit)
{
    const char *name;
    json_t *value;

    json_object_foreach(p->extra, name, value)
    {
        if (is_limit(name))
            rename_limit(q, name, value, limit);
        else if (json_is_null(value))
            json_object_del(q, name);
        else
            json_object_set(q, name, value);
    }
}

static char *write_question(struct http_provider *p,
                            const struct llm_request *r)
{
    json_t *q = p->api->question(p, r);
    char *text;

    add_extra(q, p, http_provider_limit(p, r));
    text = json_dumps(q, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (!text)
        BUG("a question that is not JSON");
    json_decref(q);
    return text;
}

/* ---- answers ----------------------------------------------------------------- */

int answer_add(struct buf *b, const json_t *text, struct err *e)
{
    if (!json_is_string(text))
        return 0;
    return buf_add(b, json_string_value(text), json_string_length(text), e);
}

int64_t answer_count(const json_t *object, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(object, name));

    if (n < 0)
        return 0;
    return n < MAX_COUNT ? n : MAX_COUNT;
}

bool answer_is_complaint(const json_t *answer, struct err *e)
{
    const json_t *error = json_object_get(answer, "error");
    struct buf text;

    if (!error || json_is_null(error))
        return false;
    buf_init(&text, BUF_UNLIMITED);
    if (!endpoint_complaint(answer, &text))
        buf_puts(&text, "an error without a message");
    err_set(e, ERR_INPUT, "%s", buf_str(&text));
    buf_release(&text);
    return true;
}

void answer_init(struct answer *a)
{
    *a = (struct answer){.usage = {.estimated = true}};
    buf_init(&a->text, ENDPOINT_REPLY);
    buf_init(&a->thought, ENDPOINT_REPLY);
    buf_init(&a->model, ENDPOINT_REPLY);
}

void answer_release(struct answer *a)
{
    buf_release(&a->text);
    buf_release(&a->thought);
    buf_release(&a->model);
}

static int on_event(struct str type, struct str data, void *arg)
{
    struct send *s = arg;

    (void)type; /* what matters of it is in the data, too */
    return s->p->api->hear(&s->answer, data, &s->bad);
}

static int on_chunk(struct http_call *c, const char *data, size_t n, void *arg)
{
    struct send *s = arg;

    if (!s->heard) {
        const char *type = http_header(c, "content-type");

        s->heard = true;
        s->streams = !type || (!strstr(type, "json") && !strstr(type, "html"));
    }
    if (!s->streams)
        return buf_add(&s->whole, data, n, &s->bad);
    return sse_feed(&s->sse, data, n, &s->bad);
}

static int read_whole(struct send *s, const struct buf *body, struct err *e)
{
    json_t *v;
    int rc;

    if (!body->len)
        return err_set(e, ERR_INPUT, "the reply is empty");
    v = jsn_parse_foreign("answer", buf_str(body), body->len, e);
    rc = v ? s->p->api->read(&s->answer, v, e) : -1;
    json_decref(v);
    return rc;
}

/* Completes `out`, which so far only reflects how the request ended, by
 * reading the answer. */
static void settle(struct send *s, struct http_call *c,
                   const struct http_reply *r, struct send_result *out,
                   struct buf *text)
{
    const struct endpoint *at = &s->p->endpoint;
    struct err e = ERR_INIT;

    if (s->answer.complete) {
        out->outcome = SEND_ANSWERED; /* regardless of what followed */
        out->error = "";
    } else if (s->bad.kind) {
        endpoint_lost(at, s->bad.text, out, text);
    } else if (out->outcome == SEND_ANSWERED && s->streams) {
        endpoint_lost(at, "the stream ended before the reply was complete", out,
                      text);
    } else if (s->heard && endpoint_is_page(c, &s->whole, out, text)) {
        return;
    } else if (out->outcome == SEND_ANSWERED &&
               read_whole(s, s->heard ? &s->whole : &r->body, &e) < 0) {
        endpoint_lost(at, e.text, out, text);
    }
}

static void send_free(struct send *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        s->p->sends = s->next;
    if (s->next)
        s->next->prev = s->prev;
    answer_release(&s->answer);
    sse_release(&s->sse);
    buf_release(&s->whole);
    free(s->body);
    free(s);
}

static void on_done(struct http_call *c, struct http_reply *r, void *arg)
{
    struct send *s = arg;
    const struct answer *a = &s->answer;
    struct send_result out = {.usage = {.estimated = true}};
    struct buf text;

    buf_init(&text, BUF_UNLIMITED);
    endpoint_judge(&s->p->endpoint, c, r, &out, &text);
    settle(s, c, r, &out, &text);
    if (out.outcome == SEND_ANSWERED) {
        out.text = (struct str){buf_str(&a->text), a->text.len};
        out.thought = (struct str){buf_str(&a->thought), a->thought.len};
        out.model = (struct str){buf_str(&a->model), a->model.len};
        out.finish = a->finish;
        out.usage = a->usage;
    }
    s->over = true;
    s->fn(s->arg, &out);
    buf_release(&text);
    send_free(s);
}

/* ---- the provider ------------------------------------------------------------ */

static int take_extra(struct http_provider *p, const char *text, struct err *e)
{
    if (!text)
        return 0;
    p->extra = jsn_parse("extra fields", text, strlen(text), e);
    if (!p->extra)
        return -1;
    if (!json_is_object(p->extra))
        return err_set(e, ERR_INPUT, "extra fields: not a JSON object");
    for (size_t i = 0; p->api->reserved[i]; i++)
        if (json_object_get(p->extra, p->api->reserved[i]))
            return err_set(e, ERR_INPUT, "extra fields: %s cannot be set here",
                           p->api->reserved[i]);
    return 0;
}

struct provider *http_provider_open(const struct provider_type *type,
                                    const struct http_api *api, struct loop *l,
                                    const struct llm_opts *o, struct err *e)
{
    struct http_provider *p;

    if (!o->model || !o->model[0]) {
        err_set(e, ERR_INPUT, "the model is missing: use --model NAME");
        return NULL;
    }
    p = xcalloc(1, sizeof(*p));
    p->base.type = type;
    p->api = api;
    p->model = xstrdup(o->model);
    p->effort = o->effort ? xstrdup(o->effort) : NULL;
    p->temperature = o->temperature;
    p->max_tokens = o->max_tokens;
    p->stream = o->stream;
    if ((api->check && api->check(o, e) < 0) ||
        take_extra(p, o->extra, e) < 0 ||
        endpoint_open(&p->endpoint, &api->endpoint, l, o, e) < 0) {
        http_provider_close(&p->base);
        return NULL;
    }
    return &p->base;
}

void http_provider_close(struct provider *base)
{
    struct http_provider *p = (struct http_provider *)base;

    for (struct send *s = p->sends, *next; s; s = next) {
        next = s->next;
        http_provider_cancel(s);
    }
    endpoint_release(&p->endpoint);
    json_decref(p->extra);
    free(p->model);
    free(p->effort);
    free(p);
}

struct send *http_provider_send(struct provider *base,
                                const struct llm_request *r, send_fn *fn,
                                void *arg, struct err *e)
{
    struct http_provider *p = (struct http_provider *)base;
    struct send *s = xcalloc(1, sizeof(*s));

    *s = (struct send){.p = p, .fn = fn, .arg = arg, .next = p->sends};
    if (s->next)
        s->next->prev = s;
    p->sends = s;
    answer_init(&s->answer);
    buf_init(&s->whole, ENDPOINT_REPLY);
    sse_init(&s->sse, ENDPOINT_REPLY, on_event, s);
    s->body = write_question(p, r);
    s->call = endpoint_post(&p->endpoint, str_of(s->body),
                            p->stream ? on_chunk : NULL, on_done, s, e);
    if (s->call)
        return s;
    send_free(s);
    return NULL;
}

void http_provider_cancel(struct send *s)
{
    if (s->over)
        return;
    http_cancel(s->call);
    send_free(s);
}
