/* http_provider.c: an endpoint, requests to it, and what becomes of them.
 *
 * The hard part is to say how a request ended. It decides on money and on what is
 * sent again: a request that never reached the server costs nothing and is repeated;
 * one that broke off may have been billed, so it counts as spent; a refusal will be
 * one the next time, too. When in doubt a request counts as lost. And a server's words
 * are shown to users and stored, so they are cleaned of keys and addresses first. */
#include "llm/http_provider.h"

#include "base/mem.h"
#include "base/tick.h"
#include "io/sse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    H2_CONNECTIONS = 16, /* for HTTP/2, which shares them */
    H2_STREAMS = 100,
    OTHER_FILES = 256, /* descriptors the rest of the program needs */
    ERROR_MAX = 400,   /* bytes of an error that a server chose */
    KEY_PART = 8,      /* so much of a key in a row is not shown */
};

/* ---- opening ----------------------------------------------------------------- */

/* BASE + PATH; BASE may end with a slash, contain a part of PATH, or have a
 * query. */
static char *endpoint_url(const char *base, const char *path)
{
    struct str b = {base, strcspn(base, "?")};
    const char *query = base + b.n;

    while (b.n && b.p[b.n - 1] == '/')
        b.n--;
    if (str_ends(b, path))
        path = "";
    else if (str_ends(b, "/v1") && str_starts(str_of(path), "/v1/"))
        path += 3;
    return xasprintf("%.*s%s%s", (int)b.n, b.p, path, query);
}

/* The value without surrounding white space, which keys from files often have. */
static char *endpoint_variable(const char *name)
{
    const char *raw = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    struct str value = str_trim(str_of(raw ? raw : ""));

    return value.n ? xstrndup(value.p, value.n) : NULL;
}

static int endpoint_read_key(struct endpoint *p, const struct endpoint_kind *k,
                             bool needed, struct err *e)
{
    p->key = endpoint_variable("MONKEYS_API_KEY");
    if (!p->key)
        p->key = endpoint_variable(k->key_name);
    if (!p->key && needed)
        return err_set(e, ERR_INPUT,
                       "no API key: set MONKEYS_API_KEY or %s, or use another "
                       "server with --base-url URL",
                       k->key_name);
    for (const char *c = p->key; c && *c; c++)
        if ((unsigned char)*c < ' ')
            return err_set(
                e, ERR_INPUT,
                "the key in MONKEYS_API_KEY or %s contains a control "
                "character",
                k->key_name);
    return 0;
}

static void endpoint_add_header(struct endpoint *p, const char *name,
                                const char *value)
{
    size_t i = 0;

    if (!name || !value)
        return;
    while (p->headers[i])
        i++;
    if (i + 1 == sizeof(p->headers) / sizeof(p->headers[0]))
        BUG("no room for a header");
    p->headers[i] = xasprintf("%s%s", name, value);
}

/* How many connections to allow so that `wanted` requests need not wait for
 * each other; 0: no limit. Raises our limit of open files if necessary. */
static int endpoint_connections(int64_t wanted)
{
    struct rlimit files;
    rlim_t need = (rlim_t)(wanted > 0 ? wanted : 1) + OTHER_FILES;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= need)
        return 0;
    files.rlim_cur = need < files.rlim_max ? need : files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= need)
        return 0;
    if (files.rlim_cur / 2 > OTHER_FILES)
        return (int)files.rlim_cur - OTHER_FILES;
    return (int)(files.rlim_cur / 2) + 1;
}

static struct http_opts endpoint_http_opts(const struct llm_opts *o, bool tls)
{
    int most = endpoint_connections(o->in_flight);
    int streams = (int)(o->in_flight / H2_CONNECTIONS) + 1;

    if (!tls)
        return (struct http_opts){.max_host_connections = most};
    return (struct http_opts){
        .max_host_connections = H2_CONNECTIONS,
        .max_http1_connections = most ? most : (int)o->in_flight,
        .max_streams = streams > H2_STREAMS ? streams : H2_STREAMS,
        .ca_file = o->ca_file,
        .insecure = o->insecure,
    };
}

static int endpoint_open(struct endpoint *p, const struct endpoint_kind *k,
                         struct loop *l, const struct llm_opts *o,
                         struct err *e)
{
    struct http_opts http;
    bool tls;

