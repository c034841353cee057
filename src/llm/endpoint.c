/* endpoint.c: addresses, keys, and what statuses mean. */
#include "llm/endpoint.h"

#include "base/mem.h"
#include "base/tick.h"

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
static char *join_url(const char *base, const char *path)
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
static char *read_variable(const char *name)
{
    const char *raw = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    struct str value = str_trim(str_of(raw ? raw : ""));

    return value.n ? xstrndup(value.p, value.n) : NULL;
}

static int read_key(struct endpoint *p, const struct endpoint_kind *k,
                    bool needed, struct err *e)
{
    p->key = read_variable("MONKEYS_API_KEY");
    if (!p->key)
        p->key = read_variable(k->key_name);
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

static void add_header(struct endpoint *p, const char *name, const char *value)
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
static int connections_for(int64_t wanted)
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

static struct http_opts http_opts_for(const struct llm_opts *o, bool tls)
{
    int most = connections_for(o->in_flight);
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

int endpoint_open(struct endpoint *p, const struct endpoint_kind *k,
                  struct loop *l, const struct llm_opts *o, struct err *e)
{
    struct http_opts http;
    bool tls;

    *p = (struct endpoint){.timeout_ns = o->timeout_ms * TICK_MS,
                           .reply_limit = ENDPOINT_REPLY};
    p->url = join_url(o->base_url ? o->base_url : k->base_url, k->path);
    if (http_check_url(p->url, &tls, e) < 0)
        return err_wrap(e, "base URL %s", o->base_url ? o->base_url : p->url);
    if (read_key(p, k, !o->base_url && !o->dry, e) < 0)
        return -1;
    add_header(p, "Content-Type: ", "application/json");
    add_header(p, k->key_header, p->key);
    add_header(p, k->header, "");
    add_header(p, k->organisation, o->organisation);
    add_header(p, k->project, o->project);
    http = http_opts_for(o, tls);
    p->http = http_new(l, &http, e);
    return p->http ? 0 : -1;
}

void endpoint_release(struct endpoint *p)
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

struct http_call *endpoint_post(struct endpoint *p, struct str body,
                                http_chunk_fn *on_chunk, http_done_fn *on_done,
                                void *arg, struct err *e)
{
    struct http_request r = {
        .url = p->url,
        .headers = (const char *const *)p->headers,
        .body = body.p,
        .body_len = body.n,
        .timeout_ns = p->timeout_ns,
        .body_limit = on_chunk ? ENDPOINT_STREAM : p->reply_limit,
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
static size_t key_at(const char *key, struct str text)
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
static size_t url_at(struct str text)
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
static size_t add_char(struct str text, struct buf *out)
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
static void add_clean(const struct endpoint *p, struct str text,
                      struct buf *out)
{
    size_t end = out->len + ERROR_MAX;

    text = str_trim(text);
    while (text.n && out->len < end) {
        size_t key = key_at(p->key, text), url = url_at(text);
        size_t taken = key > url ? key : url;

        if (taken)
            buf_puts(out, key ? "[key]" : "[URL]");
        else
            taken = add_char(text, out);
        text.p += taken;
        text.n -= taken;
    }
    if (text.n)
        buf_puts(out, "…");
}

static struct str text_member(const json_t *v, const char *name)
{
    const json_t *m = json_object_get(v, name);

    return (struct str){json_string_value(m), json_string_length(m)};
}

bool endpoint_complaint(const json_t *answer, struct buf *out)
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
        text = text_member(error, names[i]);
    if (!text.n)
        return false;
    buf_put(out, text.p, text.n);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct str code = text_member(error, codes[i]);

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

static void add_remedy(int status, struct buf *text)
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

static bool is_page(struct str body)
{
    return str_starts(str_trim(body), "<");
}

/* "HTTP 429: what the server said". */
static void describe_status(const struct endpoint *p,
                            const struct http_reply *r, struct buf *text)
{
    struct err e = ERR_INIT;
    struct str said = {buf_str(&r->body), r->body.len};
    json_t *v = jsn_parse_foreign("answer", said.p, said.n, &e);
    struct buf complaint;

    buf_init(&complaint, BUF_UNLIMITED);
    if (endpoint_complaint(v, &complaint))
        said = (struct str){buf_str(&complaint), complaint.len};
    else if (is_page(said))
        said = STR_LIT(PAGE);
    else if (v)
        said.n = 0;
    buf_printf(text, "HTTP %d", r->status);
    if (str_trim(said).n)
        buf_puts(text, ": ");
    add_clean(p, said, text);
    add_remedy(r->status, text);
    buf_release(&complaint);
    json_decref(v);
}

/* ---- outcomes ---------------------------------------------------------------- */

static enum send_outcome of_status(int status)
{
    if (status >= 200 && status < 300)
        return SEND_ANSWERED;
    if (status == 408 || status == 409 || status == 429 || status >= 500)
        return SEND_RETRY;
    return SEND_REFUSED;
}

static enum send_outcome of_reply(const struct http_reply *r)
{
    if (r->outcome == HTTP_UNTRUSTED)
        return SEND_REFUSED;
    if (r->outcome == HTTP_ANSWERED || r->status >= 300)
        return of_status(r->status); /* a refusal is one, cut or not */
    return r->sent ? SEND_LOST : SEND_RETRY;
}

void endpoint_judge(const struct endpoint *p, struct http_call *c,
                    const struct http_reply *r, struct send_result *out,
                    struct buf *text)
{
    out->outcome = of_reply(r);
    out->status = r->status;
    out->retry_after_ns =
        out->outcome == SEND_RETRY ? http_retry_after_ns(c) : 0;
    buf_reset(text);
    if (r->status >= 300)
        describe_status(p, r, text);
    else if (endpoint_is_page(c, &r->body, out, text))
        return;
    else if (out->outcome != SEND_ANSWERED)
        add_clean(p, str_of(r->error), text);
    out->error = buf_str(text);
    if (out->outcome == SEND_RETRY && strstr(out->error, NO_CREDIT))
        out->outcome = SEND_REFUSED;
}

bool endpoint_is_page(struct http_call *c, const struct buf *body,
                      struct send_result *out, struct buf *text)
{
    const char *type = http_header(c, "content-type");

    if (out->outcome != SEND_ANSWERED || !type || !strstr(type, "html") ||
        !is_page((struct str){buf_str(body), body->len}))
        return false;
    out->outcome = SEND_REFUSED;
    buf_reset(text);
    buf_puts(text, PAGE "; is the base URL right?");
    out->error = buf_str(text);
    return true;
}

void endpoint_lost(const struct endpoint *p, const char *why,
                   struct send_result *out, struct buf *text)
{
    out->outcome = SEND_LOST;
    buf_reset(text);
    add_clean(p, str_of(why), text);
    out->error = buf_str(text);
}
