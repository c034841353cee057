/* request.c: identity and JSON of a request. */
#include "llm/request.h"

#include <stdio.h>
#include <string.h>

/* Seeds go out as 31 bits: some servers and languages take no more. */
#define SEED_BITS 0x7fffffff

/* Texts with their lengths, so that no two lists of texts are the same. */
static void add_text(struct hash *h, const char *p, size_t n)
{
    char head[32];
    int len = snprintf(head, sizeof(head), "%zu:", n);

    hash_add(h, head, (size_t)len);
    hash_add(h, p, n);
}

static void add_prompt(struct hash *h, const struct llm_request *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct llm_message *m = &r->message[i];

        add_text(h, m->role, strlen(m->role));
        add_text(h, m->text.p, m->text.n);
    }
}

void request_prompt_hash(const struct llm_request *r, char out[HASH_HEX])
{
    struct hash h;

    hash_init(&h);
    add_prompt(&h, r);
    hash_finish_hex(&h, out);
}

void request_id(const struct llm_request *r, char out[REQUEST_ID])
{
    const struct llm_key *k = &r->key;
    char attempt[16], hex[HASH_HEX];
    struct hash h;

    hash_init(&h);
    add_text(&h, k->task, strlen(k->task));
    add_text(&h, k->method, strlen(k->method));
    add_text(&h, k->stage, strlen(k->stage));
    snprintf(attempt, sizeof(attempt), "%d", k->attempt);
    add_text(&h, attempt, strlen(attempt));
    add_prompt(&h, r);
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

    json_object_set_new(v, "task", jsn_text(k->task, strlen(k->task)));
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
