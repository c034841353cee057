/* doc.c: requests out to JSON, answers in and out of it. */
#include "llm/doc.h"

#include "base/buf.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* Seeds go out as 31 bits: some servers and languages take no more. */
#define SEED_BITS 0x7fffffff

/* Texts with their lengths, so that no two lists of texts are the same. */
static void request_add_text(struct hash *h, const char *p, size_t n)
{
    char head[32];
    int len = snprintf(head, sizeof(head), "%zu:", n);

    hash_add(h, head, (size_t)len);
    hash_add(h, p, n);
}

static void request_add_prompt(struct hash *h, const struct llm_request *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct llm_message *m = &r->message[i];

        request_add_text(h, m->role, strlen(m->role));
        request_add_text(h, m->text.p, m->text.n);
    }
}

void request_prompt_hash(const struct llm_request *r, char out[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    request_add_prompt(&h, r);
    hash_finish_hex(&h, out);
}

void request_id(const struct llm_request *r, char out[REQUEST_ID])
{
    const struct llm_key *k = &r->key;
    char attempt[16], hex[HASH_HEX];
    struct hash h;

    hash_init(&h);
    request_add_text(&h, k->task, strlen(k->task));
    request_add_text(&h, k->method, strlen(k->method));
    request_add_text(&h, k->stage, strlen(k->stage));
    snprintf(attempt, sizeof(attempt), "%d", k->attempt);
    request_add_text(&h, attempt, strlen(attempt));
    request_add_prompt(&h, r);
    hash_finish_hex(&h, hex);
    snprintf(out, REQUEST_ID, "%.32s", hex);
}

bool request_is_id(const char *word)
{
    return strlen(word) == REQUEST_ID - 1 &&
           strspn(word, "0123456789abcdef") == REQUEST_ID - 1;
}

json_t *request_key_json(const struct llm_key *k)
{
    json_t *v = json_object();

    json_object_set_new(v, "task", jsn_of(k->task));
    json_object_set_new(v, "method", json_string(k->method));
    json_object_set_new(v, "stage", json_string(k->stage));
    json_object_set_new(v, "attempt", json_integer(k->attempt));
    return v;
}

json_t *request_json(const struct llm_request *r, const struct llm_opts *o)
{
    json_t *v = json_object(), *messages = json_array();
    char id[REQUEST_ID];

    request_id(r, id);
    json_object_set_new(v, "id", json_string(id));
    json_object_set_new(v, "key", request_key_json(&r->key));
    json_object_set_new(v, "model",
                        o->model ? json_string(o->model) : json_null());
    for (size_t i = 0; i < r->count; i++) {
        const struct llm_message *m = &r->message[i];
        json_t *one = json_object();

        json_object_set_new(one, "role", json_string(m->role));
        json_object_set_new(one, "content", jsn_text(m->text.p, m->text.n));
        json_array_append_new(messages, one);
    }
    json_object_set_new(v, "messages", messages);
    json_object_set_new(
        v, "max_tokens",
        json_integer(r->max_tokens ? r->max_tokens : o->max_tokens));
    json_object_set_new(v, "temperature",
                        o->temperature < 0 ? json_null()
                                           : json_real(o->temperature));
    json_object_set_new(v, "seed",
                        json_integer((json_int_t)(r->seed & SEED_BITS)));
    return v;
}

#define MOST_TOKENS ((json_int_t)1000000000)

void doc_release(struct doc *a)
{
    json_decref(a->json);
    *a = (struct doc){0};
}

/* A JSON string of any bytes; NULs become U+FFFD, too. */
static json_t *doc_text(struct str s)
{
    struct buf b = BUF_INIT;
    json_t *v;

    if (!s.n)
        return json_string("");
    if (!memchr(s.p, '\0', s.n))
        return jsn_text(s.p, s.n);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i])
            buf_putc(&b, s.p[i]);
        else
            buf_puts(&b, "\xef\xbf\xbd");
    }
    v = jsn_text(b.data, b.len);
    buf_release(&b);
    return v;
}

static struct str doc_string(const json_t *v)
{
    return (struct str){json_string_value(v), json_string_length(v)};
}

void doc_from_text(struct doc *a, const char *p, size_t n)
{
    *a = (struct doc){.json = doc_text((struct str){p, n})};
    a->result = (struct send_result){.outcome = SEND_ANSWERED,
                                     .text = doc_string(a->json),
                                     .usage.estimated = true,
                                     .error = ""};
}

/* ---- in ---- */

/* A string that may be missing. */
static int doc_get_text(const json_t *v, const char *name, struct str *out,
                        struct err *e)
{
    const json_t *s = json_object_get(v, name);