    *p = (struct endpoint){.timeout_ns = o->timeout_ms * TICK_MS,
                           .reply_limit = HTTP_REPLY};
    p->url = endpoint_url(o->base_url ? o->base_url : k->base_url, k->path);
    if (http_check_url(p->url, &tls, e) < 0)
        return err_wrap(e, "base URL %s", o->base_url ? o->base_url : p->url);
    if (endpoint_read_key(p, k, !o->base_url && !o->dry, e) < 0)
        return -1;
    endpoint_add_header(p, "Content-Type: ", "application/json");
    endpoint_add_header(p, k->key_header, p->key);
    endpoint_add_header(p, k->header, "");
    endpoint_add_header(p, k->organisation, o->organisation);
    endpoint_add_header(p, k->project, o->project);
    http = endpoint_http_opts(o, tls);
    p->http = http_new(l, &http, e);
    return p->http ? 0 : -1;
}

static void endpoint_release(struct endpoint *p)
{
    http_free(p->http);
    if (p->key)
        explicit_bzero(p->key, strlen(p->key));
    for (size_t i = 0; p->headers[i]; i++) {
        explicit_bzero(p->headers[i], strlen(p->headers[i]));
        free(p->headers[i]);
    }
    free(p->key);
    free(p->url);
    *p = (struct endpoint){0};
}

static struct http_call *endpoint_post(struct endpoint *p, struct str body,
                                       http_chunk_fn *on_chunk,
                                       http_done_fn *on_done, void *arg,
                                       struct err *e)
{
    struct http_request r = {
        .url = p->url,
        .headers = (const char *const *)p->headers,
        .body = body.p,
        .body_len = body.n,
        .timeout_ns = p->timeout_ns,
        .body_limit = on_chunk ? HTTP_STREAM : p->reply_limit,
        .on_chunk = on_chunk,
        .on_done = on_done,
        .arg = arg,
    };

    return http_send(p->http, &r, e);
}

/* The code of an account without credit, with the status of one that is busy. */
#define NO_CREDIT "insufficient_quota"

/* ---- texts ------------------------------------------------------------------- */

/* How many bytes at `text` are a part of the key that must not be shown. */
static size_t clean_key_at(const char *key, struct str text)
{
    size_t len = key ? strlen(key) : 0, part = len < KEY_PART ? len : KEY_PART;
    size_t best = 0;

    if (part < 4) /* too short to be a secret */
        return 0;
    for (size_t i = 0; i + part <= len; i++) {
        size_t n = 0;

        while (i + n < len && n < text.n && key[i + n] == text.p[n])
            n++;
        if (n >= part && n > best)
            best = n;
    }
    return best;
}

/* How many bytes at `text` are a URL. */
static size_t clean_url_at(struct str text)
{
    size_t n = 0;

    if (!str_starts(text, "http://") && !str_starts(text, "https://"))
        return 0;
    while (n < text.n && !strchr(" \t\r\n\"'<>)", text.p[n]))
        n++;
    return n;
}

/* Adds the character at the start of `text`, or a replacement if it cannot be
 * printed; returns its length in bytes. */
static size_t clean_add_char(struct str text, struct buf *out)
{
    unsigned char first = (unsigned char)*text.p;
    size_t n = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (n > text.n || str_utf8_check(text.p, n) < n) {
        buf_putc(out, '?');
        return 1;
    }
    buf_put(out, first < ' ' || first == 0x7f ? " " : text.p, n);
    return n;
}

/* Adds `text` on one line, cut to a readable length, without keys and URLs. */
static void clean_add(const struct endpoint *p, struct str text,
                      struct buf *out)
{
    size_t end = out->len + ERROR_MAX;

    text = str_trim(text);
    while (text.n && out->len < end) {
        size_t key = clean_key_at(p->key, text), url = clean_url_at(text);
        size_t taken = key > url ? key : url;

        if (taken)
            buf_puts(out, key ? "[key]" : "[URL]");
        else
            taken = clean_add_char(text, out);
        text.p += taken;
        text.n -= taken;
    }
    if (text.n)
        buf_puts(out, "…");
}

static struct str complaint_member(const json_t *v, const char *name)
{
    const json_t *m = json_object_get(v, name);

    return (struct str){json_string_value(m), json_string_length(m)};
}

