/* doc.c: answers in and out of JSON. */
#include "llm/doc.h"

#include "base/buf.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define MOST_TOKENS ((json_int_t)1000000000)

void doc_release(struct doc *a)
{
    json_decref(a->json);
    *a = (struct doc){0};
}

/* A JSON string of any bytes; NULs become U+FFFD, too. */
static json_t *text_json(struct str s)
{
    struct buf b;
    json_t *v;

    if (!s.n)
        return json_string("");
    if (!memchr(s.p, '\0', s.n))
        return jsn_text(s.p, s.n);
    buf_init(&b, BUF_UNLIMITED);
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

static struct str string_of(const json_t *v)
{
    return (struct str){json_string_value(v), json_string_length(v)};
}

void doc_from_text(struct doc *a, const char *p, size_t n)
{
    *a = (struct doc){.json = text_json((struct str){p, n})};
    a->result = (struct send_result){.outcome = SEND_ANSWERED,
                                     .text = string_of(a->json),
                                     .usage.estimated = true,
                                     .error = ""};
}

/* ---- in ---- */

/* A string that may be missing. */
static int get_text(const json_t *v, const char *name, struct str *out,
                    struct err *e)
{
    const json_t *s = json_object_get(v, name);

    *out = STR_LIT("");
    if (!s || json_is_null(s))
        return 0;
    if (!json_is_string(s))
        return err_set(e, ERR_INPUT, "\"%s\" is not a string", name);
    *out = string_of(s);
    return 0;
}

static int get_count(const json_t *v, const char *name, int64_t *out,
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

static int get_usage(const json_t *v, struct llm_usage *u, struct err *e)
{
    const json_t *usage = json_object_get(v, "usage");

    *u = (struct llm_usage){.estimated = true};
    if (!usage || json_is_null(usage))
        return 0;
    if (get_count(usage, "input", &u->input, e) < 0 ||
        get_count(usage, "cached", &u->cached, e) < 0 ||
        get_count(usage, "written", &u->written, e) < 0 ||
        get_count(usage, "output", &u->output, e) < 0 ||
        get_count(usage, "reasoning", &u->reasoning, e) < 0)
        return -1;
    if (!json_object_get(usage, "input") || !json_object_get(usage, "output"))
        return err_set(e, ERR_INPUT, "usage: input and output are required");
    if (u->cached + u->written > u->input || u->reasoning > u->output)
        return err_set(e, ERR_INPUT, "usage: a part is larger than the whole");
    u->estimated = json_is_true(json_object_get(usage, "estimated"));
    return 0;
}

static int get_finish(const json_t *v, enum llm_finish *out, struct err *e)
{
    struct str word;

    *out = LLM_STOP;
    if (get_text(v, "finish", &word, e) < 0)
        return -1;
    for (int i = LLM_STOP; i <= LLM_FILTERED; i++)
        if (str_eq(word, llm_finishes[i]))
            *out = (enum llm_finish)i;
    if (word.n && !str_eq(word, llm_finishes[*out]))
        return err_set(e, ERR_INPUT,
                       "\"finish\" is neither stop nor length nor filtered");
    return 0;
}

static int read_object(struct doc *a, struct err *e)
{
    struct send_result *r = &a->result;
    const json_t *v = a->json;
    struct str error;

    if (!json_is_object(v))
        return err_set(e, ERR_INPUT, "not a JSON object");
    if (get_text(v, "error", &error, e) < 0)
        return -1;
    if (error.n) {
        *r = (struct send_result){.outcome = SEND_REFUSED, .error = error.p};
        return 0;
    }
    if (!json_is_string(json_object_get(v, "text")))
        return err_set(e, ERR_INPUT, "the string \"text\" is missing");
    *r = (struct send_result){.outcome = SEND_ANSWERED, .error = ""};
    if (get_text(v, "text", &r->text, e) < 0 ||
        get_text(v, "thought", &r->thought, e) < 0 ||
        get_text(v, "model", &r->model, e) < 0 ||
        get_finish(v, &r->finish, e) < 0)
        return -1;
    return get_usage(v, &r->usage, e);
}

int doc_from_json(struct doc *a, json_t *v, struct err *e)
{
    *a = (struct doc){.json = v};
    if (read_object(a, e) == 0)
        return 0;
    doc_release(a);
    return -1;
}

/* ---- out ---- */

static json_t *usage_json(const struct llm_usage *u)
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
        json_object_set_new(v, "error", text_json(str_of(r->error)));
        return v;
    }
    json_object_set_new(v, "text", text_json(r->text));
    if (r->thought.n)
        json_object_set_new(v, "thought", text_json(r->thought));
    json_object_set_new(v, "finish", json_string(llm_finishes[r->finish]));
    json_object_set_new(v, "usage", usage_json(&r->usage));
    if (r->model.n)
        json_object_set_new(v, "model", text_json(r->model));
    return v;
}