    *out = STR_LIT("");
    if (!s || json_is_null(s))
        return 0;
    if (!json_is_string(s))
        return err_set(e, ERR_INPUT, "\"%s\" is not a string", name);
    *out = doc_string(s);
    return 0;
}

static int doc_get_count(const json_t *v, const char *name, int64_t *out,
                         struct err *e)
{
    const json_t *n = json_object_get(v, name);

    *out = 0;
    if (!n || json_is_null(n))
        return 0;
    if (!json_is_integer(n) || json_integer_value(n) < 0 ||
        json_integer_value(n) > MOST_TOKENS)
        return err_set(e, ERR_INPUT, "usage: \"%s\" is not a number of tokens",
                       name);
    *out = json_integer_value(n);
    return 0;
}

static int doc_get_usage(const json_t *v, struct llm_usage *u, struct err *e)
{
    const json_t *usage = json_object_get(v, "usage");

    *u = (struct llm_usage){.estimated = true};
    if (!usage || json_is_null(usage))
        return 0;
    if (doc_get_count(usage, "input", &u->input, e) < 0 ||
        doc_get_count(usage, "cached", &u->cached, e) < 0 ||
        doc_get_count(usage, "written", &u->written, e) < 0 ||
        doc_get_count(usage, "output", &u->output, e) < 0 ||
        doc_get_count(usage, "reasoning", &u->reasoning, e) < 0)
        return -1;
    if (!json_object_get(usage, "input") || !json_object_get(usage, "output"))
        return err_set(e, ERR_INPUT, "usage: input and output are required");
    if (u->cached + u->written > u->input || u->reasoning > u->output)
        return err_set(e, ERR_INPUT, "usage: a part is larger than the whole");
    u->estimated = jsn_true(usage, "estimated");
    return 0;
}

static int doc_get_finish(const json_t *v, enum llm_finish *out, struct err *e)
{
    struct str word;

    *out = LLM_STOP;
    if (doc_get_text(v, "finish", &word, e) < 0)
        return -1;
    for (int i = LLM_STOP; i <= LLM_FILTERED; i++)
        if (str_eq(word, llm_finishes[i]))
            *out = (enum llm_finish)i;
    if (word.n && !str_eq(word, llm_finishes[*out]))
        return err_set(e, ERR_INPUT,
                       "\"finish\" is neither stop nor length nor filtered");
    return 0;
}

static int doc_read(struct doc *a, struct err *e)
{
    struct send_result *r = &a->result;
    const json_t *v = a->json;
    struct str error;

    if (!json_is_object(v))
        return err_set(e, ERR_INPUT, "not a JSON object");
    if (doc_get_text(v, "error", &error, e) < 0)
        return -1;
    if (error.n) {
        *r = (struct send_result){.outcome = SEND_REFUSED, .error = error.p};
        return 0;
    }
    if (!json_is_string(json_object_get(v, "text")))
        return err_set(e, ERR_INPUT, "the string \"text\" is missing");
    *r = (struct send_result){.outcome = SEND_ANSWERED, .error = ""};
    if (doc_get_text(v, "text", &r->text, e) < 0 ||
        doc_get_text(v, "thought", &r->thought, e) < 0 ||
        doc_get_text(v, "model", &r->model, e) < 0 ||
        doc_get_finish(v, &r->finish, e) < 0)
        return -1;
    return doc_get_usage(v, &r->usage, e);
}

int doc_from_json(struct doc *a, json_t *v, struct err *e)
{
    *a = (struct doc){.json = v};
    if (doc_read(a, e) == 0)
        return 0;
    doc_release(a);
    return -1;
}

/* ---- out ---- */

static json_t *doc_usage(const struct llm_usage *u)
{
    json_t *v = json_object();

    json_object_set_new(v, "input", json_integer(u->input));
    json_object_set_new(v, "cached", json_integer(u->cached));
    if (u->written)
        json_object_set_new(v, "written", json_integer(u->written));
    json_object_set_new(v, "output", json_integer(u->output));
    json_object_set_new(v, "reasoning", json_integer(u->reasoning));
    if (u->estimated)
        json_object_set_new(v, "estimated", json_true());
    return v;
}

json_t *doc_json(const struct send_result *r)
{
    json_t *v = json_object();

    if (r->outcome != SEND_ANSWERED) {
        json_object_set_new(v, "error", doc_text(str_of(r->error)));
        return v;
    }
    json_object_set_new(v, "text", doc_text(r->text));
    if (r->thought.n)
        json_object_set_new(v, "thought", doc_text(r->thought));
    json_object_set_new(v, "finish", json_string(llm_finishes[r->finish]));
    json_object_set_new(v, "usage", doc_usage(&r->usage));
    if (r->model.n)
        json_object_set_new(v, "model", doc_text(r->model));
    return v;
}