/* The error in an answer, as "message (code)"; false when there is none. */
static bool endpoint_complaint(const json_t *answer, struct buf *out)
{
    static const char *const names[] = {"message", "msg", "detail", "error"};
    static const char *const codes[] = {"code", "type", "param"};
    const json_t *error;
    struct str text = {0}, last = {0};
    const char *sep = " (";

    if (json_is_array(answer))
        answer = json_array_get(answer, 0);
    error = json_object_get(answer, "error");
    if (!json_is_object(error))
        error = answer;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !text.n; i++)
        text = complaint_member(error, names[i]);
    if (!text.n)
        return false;
    buf_put(out, text.p, text.n);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct str code = complaint_member(error, codes[i]);

        if (!code.n || error == answer || str_same(code, last))
            continue;
        last = code;
        buf_printf(out, "%s%.*s", sep, (int)code.n, code.p);
        sep = ", ";
    }
    if (strcmp(sep, ", ") == 0)
        buf_putc(out, ')');
    return true;
}

/* What to do about a refusal, by its status (0: 400 and 422) and a word in its
 * text. */
static const struct {
    int status;
    const char *word, *remedy;
} remedies[] = {
    {0, "temperature", "a temperature below 0 leaves the field out"},
    {0, "max_tokens",
     "set the extra field max_completion_tokens to rename "
     "the limit"},
    {0, "max_completion_tokens",
     "set the extra field max_tokens to rename the limit"},
    {0, "stream_options",
     "set the extra field stream_options to null to leave it "
     "out"},
    {0, "reasoning_effort", "leave out --effort to leave out the field"},
    {0, "seed", "set the extra field seed to null to leave it out"},
    {401, "", "is the API key correct?"},
    {403, "", "is the API key allowed to do this?"},
    {404, "", "are the base URL and the model name correct?"},
    {429, NO_CREDIT, "add credit to the account, or use another key"},
};

static void remedy_add(int status, struct buf *text)
{
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
        bool fits = remedies[i].status == status ||
                    (!remedies[i].status && (status == 400 || status == 422));

        if (!fits || !strstr(buf_str(text), remedies[i].word))
            continue;
        buf_printf(text, "; %s", remedies[i].remedy);
        return;
    }
}

#define PAGE "the server sent text/html, a web page, instead of JSON"

static bool page_is(struct str body)
{
    return str_starts(str_trim(body), "<");
}

/* "HTTP 429: what the server said". */
static void endpoint_describe(const struct endpoint *p,
                              const struct http_reply *r, struct buf *text)
{
    struct err e = ERR_INIT;
    struct str said = buf_view(&r->body);
    json_t *v = jsn_parse_foreign("answer", said.p, said.n, &e);
    struct buf complaint = BUF_INIT;

    if (endpoint_complaint(v, &complaint))
        said = buf_view(&complaint);
    else if (page_is(said))
        said = STR_LIT(PAGE);
    else if (v)
        said.n = 0;
    buf_printf(text, "HTTP %d", r->status);
    if (str_trim(said).n)
        buf_puts(text, ": ");
    clean_add(p, said, text);
    remedy_add(r->status, text);
    buf_release(&complaint);
    json_decref(v);
}

/* ---- outcomes ---------------------------------------------------------------- */

enum send_outcome http_provider_outcome(int status)
{
    if (status >= 200 && status < 300)
        return SEND_ANSWERED;
    if (status == 408 || status == 409 || status == 429 || status >= 500)
        return SEND_RETRY;
    return SEND_REFUSED;
}

static enum send_outcome outcome_of_reply(const struct http_reply *r)
{
    if (r->outcome == HTTP_UNTRUSTED)
        return SEND_REFUSED;
    if (r->outcome == HTTP_ANSWERED || r->status >= 300)
        return http_provider_outcome(
            r->status); /* a refusal is one, cut or not */
    return r->sent ? SEND_LOST : SEND_RETRY;
}

/* True when what came as an answer is a web page: `out` is a refusal then. */
static bool endpoint_is_page(struct http_call *c, const struct buf *body,
                             struct send_result *out, struct buf *text)
{
    const char *type = http_header(c, "content-type");

    if (out->outcome != SEND_ANSWERED || !type || !strstr(type, "html") ||
        !page_is(buf_view(body)))
        return false;
    out->outcome = SEND_REFUSED;
    buf_reset(text);
    buf_puts(text, PAGE "; is the base URL right?");
    out->error = buf_str(text);
    return true;
}

/* Fills outcome, status, retry_after_ns and error of `out`; `text` holds the error.
 * SEND_ANSWERED means that the body is complete; its contents are not checked. */
static void endpoint_judge(const struct endpoint *p, struct http_call *c,
                           const struct http_reply *r, struct send_result *out,
                           struct buf *text)
{
    out->outcome = outcome_of_reply(r);
    out->status = r->status;
    out->retry_after_ns =
        out->outcome == SEND_RETRY ? http_retry_after_ns(c) : 0;
    buf_reset(text);
    if (r->status >= 300)
        endpoint_describe(p, r, text);
    else if (endpoint_is_page(c, &r->body, out, text))
        return;
    else if (out->outcome != SEND_ANSWERED)
        clean_add(p, str_of(r->error), text);
    out->error = buf_str(text);
    if (out->outcome == SEND_RETRY && strstr(out->error, NO_CREDIT))
        out->outcome = SEND_REFUSED;
}

/* For a complete answer that cannot be used: it may have been billed. */
static void endpoint_lost(const struct endpoint *p, const char *why,
                          struct send_result *out, struct buf *text)
{
    out->outcome = SEND_LOST;
    buf_reset(text);
    clean_add(p, str_of(why), text);
    out->error = buf_str(text);
}

#define MAX_COUNT ((int64_t)1 << 50) /* tokens: sums of some stay integers */

struct http_send {
    struct send base;
    struct http_call *call;
    char *body;
    struct answer answer;
    struct sse sse;
    struct buf whole; /* of a server that does not stream, though asked to */
    bool heard;       /* a first part came, so it is known which of both */
    bool streams;
    struct err bad; /* what was wrong with the stream */
};

/* ---- questions --------------------------------------------------------------- */

int64_t http_provider_limit(const struct http_provider *p,
                            const struct llm_request *r)
{
    return r->max_tokens > 0 ? r->max_tokens : p->max_tokens;
}

static bool question_is_limit(const char *field)
{
    return strcmp(field, "max_tokens") == 0 ||
           strcmp(field, "max_completion_tokens") == 0;
}

/* Renames the limit. It may become lower, never higher: money was reserved for
 * the original one. */
static void question_rename_limit(json_t *q, const char *name,
                                  const json_t *value, int64_t limit)
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
static void question_add_extra(json_t *q, const struct http_provider *p,
                               int64_t limit)
{
    const char *name;
    json_t *value;

    json_object_foreach(p->extra, name, value)
    {
        if (question_is_limit(name))
            question_rename_limit(q, name, value, limit);
        else if (json_is_null(value))
            json_object_del(q, name);
        else
            json_object_set(q, name, value);
    }
}

static char *question_write(struct http_provider *p,
                            const struct llm_request *r)
{
    json_t *q = p->api->question(p, r);
    char *text;

    question_add_extra(q, p, http_provider_limit(p, r));
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
    json_int_t n = jsn_int(object, name);

    if (n < 0)
        return 0;
    return n < MAX_COUNT ? n : MAX_COUNT;
}

bool answer_is_complaint(const json_t *answer, struct err *e)
{
    const json_t *error = json_object_get(answer, "error");
    struct buf text = BUF_INIT;

    if (!error || json_is_null(error))
        return false;
    if (!endpoint_complaint(answer, &text))
        buf_puts(&text, "an error without a message");
    err_set(e, ERR_INPUT, "%s", buf_str(&text));
    buf_release(&text);
    return true;
}

void answer_init(struct answer *a, size_t messages, size_t limit)
{
    *a = (struct answer){.usage = {.estimated = true}, .messages = messages};
    buf_init(&a->text, limit);
    buf_init(&a->thought, HTTP_REPLY);
    buf_init(&a->model, HTTP_REPLY);
}

void answer_tell(const struct answer *a, struct send_result *out)
{
    out->text = buf_view(&a->text);
    out->thought = buf_view(&a->thought);
    out->model = buf_view(&a->model);
    out->finish = a->finish;
    out->usage = a->usage;
}

void answer_release(struct answer *a)
{
    buf_release(&a->text);
    buf_release(&a->thought);
    buf_release(&a->model);
}

static struct http_provider *http_of(const struct http_send *s)
{
    return (struct http_provider *)s->base.from;
}

static int http_send_on_event(struct str type, struct str data, void *arg)
{
    struct http_send *s = arg;

    (void)type; /* what matters of it is in the data, too */
    return http_of(s)->api->hear(&s->answer, data, &s->bad);
}

static int http_send_on_chunk(struct http_call *c, const char *data, size_t n,
                              void *arg)
{
    struct http_send *s = arg;

    if (!s->heard) {
        const char *type = http_header(c, "content-type");

        s->heard = true;
        s->streams = !type || (!strstr(type, "json") && !strstr(type, "html"));
    }
    if (!s->streams)
        return buf_add(&s->whole, data, n, &s->bad);
    return sse_feed(&s->sse, data, n, &s->bad);
}

static int http_send_read(struct http_send *s, const struct buf *body,
                          struct err *e)
{
    json_t *v;
    int rc;

    if (!body->len)
        return err_set(e, ERR_INPUT, "the reply is empty");
    v = jsn_parse_foreign("answer", buf_str(body), body->len, e);
    rc = v ? http_of(s)->api->read(&s->answer, v, e) : -1;
    json_decref(v);
    return rc;
}

/* Completes `out`, which so far only reflects how the request ended, by
 * reading the answer. */
static void http_send_settle(struct http_send *s, struct http_call *c,
                             const struct http_reply *r,
                             struct send_result *out, struct buf *text)
{
    const struct endpoint *at = &http_of(s)->endpoint;
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
               http_send_read(s, s->heard ? &s->whole : &r->body, &e) < 0) {
        endpoint_lost(at, e.text, out, text);
    }
}

/* What it owns; the rest is the list's. */
static void http_send_release(struct http_send *s)
{
    answer_release(&s->answer);
    sse_release(&s->sse);
    buf_release(&s->whole);
    free(s->body);
}

static void http_send_on_done(struct http_call *c, struct http_reply *r,
                              void *arg)
{
    struct http_send *s = arg;
    struct answer a;
    struct send_result out = {.usage = {.estimated = true}};
    struct buf text = BUF_INIT;

    endpoint_judge(&http_of(s)->endpoint, c, r, &out, &text);
    http_send_settle(s, c, r, &out, &text);
    a = s->answer;
    if (out.outcome == SEND_ANSWERED)
        answer_tell(&a, &out);
    s->answer = (struct answer){0};
    http_send_release(s);
    send_end(&s->base, &out);
    answer_release(&a);
    buf_release(&text);
}

/* ---- the provider ------------------------------------------------------------ */

static int http_provider_extra(struct http_provider *p, const char *text,
                               struct err *e)
{
    if (!text || !p->api->reserved)
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
                                    struct loop *l, const struct llm_opts *o,
                                    struct err *e)
{
    const struct http_api *api = type->http;
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
    p->stream = o->stream && api->hear;
    if ((api->check && api->check(o, e) < 0) ||
        http_provider_extra(p, o->extra, e) < 0 ||
        endpoint_open(&p->endpoint, &api->endpoint, l, o, e) < 0) {
        http_provider_close(&p->base);
        return NULL;
    }
    if (api->reply_limit)
        p->endpoint.reply_limit = api->reply_limit;
    return &p->base;
}

void http_provider_close(struct provider *base)
{
    struct http_provider *p = (struct http_provider *)base;

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
    struct http_send *s = send_new(sizeof(*s), base, fn, arg);

    answer_init(&s->answer, r->count, p->endpoint.reply_limit);
    s->answer.asked = p->model;
    buf_init(&s->whole, HTTP_REPLY);
    sse_init(&s->sse, HTTP_REPLY, http_send_on_event, s);
    s->body = question_write(p, r);
    s->call = endpoint_post(&p->endpoint, str_of(s->body),
                            p->stream ? http_send_on_chunk : NULL,
                            http_send_on_done, s, e);
    if (s->call)
        return &s->base;
    http_send_release(s);
    send_free(&s->base);
    return NULL;
}

void http_provider_cancel(struct send *send)
{
    struct http_send *s = (struct http_send *)send;

    http_cancel(s->call);
    http_send_release(s);
    send_free(send);
}
